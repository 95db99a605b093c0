"""Bytes that calls touch: those of every element, counted one by one."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.codegen.c.nodes import CCall, CIf, CLoop, CNode
from isamap.codegen.c.reach import Reach, calls_within, reaches, whole_reach
from isamap.hwdesc import Hardware, Instruction, load_hardware
from isamap.ir import Affine, size_bytes
from isamap.program import Address, Issue, Operand, Rotation, Span
from isamap.resources import find_hardware

SMALL = st.integers(-40, 40)


@pytest.fixture(scope="module")
def hw() -> Hardware:
    return load_hardware(find_hardware("vecdot"))


@given(SMALL, SMALL, SMALL, st.integers(1, 3), SMALL)
def test_an_address_takes_both_ends_of_its_interval(
    base: int, step: int, turns: int, modulo: int, stride: int
) -> None:
    """Where a rotation goes by a loop of its own, which runs through all its places."""
    rotation = Rotation(Affine.of([("r", 1)]), modulo, stride)
    address = Address(Affine.of([("i", step)], base), (rotation,))
    values = [address.value({"i": i, "r": r}) for i in range(5) for r in range(modulo)]
    assert address.interval({"i": (0, 4), "r": (0, modulo - 1)}) == (min(values), max(values))


def bytes_of(instruction: Instruction, operand: Operand, counts: dict[str, int]) -> set[int]:
    """From the address on, element by element."""
    width = size_bytes(instruction.semantics.buffer(operand.name).dtype)
    found = set()
    for access in instruction.uses:
        for at in (
            product(*(range(n) for n in counts.values())) if access.buffer == operand.name else ()
        ):
            values = dict(zip(counts, at, strict=True))
            places = (index.evaluate(values) for index in access.indices)
            first = sum(p * s for p, s in zip(places, operand.strides_bytes, strict=True))
            found |= set(range(first, first + width))
    return found


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("is_short", [False, True])
def test_a_call_reaches_the_bytes_of_its_elements(hw: Hardware, sign: int, is_short: bool) -> None:
    """Rows may lie backwards; a shorter call reaches less, its whole shape what a full one does."""
    for instruction in hw.instructions:
        counts = {loop: r.maximum // (2 if is_short else 1) or 1 for loop, r in instruction.extents}
        full = {loop: r.maximum for loop, r in instruction.extents}
        operands = tuple(
            Operand(rule.name, rule.memory, Address(Affine()),
                    tuple(sign * 64 * (n + 1) for n in range(len(rule.strides))))
            for rule in instruction.operands
        )  # fmt: skip
        extents = tuple((loop, Span(count)) for loop, count in counts.items())
        found = list(reaches(Issue(instruction.name, operands, extents), hw))
        assert {reach.operand for reach in found} == set(operands)
        for operand in operands:
            mine = [reach for reach in found if reach.operand == operand]
            touched = bytes_of(instruction, operand, counts)
            ends = min(reach.first for reach in mine), max(reach.last for reach in mine)
            assert ends == (min(touched), max(touched))
            whole = bytes_of(instruction, operand, full)
            assert whole_reach(operand, instruction.semantics) == (min(whole), max(whole))
            targets = {s.target.buffer for s in instruction.semantics.statements}
            assert {reach.is_written for reach in mine} == {operand.name in targets}


def test_calls_stand_in_the_values_of_the_loops_around_them() -> None:
    """A condition takes none away; a count known at run time is at most its limit."""
    call = CCall(Issue("any", (), ()))
    inner = CLoop("j", 2, Span(7, 20, Affine.of([("i", 7)])), (CIf((), (call,)),))
    nodes: tuple[CNode, ...] = (CLoop("i", 0, 3, (inner, call)), call)
    outside = {"t": (1, 1)}
    assert [dict(ranges) for _, ranges in calls_within(nodes, outside)] == [
        {"t": (1, 1), "i": (0, 2), "j": (2, 6)},
        {"t": (1, 1), "i": (0, 2)},
        {"t": (1, 1)},
    ]


def test_bytes_in_memory_are_those_of_all_iterations() -> None:
    operand = Operand("A", "dram", Address(Affine.of([("i", -8)], 100)), (4,))
    assert Reach(operand, -4, 3, False).within({"i": (0, 5)}) == (56, 103)
