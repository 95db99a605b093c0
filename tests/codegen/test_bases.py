"""Places that a loop does not move are written as distances from one pointer."""

import re
import shutil
from pathlib import Path

import pytest

import isamap
from isamap.codegen.c.bases import MANY, Array, Group, group_places
from isamap.codegen.c.nodes import CCall, CHint, CLoop, CNode
from isamap.ir import Affine
from isamap.program import Address, Issue, Operand, Rotation, Span

HERE = Path(__file__).parent
FIXED, MOVED = (("i", 64),), (("i", 64), ("j", 4))


def read(terms: tuple[tuple[str, int], ...], constant: int, memory: str = "dram") -> Operand:
    return Operand("A", memory, Address(Affine(terms, constant)), (4,))


def call(operand: Operand) -> CNode:
    return CCall(Issue("load", (operand,), (("n", Span(4)),)))


def find(operand: Operand) -> tuple[Array, Address] | None:
    return None if operand.memory == "regs" else (Array(operand.memory, True), operand.address)


def groups(*nodes: CNode) -> dict[Group, int]:
    return group_places(CLoop("j", 0, 9, nodes), find)


def places(terms: tuple[tuple[str, int], ...], count: int, memory: str = "dram") -> list[CNode]:
    return [call(read(terms, 100 - 8 * n, memory)) for n in range(count)]


def test_many_places_that_the_loop_does_not_move_are_one_group_from_the_least_on() -> None:
    hint = CHint(read(FIXED, 12), 256)
    found = groups(*places(FIXED, MANY), hint, *places(MOVED, 20), *places(FIXED, 20, "regs"))
    assert found == {Group(Array("dram", True), FIXED, ()): 12}


def test_the_same_place_again_and_again_is_one_place() -> None:
    assert not groups(*places(FIXED, MANY), *places(FIXED, MANY))


def test_buffers_that_the_loop_turns_are_moved() -> None:
    turning = (Rotation(Affine.var("j"), 2, 512),)
    operands = [Operand("A", "dram", Address(Affine(FIXED, n), turning), (4,)) for n in range(20)]
    assert not groups(*map(call, operands))


def test_around_other_loops_nothing_is_written_so() -> None:
    assert not groups(*places(FIXED, 20), CLoop("k", 0, 5, ()))


@pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)
def test_distances_from_a_pointer_lead_to_the_same_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Columns of C, one by one: the loop over them moves no row of A."""
    monkeypatch.setattr("isamap.codegen.c.bases.MANY", 1)
    done = isamap.run_on(
        f"{HERE / 'c_kernels.py'}:sgemm", HERE / "vec4.yaml",
        sizes={"m": 4, "n": 53, "k": 2}, may_reassociate=True, time_limit_s=2,
        flags=("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    )  # fmt: skip
    assert re.search(r"const uint8_t \*(\w+_at\d+) = .*A.*\(\1 \+ \d+\)", done.source.text, re.S)
    assert done.mismatch is None
