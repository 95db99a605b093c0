"""Machines that can do next to nothing: they compute what they can, and say what they lack.

In: machines as text. Out: failures. Not its job: the shipped machines (`test_oracle`).
"""

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from isamap.costmodels import count_work
from isamap.errors import MappingError
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import coverings
from isamap.scheduler import find_schedule, solve
from tests.scheduler.cases import KERNELS, kernel
from tests.scheduler.execution import assert_correct

HEAD = """name: poor
clock: 1 GHz
synchronisation: interlocked
memories:
  dram: {kind: external, size: 1 MiB, source: estimate}
  registers: {kind: managed, size: 256 bytes, granule: 4 bytes, source: estimate}
units: {all: {}}
instructions:
"""
COPY = """  NAME:
    semantics: |
      S, D = In(TYPE, SIZE), Out(TYPE, SIZE)
      for i in range(SIZE):
        D[i] = S[i]
    extents: {i: at_most}
    operands: {S: {memory: FROM, strides: [free]}, D: {memory: TO, strides: [free]}}
    unit: all
    issue: 1 cycle
    source: estimate
"""
DOT = """  dot:
    semantics: |
      A, B, C = In(i8, 4), In(i8, 4), InOut(i32, 1)
      for k in range(4):
        C[0] += i32(A[k]) * i32(B[k])
    extents: {k: at_most}
    operands: {A: registers, B: registers, C: registers}
    unit: all
    issue: 1 cycle
    source: estimate
"""
ADD = """  add:
    semantics: |
      A, B, D = In(i32, 1), In(i32, 1), Out(i32, 1)
      for i in range(1):
        D[i] = A[i] + B[i]
    extents: {i: exactly}
    operands: {A: registers, B: registers, D: registers}
    unit: all
    issue: 1 cycle
    source: estimate
"""


GREATEST = """  greatest:
    semantics: |
      A, C = In(i32, 4), InOut(i32, 1)
      for k in range(4):
        C[0] = max(C[0], A[k])
    extents: {k: exactly}
    operands: {A: registers, C: registers}
    unit: all
    issue: 1 cycle
    source: estimate
"""
ROW_MAXIMUM = """from isamap.lang import *


@kernel
def subject(m=3, k=8):
    A, C = In(i32, m, k), InOut(i32, m)
    for i, p in grid(m, k):
        C[i] = max(C[i], A[i, p])
"""


def copy(name: str, dtype: str, size: int, source: str, target: str) -> str:
    """A copy instruction."""
    words = {"NAME": name, "TYPE": dtype, "SIZE": str(size), "FROM": source, "TO": target}
    text = COPY
    for word, value in words.items():
        text = text.replace(word, value)
    return text


LOAD = copy("load", "i8", 4, "dram", "registers")
LOAD_SUM = copy("load_sum", "i32", 1, "dram", "registers")
STORE_SUM = copy("store_sum", "i32", 1, "registers", "dram")


def machine(folder: Path, *instructions: str) -> Hardware:
    """A machine with these instructions."""
    file = folder / "poor.yaml"
    file.write_text(HEAD + "".join(instructions))
    return load_hardware(file)


@pytest.mark.parametrize(("file", "name", "sizes"), (*KERNELS[:1], *KERNELS[2:]))
def test_a_dot_product_computes_every_sum_of_products(
    file: str, name: str, sizes: tuple[tuple[str, int], ...], tmp_path: Path
) -> None:
    hw = machine(tmp_path, LOAD, LOAD_SUM, DOT, STORE_SUM)
    subject = kernel(file, name, sizes)
    found = list(islice(coverings(subject, hw, []), 1))
    assert found
    solution = solve(found[0], count_work(found[0], hw), hw, time_limit_s=2)
    assert solution.tiling is not None
    assert_correct(subject, found[0], solution.tiling, hw)


def test_an_adder_says_what_it_lacks_for_a_product(tmp_path: Path) -> None:
    hw = machine(tmp_path, LOAD, LOAD_SUM, ADD, STORE_SUM)
    with pytest.raises(MappingError) as caught:
        find_schedule(kernel("gemm", "gemm", (("m", 4), ("n", 4), ("k", 4))), hw)
    assert caught.value.message.split("\n") == [
        "no instruction of poor computes",
        "C[i, j] += i32(A[i, p]) * i32(B[p, j])",
        "  nothing on poor performs: '*' of i32, i32(i8)",
        "  add: updates its target by '=', the kernel by '+=' over p",
    ]


def test_zeros_must_not_take_part_in_a_maximum(tmp_path: Path) -> None:
    load = copy("load_four", "i32", 4, "dram", "registers")
    hw = machine(tmp_path, load, LOAD_SUM, GREATEST, STORE_SUM)
    file = tmp_path / "subject.py"
    file.write_text(ROW_MAXIMUM)
    subject = load_kernel(file, {"k": 8}, "subject")
    answer = find_schedule(subject, hw)
    assert_correct(subject, answer.best.covering, answer.best.tiling, hw)
    for k in (6, 1):
        with pytest.raises(MappingError) as caught:
            find_schedule(load_kernel(file, {"k": k}, "subject"), hw)
        assert "greatest: runs more iterations than the kernel has" in caught.value.message


def test_a_missing_copy_is_named(tmp_path: Path) -> None:
    hw = machine(tmp_path, LOAD, DOT, LOAD_SUM, STORE_SUM.replace("i32", "i16"))
    with pytest.raises(MappingError) as caught:
        find_schedule(kernel("gemm", "gemm", (("m", 4), ("n", 4), ("k", 4))), hw)
    lines = caught.value.message.split("\n")
    assert lines[2:3] == ["  dot: operand C (C): no copy takes i32 from registers to dram"]


def test_a_copy_that_fills_other_blocks_is_named(tmp_path: Path) -> None:
    """One call of it fills what two calls of the product read."""
    pairs = LOAD.replace("In(i8, 4), Out(i8, 4)", "In(i8, 2, 4), Out(i8, 2, 4)")
    pairs = pairs.replace("for i in range(4)", "for h, i in grid(2, 4)").replace("[i]", "[h, i]")
    pairs = pairs.replace("{i: at_most}", "{h: exactly, i: exactly}").replace(
        "[free]", "[4 bytes, 1 byte]"
    )
    hw = machine(tmp_path, pairs, DOT, LOAD_SUM, STORE_SUM)
    with pytest.raises(MappingError) as caught:
        find_schedule(kernel("gemm", "gemm", (("m", 4), ("n", 4), ("k", 4))), hw)
    assert caught.value.message.split("\n")[2] == (
        "  dot: operand A (A): no copy brings it from dram to registers; load writes there, but its"
        " loops and strides do not fit blocks of 4 of k (1 B apart)"
    )


def test_calls_that_find_no_room_ask_for_it(tmp_path: Path) -> None:
    """A product's call reads eight bytes and adds to four; each operand by itself would fit."""
    hw = machine(tmp_path, LOAD, DOT, LOAD_SUM, STORE_SUM)
    small = tuple(replace(m, size_bytes=8) if m.name == "registers" else m for m in hw.memories)
    with pytest.raises(MappingError) as caught:
        sizes = (("m", 4), ("n", 4), ("k", 4))
        find_schedule(kernel("gemm", "gemm", sizes), replace(hw, memories=small))
    assert "do not fit the memories of poor" in caught.value.message
    assert caught.value.hint == (
        "give its memories more room: what one call touches must lie there at once"
    )
