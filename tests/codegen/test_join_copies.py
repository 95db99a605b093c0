"""Copies of a loop's iterations as one call: where they are, and that they copy the same.

Oracle: the semantics of both instructions, call by call; the interpreter.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from isamap.codegen import generate_c
from isamap.codegen.c.join_copies import join_copies
from isamap.codegen.c.nodes import CCall, CIf, CLoop, CNode, CTurn
from isamap.hwdesc import Hardware, Instruction, load_hardware
from isamap.ir import Affine, interpret
from isamap.native import execute_c, whole_arrays
from isamap.native.mapped import map_program
from isamap.program import Address, Edge, Issue, Operand, Span
from isamap.resources import find_hardware
from isamap.scheduler import Wishes
from tests.native.products import KERNELS, skip_unless_native

PITCH = 4096


@pytest.fixture(scope="module")
def hw() -> Hardware:
    return load_hardware(find_hardware("x86_golden_cove"))


def column(at: Affine, to: Affine, lanes: int = 16, pitch: int = PITCH) -> CCall:
    """A column of rows into the panel."""
    source = Operand("S", "dram", Address(at), (pitch,))
    target = Operand("D", "panel", Address(to), (4,))
    return CCall(Issue("pack_strided_f32", (source, target), (("j", Span(lanes)),)))


def load(at: Affine) -> CCall:
    """Of what lies in the panel."""
    source = Operand("S", "panel", Address(at), (4,))
    target = Operand("D", "zmm", Address(Affine()), (4,))
    return CCall(Issue("load_packed_f32", (source, target), (("j", Span(16)),)))


def moved(hw: Hardware, node: CNode, values: Mapping[str, int]) -> Iterator[tuple[str, int, int]]:
    """What a run of a node copies, element by element: where to, and from where."""
    match node:
        case CLoop(name, first, int(stop), body):
            for value in range(first, stop):
                for inner in body:
                    yield from moved(hw, inner, {**values, name: value})
        case CTurn(name, period, first, body):
            if values[name] % period == first % period:
                for inner in body:
                    yield from moved(hw, inner, values)
        case CCall(issue):
            yield from elements(hw.instruction(issue.instruction), issue, values)
        case _:
            raise AssertionError(node)


def elements(
    instruction: Instruction, issue: Issue, values: Mapping[str, int]
) -> Iterator[tuple[str, int, int]]:
    """Of one call."""
    (statement,) = instruction.semantics.statements
    counts = {name: span.limit for name, span in issue.extents}
    places = {o.name: o for o in issue.operands}
    for at in product(*(range(counts[loop.name]) for loop in statement.loops)):
        inside = dict(zip((loop.name for loop in statement.loops), at, strict=True))
        starts = []
        for access in (statement.target, statement.value):
            operand = places[access.buffer]
            steps = zip(access.indices, operand.strides_bytes, strict=True)
            offset = sum(index.evaluate(inside) * stride for index, stride in steps)
            starts.append(operand.address.value(values) + offset)
        yield places[statement.target.buffer].memory, starts[0], starts[1]


def loaded(hw: Hardware, node: CNode) -> list[int]:
    """The array's elements that registers get, where what is in the panel came from there."""
    panel: dict[int, int] = {}
    found = []
    for memory, to, at in moved(hw, node, {"i": 1}):
        if memory == "panel":
            panel[to] = at
        else:
            found.append(panel.get(at, -1))
    return found


def is_joined(node: CNode) -> bool:
    return isinstance(node, CLoop) and any(isinstance(x, CTurn) for x in node.body)


def loop(*calls: CCall, first: int = 0, stop: int = 64) -> CLoop:
    return CLoop("p", first, stop, calls)


HERE = Affine.of([("p", 4), ("i", 16 * PITCH)])
THERE = Affine.of([("p", 128)])


@pytest.mark.parametrize("first", [0, 16, 5])
def test_columns_side_by_side_are_turned_together(hw: Hardware, first: int) -> None:
    """Two vectors of rows, packed and loaded at once."""
    far = 16 * PITCH
    calls = (column(HERE, THERE), load(THERE))
    calls += (column(HERE + far, THERE + 64), load(THERE + 64))
    before = loop(*calls, first=first, stop=first + 48)
    (after,) = join_copies((before,), hw)
    assert isinstance(after, CLoop) and len(after.body) == 3
    (turn, *loads) = after.body
    assert isinstance(turn, CTurn) and turn.period == 16
    assert [c.issue.instruction for c in turn.body if isinstance(c, CCall)] == [
        "pack_block_f32"
    ] * 2
    assert loads == [calls[1], calls[3]]
    assert loaded(hw, after) == loaded(hw, before) and -1 not in loaded(hw, before)


@pytest.mark.parametrize(
    "calls, stop",
    [
        ((column(HERE, THERE), load(THERE)), 63),  # rounds are left over
        ((column(HERE, THERE, lanes=15), load(THERE)), 64),  # not whole
        ((column(HERE + Affine.of([("p", 4)]), THERE), load(THERE)), 64),  # every other column
        ((column(HERE, THERE), load(THERE + 128)), 64),  # the next, as it was before
        ((load(THERE), column(HERE, THERE)), 64),  # its own, as it was before
        ((column(HERE, THERE), load(Affine.of([("p", 64)]))), 64),  # who knows which
    ],
)
def test_other_columns_stay_single(hw: Hardware, calls: tuple[CCall, ...], stop: int) -> None:
    before = loop(*calls, stop=stop)
    assert join_copies((before,), hw) == (before,)


@pytest.mark.parametrize("at", [Affine((), 2**16), THERE + -128])
def test_what_is_loaded_from_elsewhere_is_in_nobodys_way(hw: Hardware, at: Affine) -> None:
    before = CLoop("i", 0, 2, (loop(column(HERE, THERE), load(at)),))
    (after,) = join_copies((before,), hw)
    assert isinstance(after, CLoop) and is_joined(after.body[0])
    assert loaded(hw, after) == loaded(hw, before)


def test_loops_that_do_more_than_call_are_left_alone(hw: Hardware) -> None:
    rest = CIf((("i", Edge.FIRST, 2),), (load(THERE),))
    before = replace(loop(column(HERE, THERE)), body=(column(HERE, THERE), rest))
    assert join_copies((before,), hw) == (before,)


def test_a_product_whose_weights_are_turned_is_right() -> None:
    """80 columns are packed in their first round, 48 x 32 elements turned by six calls of 256."""
    skip_unless_native("x86_golden_cove")
    wishes = Wishes(time_limit_s=1, may_reassociate=True)
    sizes = {"m": 80, "n": 48, "k": 32}
    found = map_program(f"{KERNELS}:sgemm_nt", "x86_golden_cove", wishes, sizes=sizes)
    assert "transpose_f32(" in generate_c(found.program, found.hardware).text
    arrays = whole_arrays(found.kernel, 1)
    got = execute_c(found.program, found.hardware, arrays)["C"]
    np.testing.assert_array_equal(got, interpret(found.kernel, arrays)["C"])
