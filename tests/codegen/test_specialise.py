"""Specialised nodes make the calls of the program, in its order, with the same numbers."""

from collections.abc import Iterator

import pytest

import isamap
from isamap.codegen.c.specialise import CCall, CIf, CLoop, CNode, specialise
from isamap.ir import Affine
from isamap.program import Edge, For, Issue, Span, When
from tests.codegen.program_calls import Made, made_by, value_of, walk


def walk_made(body: tuple[CNode, ...], at: dict[str, int]) -> Iterator[Made]:
    """All calls of specialised nodes."""

    def count(stop: int | Span) -> int:
        return stop if isinstance(stop, int) else value_of(stop, at)

    for node in body:
        match node:
            case CLoop(name, first, stop, inner):
                for value in range(first, count(stop)):
                    yield from walk_made(inner, {**at, name: value})
            case CIf(conditions, inner):
                if all(at[n] == (0 if e is Edge.FIRST else count(c) - 1) for n, e, c in conditions):
                    yield from walk_made(inner, at)
            case CCall(issue):
                yield from made_by(issue, at)


@pytest.mark.parametrize(
    "kernel, machine, sizes",
    [
        ("gemm", "vta", {"m": 3, "n": 37, "k": 50}),
        ("gemm", "gemmini", {"m": 70, "n": 33, "k": 18}),
        ("gemm", "vecdot", {"m": 13, "n": 35, "k": 9}),
        ("conv2d", "gemmini", {}),
    ],
)
@pytest.mark.parametrize("has_variables", [False, True])
def test_every_call_is_made_in_order(
    kernel: str, machine: str, sizes: dict[str, int], has_variables: bool
) -> None:
    result = isamap.map(kernel, machine, sizes=sizes, verify="off", time_limit_s=1)
    program = getattr(result, "schedule", None) or result.plan
    body = program.program.body
    memories = frozenset({"regs"} if has_variables and machine == "vecdot" else ())
    made = specialise(body, memories)
    assert list(walk_made(made, {})) == list(walk(body, {}, {}))


def test_edges_are_written_out_and_the_loop_between_has_no_condition() -> None:
    call = Issue("f", (), (("n", Span(4, 11, Affine.of([("i", 4)]))),))
    first = When((("i", Edge.FIRST),), (Issue("begin", (), ()),))
    body = (For("i", Span(3), (first, call)),)
    kept = specialise(body, frozenset())
    assert isinstance(kept[0], CLoop) and isinstance(kept[0].body[0], CIf)
    written = specialise(body, frozenset({"regs"}))
    assert [node.issue.instruction for node in written if isinstance(node, CCall)] == [
        "begin", "f", "f", "f",
    ]  # fmt: skip
    spans = [node.issue.extents for node in written if isinstance(node, CCall)]
    assert spans[1:] == [(("n", Span(4)),), (("n", Span(4)),), (("n", Span(3)),)]
