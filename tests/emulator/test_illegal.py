"""Every rule a program can break, once, with the message a person gets."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from isamap.emulator import check_program, run, time_program
from isamap.errors import ProgramError
from isamap.ir import Affine
from isamap.program import (
    Address,
    Edge,
    For,
    Issue,
    Node,
    Rotation,
    Span,
    When,
)
from tests.emulator.hand_programs import (
    at,
    issue_clear,
    issue_load,
    issue_mma,
    issue_store,
    machine,
    straight,
)

BOTH = pytest.mark.parametrize("compiled", [True, False])
TINY, TOKENS = machine("tiny"), machine("tiny_tokens")
LOAD = issue_load(0, 0)
ARRAYS = {"X": np.zeros(4096, np.int8), "Y": np.zeros(4096, np.int32)}


def with_operand(issue: Issue, number: int, **changes: object) -> Issue:
    """The call with one operand changed."""
    operands = list(issue.operands)
    operands[number] = replace(operands[number], **changes)  # type: ignore[arg-type]
    return replace(issue, operands=tuple(operands))


STATIC: list[tuple[Node, str]] = [
    (replace(LOAD, instruction="laod"), "call of 'laod': 'tiny' has no such instruction"),
    (replace(LOAD, operands=LOAD.operands[:1]), "operands ['S'], the instruction has ['S', 'D']"),
    (with_operand(LOAD, 1, memory="acc"), "operand 'D': is in 'acc', must be in 'sram'"),
    (with_operand(LOAD, 1, strides_bytes=(16,)), "1 strides for 2 dimensions"),
    (with_operand(LOAD, 1, strides_bytes=(16, 2)), "stride 2 of dimension 1 bytes is not allowed"),
    (with_operand(LOAD, 1, strides_bytes=(-16, 1)), "only strides of 0 or more"),
    (replace(LOAD, extents=(("r", Span(4)),)), "extents for ['r']"),
    (issue_load(0, 0, rows=17), "extent 17 of 'r' is not allowed"),
    (issue_load(0, 0, rows=0), "the count is 0, below 1"),
    (replace(LOAD, immediates=(("x", 1),)), "immediates ['x'], the instruction has []"),
    (replace(LOAD, pops=("nowhere",)), "pop of unknown channel 'nowhere'"),
    (with_operand(LOAD, 0, address=at(0, q=16)), "'q' is not an enclosing loop"),
    (When((("q", Edge.FIRST),), (LOAD,)), "'q' is not an enclosing loop"),
    (For("i", Span(2), (For("i", Span(2), (LOAD,)),)), "loop 'i' inside a loop of the same name"),
    (For("i", Span(0), (LOAD,)), "loop 'i': the count is 0, below 1"),
]


@pytest.mark.parametrize(("node", "message"), STATIC, ids=range(len(STATIC)))
def test_static_rules(node: Node, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        check_program(straight((node,)), TINY)
    assert message in str(caught.value)


def test_another_machine_and_a_placement_outside_dram_are_refused() -> None:
    with pytest.raises(ProgramError, match="program is for 'tiny', not for 'tiny_tokens'"):
        check_program(straight((LOAD,)), TOKENS)
    program = straight((LOAD,))
    far = replace(program.inputs[0], address=TINY.external.size_bytes - 100)
    with pytest.raises(ProgramError, match=r"placement of 'X'.*do not fit 'dram'"):
        check_program(replace(program, inputs=(far,)), TINY)


def test_a_call_cannot_pop_a_channel_of_another_unit() -> None:
    program = straight((replace(LOAD, pops=("load_to_matrix",)),), "tiny_tokens")
    with pytest.raises(ProgramError, match="belongs to unit 'matrix', the call runs on 'load'"):
        check_program(program, TOKENS)


def loop(node: Node, count: int = 3) -> Node:
    return For("i", Span(count), (node,))


NEGATIVE = Address(Affine(), (Rotation(Affine.of([("i", 1)], -1), 2, 256),))
DYNAMIC: list[tuple[Node, str]] = [
    (
        loop(with_operand(LOAD, 0, address=at(3000, i=500))),
        "load[i=2]: operand 'S': dram[4000 .. 4255] is out of bounds",
    ),
    (
        loop(with_operand(LOAD, 1, address=at(65000, i=200))),
        "load[i=2]: operand 'D': sram[65400 .. 65655] is out of bounds",
    ),
    (
        loop(with_operand(issue_clear(0), 0, address=at(0, i=2))),
        "clear[i=1]: operand 'D': acc[2] is no multiple of 4 bytes",
    ),
    (
        loop(replace(LOAD, extents=(("r", Span(16, 20, Affine.of([("i", 16)]))), ("c", Span(16))))),
        "load[i=2]: 'r' runs -12 times, which is not allowed",
    ),
    (
        loop(with_operand(LOAD, 1, address=NEGATIVE)),
        "load[i=0]: operand 'D': rotation counter -1 is below 0",
    ),
    (
        loop(For("j", Span(4, 4, Affine.of([("i", 2)])), (LOAD,))),
        "a loop runs 0 times, below 1 (enclosing loops' values: 2)",
    ),
]


@BOTH
@pytest.mark.parametrize(("node", "message"), DYNAMIC, ids=range(len(DYNAMIC)))
def test_rules_that_depend_on_loops(node: Node, message: str, compiled: bool) -> None:
    program = straight((node,))
    executions: list[Callable[[], object]] = [
        lambda: time_program(program, TINY, compiled=compiled),
        lambda: run(program, TINY, ARRAYS, compiled=compiled),
    ]
    for execute in executions:
        with pytest.raises(ProgramError) as caught:
            execute()
        assert message in str(caught.value)


@BOTH
def test_an_access_may_not_cross_from_one_placement_to_the_next(compiled: bool) -> None:
    program = straight((issue_load(4000, 0),))
    with pytest.raises(ProgramError, match=r"dram\[4000 .. 4255\] is out of bounds"):
        run(program, TINY, ARRAYS, compiled=compiled)


@BOTH
def test_bytes_nobody_wrote_may_not_be_read(compiled: bool) -> None:
    calls = (issue_load(0, 0), issue_load(0, 4096, rows=15), issue_clear(0))
    program = straight((*calls, issue_mma(0, 4096, 0)))
    with pytest.raises(ProgramError, match=r"mma\[\]: operand 'B': reads sram\[4336\], which was"):
        run(program, TINY, ARRAYS, compiled=compiled)
    with pytest.raises(ProgramError, match=r"operand 'D': reads acc\[0\], which was never written"):
        run(straight((*calls[:1], issue_mma(0, 0, 0))), TINY, ARRAYS, compiled=compiled)
    outputs_only = replace(straight((issue_load(4096, 0),)), inputs=straight(()).inputs[:1])
    with pytest.raises(ProgramError, match=r"reads dram\[4096\]"):
        run(outputs_only, TINY, {"X": ARRAYS["X"]}, compiled=compiled)


def token_tile(
    load_pushes: bool = True, mma_pops: bool = True, store_pops: bool = True
) -> tuple[Issue, ...]:
    """One tile on the tokens machine; leave out a token to break it."""
    to_matrix = ("load_to_matrix",)
    return (
        issue_load(0, 0),
        issue_load(256, 4096, pushes=to_matrix if load_pushes else ()),
        issue_clear(0),
        issue_mma(0, 4096, 0, pops=to_matrix if mma_pops else (), pushes=("matrix_to_store",)),
        issue_store(0, 4096, pops=("matrix_to_store",) if store_pops else ()),
    )


def time_tokens(calls: tuple[Node, ...], compiled: bool) -> int:
    return time_program(straight(calls, "tiny_tokens"), TOKENS, compiled=compiled).cycles


@BOTH
def test_tokens_order_units_as_interlocks_do(compiled: bool) -> None:
    tile = token_tile()
    assert time_tokens(tile, compiled) == 174


@BOTH
def test_a_unit_waits_for_its_own_results_without_tokens(compiled: bool) -> None:
    assert time_tokens((issue_load(0, 0), issue_load(16, 0)), compiled) == 36 + 36
    tile = token_tile()
    again = issue_mma(0, 4096, 0)
    assert time_tokens((*tile[:3], tile[3], again), compiled) == 52 + 16 + 48


@BOTH
def test_a_missing_pop_is_a_hazard_that_names_both_calls(compiled: bool) -> None:
    with pytest.raises(ProgramError) as caught:
        time_tokens((loop(issue_load(0, 0), 2), *token_tile(mma_pops=False)[2:]), compiled)
    assert str(caught.value) == (
        "mma[]: hazard with load[i=1]: operand 'A' touches sram[0] too early\n"
        "hint: a token must order the two calls"
    )


@BOTH
def test_a_missing_token_between_matrix_and_store_is_a_hazard(compiled: bool) -> None:
    with pytest.raises(
        ProgramError, match=r"store\[\]: hazard with mma\[\]: operand 'S'.*acc\[0\]"
    ):
        time_tokens(token_tile(store_pops=False), compiled)


@BOTH
def test_overwriting_what_is_still_read_is_a_hazard(compiled: bool) -> None:
    with pytest.raises(
        ProgramError, match=r"load\[\]: hazard with mma\[\]: operand 'D'.*sram\[0\]"
    ):
        time_tokens((*token_tile(), issue_load(512, 0)), compiled)  # 36: A is there; 52: read


@BOTH
def test_hazards_through_dram_are_found(compiled: bool) -> None:
    with pytest.raises(ProgramError, match=r"load\[\]: hazard with store\[\].*dram\[4096\]"):
        time_tokens((*token_tile(), issue_load(4096, 8192)), compiled)


@BOTH
def test_a_missing_push_is_a_deadlock(compiled: bool) -> None:
    with pytest.raises(ProgramError, match=r"mma\[\]: deadlock: pops channel 'load_to_matrix'"):
        time_tokens(token_tile(load_pushes=False), compiled)


@BOTH
def test_too_many_tokens_overflow_the_channel(compiled: bool) -> None:
    pushing = loop(issue_load(0, 0, pushes=("load_to_matrix",)), 5)
    with pytest.raises(ProgramError, match=r"load\[i=4\]: channel 'load_to_matrix' overflows"):
        time_tokens((pushing,), compiled)
