"""Listing and JSON of programs."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from isamap.errors import ProgramError
from isamap.ir import Affine
from isamap.program import (
    Address,
    Axis,
    Edge,
    For,
    Issue,
    Layout,
    Operand,
    Placement,
    Program,
    Repeat,
    Rotation,
    Span,
    Spread,
    When,
    from_json,
    listing,
    natural_layout,
    to_json,
)

LOAD = Issue(
    "load",
    (
        Operand("S", "dram", Address(Affine.of([("i", 4096)], 128)), (64, 1)),
        Operand(
            "D",
            "sram",
            Address(Affine.of([], 1024), (Rotation(Affine.of([("j", 1)], 1), 2, 512),)),
            (16, 1),
        ),
    ),
    (("r", Span(16)), ("c", Span(16, 700, Affine.of([("j", 16)])))),
    (Repeat("rows", Span(4, 700, Affine.of([("j", 64)]), 16), (0, 256)),),
    (("shift", 3), ("scale", 2.0**-149)),
    ("compute_to_load",),
    ("load_to_compute",),
)
PACKED = Layout("i8", (30,), (Axis(0, 16, 2, 16), Axis(0, 1, 16, 1)), (1,), 32, 32)
PROGRAM = Program(
    "demo",
    "tiny",
    (Placement("A", 0, natural_layout("i8", (64, 64))),),
    (Placement("C", 4096, PACKED),),
    (
        For("i", Span(3), (For("j", Span(4), (When((("j", Edge.FIRST),), (LOAD,)),)),)),
        Issue("wait", (), ()),
    ),
)
TEXT = """\
program demo on tiny
input A: i8[64, 64] at byte 0, 4096 bytes, row-major
output C: i8[30] at byte 4096, 32 bytes, packed [2 x (dim 0 step 16) every 16 B, \
16 x (dim 0 step 1) every 1 B], border (1,), byte planes 32 B apart
for i < 3:
  for j < 4:
    when first j:
      load(r=16, c=min(16, 700 - 16*j), shift=#3, scale=#1.401298464324817e-45) \
S=dram[128 + 4096*i] by (64, 1), D=sram[1024 + 512*((j + 1) % 2)] by (16, 1) \
repeat rows=min(4, ceil((700 - 64*j) / 16)) step [0, 256] pop compute_to_load push load_to_compute
wait()
"""


def test_the_listing_shows_everything() -> None:
    assert listing(PROGRAM) == TEXT


def test_json_round_trips() -> None:
    assert from_json(json.loads(json.dumps(to_json(PROGRAM)))) == PROGRAM


def broken(change: Callable[[dict], object]) -> str:
    """The message after `change` was made to the demo's JSON."""
    data = json.loads(json.dumps(to_json(PROGRAM)))
    change(data)
    with pytest.raises(ProgramError) as caught:
        from_json(data)
    return str(caught.value)


def test_json_says_which_task_a_call_is_for() -> None:
    program = Program("p", "tiny", (), (), (LOAD, replace(LOAD, task=3)))
    again = from_json(json.loads(json.dumps(to_json(program))))
    assert [node.task for node in again.body if isinstance(node, Issue)] == [None, 3]


def test_malformed_json_is_refused_with_its_place() -> None:
    assert "version 99, expected 'isamap-program' version 4" in broken(
        lambda data: data.update(version=99)
    )
    assert broken(lambda data: data.pop("name")) == "program: missing key 'name'"
    assert broken(lambda data: data.update(more=1)) == "program: unknown key 'more'"
    assert broken(lambda data: data.update(name=3)) == "program.name: expected a string, found int"
    assert broken(lambda data: data.update(body={})) == "program.body: expected a list, found dict"
    assert broken(lambda data: data["body"].append(1)) == (
        "program.body[2]: expected an object, found int"
    )
    assert broken(lambda data: data["body"].append({})) == (
        "program.body[2]: expected a 'for', 'when' or 'issue'"
    )
    assert broken(lambda data: data["body"][0]["span"].update(limit=True)) == (
        "program.body[0].span.limit: expected a whole number, found bool"
    )
    assert broken(lambda data: data["body"][0]["span"].update(unit=0)) == (
        "program.body[0].span.unit: 0, expected at least 1"
    )
    assert "expected one of first, last, later, found 'middle'" in broken(
        lambda data: data["body"][0]["body"][0]["body"][0].update(when=[["j", "middle"]])
    )
    assert "expected [loop, 'first', 'last' or 'later']" in broken(
        lambda data: data["body"][0]["body"][0]["body"][0].update(when=["j"])
    )
    assert broken(lambda data: data["inputs"][0].update(is_natural=1)) == (
        "program.inputs[0].is_natural: expected true or false"
    )
    assert broken(lambda data: data["body"][1].update(extents=[1])) == (
        "program.body[1].extents[0]: expected [loop, span]"
    )
    assert broken(lambda data: data["body"][1].update(immediates=[["x", "1.5"]])) == (
        "program.body[1].immediates[0]: expected a whole number, found str"
    )
    assert broken(lambda data: data["body"][1].update(immediates=[1])) == (
        "program.body[1].immediates[0]: expected [name, number]"
    )


def test_what_is_not_an_object_is_no_program() -> None:
    with pytest.raises(ProgramError, match="program: expected an object, found list"):
        from_json([])


def test_a_loop_over_cores_says_so() -> None:
    inner = For("c", Span(2), (Issue("wait", (), ()),), Spread("column", 2))
    program = replace(PROGRAM, body=(For("r", Span(4), (inner,), Spread("row")),))
    assert listing(program).splitlines()[-3:] == [
        "for r < 4 on cores along row:",
        "  for c < 2 on cores along column, 2 apart:",
        "    wait()",
    ]
    data = json.loads(json.dumps(to_json(program)))
    assert from_json(data) == program
    data["body"][0]["spread"] = ["row"]
    with pytest.raises(ProgramError, match=r"program.body\[0\].spread: expected \[name, number\]"):
        from_json(data)
