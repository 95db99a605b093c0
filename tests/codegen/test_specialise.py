"""Specialised nodes make the calls of the program with the same numbers, in an order that computes
the same."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import isamap
from isamap.codegen.c.nodes import CCall, CIf, CLoop, CNode
from isamap.codegen.c.specialise import _At, _Specialiser, specialise
from isamap.hwdesc import Hardware, load_hardware, with_host_calls
from isamap.ir import Affine
from isamap.program import Address, Edge, For, Issue, Node, Operand, Program, Span, When
from tests.codegen.program_calls import Made, made_by, value_of, walk


def walk_made(body: tuple[CNode, ...], at: dict[str, int]) -> Iterator[Made]:
    """All calls of specialised nodes."""

    def count(stop: int | Span) -> int:
        return stop if isinstance(stop, int) else value_of(stop, at)

    for node in body:
        match node:
            case CLoop(name, first, stop, inner):
                is_begun = node.begun_at is not None and at[node.begun_at] == 0
                for value in range(first + is_begun, count(stop)):
                    yield from walk_made(inner, {**at, name: value})
            case CIf(conditions, inner):
                if all(at[n] == (0 if e is Edge.FIRST else count(c) - 1) for n, e, c in conditions):
                    yield from walk_made(inner, at)
            case CCall(issue):
                yield from made_by(issue, at)


def left_by(calls: Iterator[Made], hw: Hardware) -> dict[tuple[str, int], object]:
    """What calls leave at each place they write: the call with what it read, which tells apart any
    two orders that differ in what some call reads."""
    left: dict[tuple[str, int], object] = {}
    for name, places, extents in calls:
        instruction = hw.instruction(name)
        operands = list(zip(instruction.operands, places, strict=True))
        read = tuple(left.get((rule.memory, place), place) for rule, place in operands)
        for rule, place in operands:
            if any(s.target.buffer == rule.name for s in instruction.semantics.statements):
                left[rule.memory, place] = hash((name, extents, rule.name, read))
    return left


@pytest.mark.parametrize(
    "kernel, machine, sizes",
    [
        ("gemm", "vta", {"m": 3, "n": 37, "k": 50}),
        ("gemm", "gemmini", {"m": 70, "n": 33, "k": 18}),
        ("gemm", "vecdot", {"m": 13, "n": 35, "k": 9}),
        ("conv2d", "gemmini", {}),
    ],
)
def test_every_call_is_made_in_order(kernel: str, machine: str, sizes: dict[str, int]) -> None:
    program, hw = program_of(kernel, machine, sizes)
    made = specialise(program.body, frozenset(), hw)
    assert list(walk_made(made, {})) == list(walk(program.body, {}, {}))


@pytest.mark.parametrize(
    "kernel, machine, sizes",
    [
        ("gemm", "vecdot", {"m": 13, "n": 35, "k": 9}),
        ("gemm:gemm_f32", "x86_avx2", {"m": 13, "n": 35, "k": 29}),
        ("gemm:gemm_f32", "x86_avx512", {"m": 61, "n": 70, "k": 300}),
        ("conv2d:conv2d_f32", "x86_avx512", {"h": 7, "w": 6}),
        ("gru", "x86_avx512", {}),
    ],
)
def test_calls_with_registers_compute_the_same(
    kernel: str, machine: str, sizes: dict[str, int]
) -> None:
    program, hw = program_of(kernel, machine, sizes)
    variables = frozenset(m.name for m in hw.memories if m.c_types) or frozenset({"regs"})
    made = list(walk_made(specialise(program.body, variables, hw), {}))
    assert sorted(made) == sorted(walk(program.body, {}, {}))
    assert left_by(iter(made), hw) == left_by(walk(program.body, {}, {}), hw)


def program_of(kernel: str, machine: str, sizes: dict[str, int]) -> tuple[Program, Hardware]:
    """A program, and the machine with what its host runs."""
    result = isamap.map(
        kernel, machine, sizes=sizes, verify="off", time_limit_s=1, may_reassociate=True
    )
    answer = getattr(result, "schedule", None) or result.plan
    return answer.program, with_host_calls(result.hardware, answer.program.host_calls)


HW = load_hardware(Path(__file__).parent / "vec4.yaml")


def issue(name: str, *places: int) -> Issue:
    """A call with its operands' registers, and byte places in dram."""
    rules = HW.instruction(name).operands
    operands = (
        Operand(rule.name, rule.memory, Address(Affine((), place)), (4,))
        for rule, place in zip(rules, places, strict=True)
    )
    return Issue(name, tuple(operands), (("j", Span(4)),))


ADD = issue("multiply_add", 0, 16, 32)
CLEAR, STORE = issue("clear", 32), issue("store", 32, 256)


def made_of(*body: Node) -> list[str]:
    """What a loop of four iterations becomes: calls, and loops as `first..last call call`."""
    texts = []
    for node in specialise((For("i", Span(4), body),), frozenset({"regs"}), HW):
        match node:
            case CCall(call):
                texts.append(call.instruction)
            case CLoop(_, first, int(stop), inner):
                names = [call.issue.instruction for call in inner if isinstance(call, CCall)]
                texts.append(" ".join([f"{first}..{stop - 1}", *names]))
    return texts


def when(edge: Edge, *body: Node) -> When:
    return When((("i", edge),), body)


def test_what_edges_do_more_stands_before_and_after_one_loop() -> None:
    body = (when(Edge.FIRST, CLEAR), ADD, when(Edge.LAST, STORE))
    assert made_of(*body) == ["clear", "0..3 multiply_add", "store"]
    other = issue("clear", 48)  # a register that the sum does not touch
    assert made_of(ADD, when(Edge.FIRST, other)) == ["clear", "0..3 multiply_add"]


def test_an_edge_that_touches_what_the_others_do_in_between_is_written_apart() -> None:
    assert made_of(ADD, when(Edge.FIRST, CLEAR)) == [
        "multiply_add", "clear", "1..3 multiply_add",
    ]  # fmt: skip
    assert made_of(when(Edge.LAST, STORE), ADD) == ["0..2 multiply_add", "store", "multiply_add"]


def test_an_edge_that_does_less_or_other_things_is_written_apart() -> None:
    assert made_of(when(Edge.LATER, CLEAR), ADD) == ["multiply_add", "1..3 clear multiply_add"]
    short = replace(ADD, extents=(("j", Span(4, 15, Affine.of([("i", 4)]))),))
    assert made_of(short) == ["0..2 multiply_add", "multiply_add"]


def test_nested_loops_over_sums_are_one_nest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not 27 pieces of code, which would be too many here: what all three loops' edges do stands
    outside of them."""
    monkeypatch.setattr("isamap.codegen.c.specialise.MAX_CALLS", 9)
    conditions = {edge: tuple((name, edge) for name in "abc") for edge in Edge}
    body: tuple[Node, ...] = (
        When(conditions[Edge.FIRST], (CLEAR,)), ADD, When(conditions[Edge.LAST], (STORE,)),
    )  # fmt: skip
    for name in "cba":
        body = (For(name, Span(3), body),)
    made = specialise(body, frozenset({"regs"}), HW)
    assert [type(node) for node in made] == [CCall, CLoop, CCall]
    assert list(walk_made(made, {})) == list(walk(body, {}, {}))


def test_a_first_iteration_that_runs_a_round_of_a_loop_in_it_apart_is_one_with_the_others() -> None:
    """A panel is filled in the first round of the first iteration: neither the other rounds nor
    what follows the inner loop is written twice."""
    fill = When((("a", Edge.FIRST), ("b", Edge.FIRST)), (STORE,))
    rounds = For("b", Span(3), (For("c", Span(2), (ADD, fill)),))
    nest: tuple[Node, ...] = (For("a", Span(4), (CLEAR, rounds, For("d", Span(2), (ADD,)))),)
    made = specialise(nest, frozenset({"regs"}), HW)
    assert list(walk_made(made, {})) == list(walk(nest, {}, {}))
    (outer,) = made
    assert isinstance(outer, CLoop) and (outer.first, outer.stop) == (0, 4)
    assert [type(node) for node in outer.body] == [CCall, CIf, CLoop, CLoop]
    assert [node.begun_at for node in outer.body[2:] if isinstance(node, CLoop)] == ["a", None]


def test_without_variables_conditions_stay() -> None:
    kept = specialise((For("i", Span(4), (when(Edge.FIRST, CLEAR), ADD)),), frozenset(), HW)
    assert isinstance(kept[0], CLoop) and isinstance(kept[0].body[0], CIf)


def test_counts_that_a_written_out_edge_decides_are_numbers() -> None:
    """An inner loop's count depends on a loop that is written out and on one that stays."""
    shrinking = Span(3, 9, Affine.of([("a", 2), ("b", 4)]))
    later = When((("b", Edge.LATER),), (STORE,))
    nest = (For("a", Span(2), (For("b", Span(2), (later, For("c", shrinking, (ADD,)))),)),)
    made = specialise(nest, frozenset({"regs"}), HW)
    assert list(walk_made(made, {})) == list(walk(nest, {}, {}))


def test_what_is_inside_many_edges_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not three times per loop around it, of which nearly all are thrown away."""
    made = []
    call = _Specialiser.call

    def counted(self: _Specialiser, one: Issue, known: dict[str, _At]) -> CCall:
        made.append(one.instruction)
        return call(self, one, known)

    monkeypatch.setattr(_Specialiser, "call", counted)
    names = "abcdef"
    body: tuple[Node, ...] = (
        When(tuple((name, Edge.FIRST) for name in names), (CLEAR,)), ADD,
        When(tuple((name, Edge.LAST) for name in names), (STORE,)),
    )  # fmt: skip
    for name in reversed(names):
        body = (For(name, Span(3), body),)
    nodes = specialise(body, frozenset({"regs"}), HW)
    assert sorted(made) == ["clear", "multiply_add", "store"]
    assert list(walk_made(nodes, {})) == list(walk(body, {}, {}))
