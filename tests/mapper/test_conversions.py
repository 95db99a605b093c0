"""Operands that copies convert on their way to the unit.

Oracle: the interpreter, through `verify="full"`, NumPy where it says so, and the compiled program.
"""

from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import interpret, load_kernel
from isamap.mapper import conversions, coverings, match_statement
from isamap.native import execute_c, whole_arrays
from isamap.program import issues
from isamap.scheduler import Wishes, find_schedule

HEAD = """\
name: converting
clock: 1 GHz
synchronisation: interlocked
compiler: {source: "GCC manual"}
memories:
  dram: {kind: external, size: 1 MiB, ports: {both: 16 bytes/cycle}, source: invented}
BUFFER  regs: {kind: managed, size: 256 bytes, granule: 16 bytes, source: invented}
units: {load: {}, alu: {}, store: {}}
instructions:
  multiply_add:
    semantics: |
      A, B, C = In(TO, 1), In(TO, 4), InOut(SUM, 4)
      for j in range(4):
        C[j] += CAST(A[0]) * CAST(B[j])
    extents: {j: at_most}
    operands: {A: A_PLACE, B: regs, C: regs}
    unit: alu
    issue: 1 cycle
    latency: 3 cycles
    emit: {c: "for (int j = 0; j < {j}; ++j) {C}[j] += {A}[0] * {B}[j];"}
    source: invented
  clear:
    semantics: |
      C = Out(SUM, 4)
      for j in range(4):
        C[j] = 0
    extents: {j: at_most}
    operands: {C: regs}
    unit: alu
    issue: 1 cycle
    emit: {c: "for (int j = 0; j < {j}; ++j) {C}[j] = 0;"}
    source: invented
"""
BUFFER = "  buffer: {kind: managed, size: 512 bytes, granule: 4 bytes, source: invented}\n"
COPY = """\
  {name}:
    semantics: |
      S, D = In({source}, {count}), Out({target}, {count})
      for j in range({count}):
        D[j] = {value}
    extents: {{j: at_most}}
    operands: {{S: {{memory: {ends[0]}, strides: [free]}}, D: {ends[1]}}}
    unit: {unit}
    issue: j cycles
    latency: 4 + j cycles
    emit: {{c: "{c}"}}
    source: invented
"""
KERNEL = """\
from isamap.lang import *


@kernel
def subject(m=3, n=5, k=2):
    A, B, C = In({source}, m, k), In({source}, k, n), Out({total}, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += {left} * {right}
"""
PLAIN = "for (int j = 0; j < {j}; ++j) {D}[j] = {S}[j * ({S_stride0} / (int)sizeof *{S})];"
BF16 = (
    "for (int j = 0; j < {j}; ++j) {{ uint16_t half; uint32_t bits;"
    " __builtin_memcpy(&half, (const char *){S} + j * {S_stride0}, 2);"
    " bits = (uint32_t)half << 16; __builtin_memcpy(&{D}[j], &bits, 4); }}"
)
FLAGS = ("-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover")
# which copy converts, and where the multiplying instruction finds A
DIRECT = ("dram>regs", "regs")
FIRST = ("dram>buffer", "buffer")
LAST = ("buffer>regs", "regs")
WAYS = {"direct": DIRECT, "first": FIRST, "last": LAST}


def copy(name: str, types: tuple[str, str], way: str) -> str:
    """An instruction that copies up to four elements, converting them if the types differ."""
    source, target = types
    value = "S[j]" if source == target else f"{target}(S[j])"
    unit = "store" if way == "regs>dram" else "load"
    c = BF16 if types == ("bf16", "f32") else PLAIN
    return COPY.format(
        name=name, source=source, target=target, value=value, ends=way.split(">"), unit=unit,
        count=4, c=c,
    )  # fmt: skip


def machine(
    folder: Path, types: tuple[str, str], way: tuple[str, str], total: str, cast: str = ""
) -> Hardware:
    """Brings `types[0]` to its unit as `types[1]`, converted where `way` says; sums are `total`."""
    converting, place = way
    text = (
        HEAD.replace("BUFFER", BUFFER if "buffer" in converting else "")
        .replace("A_PLACE", place)
        .replace("CAST", cast)
    )
    text = text.replace("TO", types[1]).replace("SUM", total)
    text += copy("convert", types, converting) + copy("store", (total, total), "regs>dram")
    if converting == "dram>buffer":
        text += copy("load", (types[1], types[1]), "buffer>regs")
    if converting == "buffer>regs":
        text += copy("load", (types[0], types[0]), "dram>buffer")
    decoy = converting.split(">")[1].replace("dram", "regs")
    text += copy("load_wide", (types[1], types[1]), f"dram>{decoy}")
    if converting.startswith("regs"):
        text += copy("load", (types[0], types[0]), "dram>regs")
    file = folder / "converting.yaml"
    file.write_text(text)
    return load_hardware(file)


def kernel_file(folder: Path, source: str, total: str, factor: str) -> Path:
    """A product of `source`, each factor as `factor` says of X."""
    left, right = (factor.replace("X", access) for access in ("A[i, p]", "B[p, j]"))
    file = folder / "subject.py"
    file.write_text(KERNEL.format(source=source, total=total, left=left, right=right))
    return file


# types on the way, type of the sums, what the instruction multiplies, what the kernel does
CASES = (
    (("bf16", "f32"), "f32", "", "f32(X)"),
    (("i8", "i32"), "i32", "", "i32(X)"),
    (("u8", "f32"), "f32", "", "f32(X)"),
    (("i8", "i16"), "i32", "i32", "i32(i16(X))"),
    (("u8", "i16"), "i32", "i32", "i32(X)"),
    (("f32", "bf16"), "f32", "f32", "f32(bf16(X))"),
    (("i32", "i8"), "i32", "i32", "i32(i8(X))"),
)
ONE, SEVERAL = {"m": 1, "n": 1, "k": 1}, {"m": 4, "n": 9, "k": 7}


@pytest.mark.parametrize(
    ("way", "sizes"), [*((way, SEVERAL) for way in WAYS), (next(iter(WAYS)), ONE)], ids=str
)
@pytest.mark.parametrize("types, total, cast, factor", CASES, ids=str)
def test_products_of_converted_operands_are_right(
    types: tuple[str, str], total: str, cast: str, factor: str, way: str, sizes: dict[str, int],
    tmp_path: Path,
) -> None:  # fmt: skip
    hw = machine(tmp_path, types, WAYS[way], total, cast)
    file = kernel_file(tmp_path, types[0], total, factor)
    made = isamap.map(str(file), hw, sizes=sizes, verify="full", may_reassociate=True)
    assert isinstance(made, isamap.Result) and made.verification.is_verified
    used = {issue.instruction for issue in issues(made.program.body)}
    assert {"convert", "multiply_add"} <= used


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("types, total, cast, factor", CASES[:5], ids=str)
def test_compiled_products_of_converted_operands_are_right(
    types: tuple[str, str], total: str, cast: str, factor: str, way: str, tmp_path: Path
) -> None:
    hw = machine(tmp_path, types, WAYS[way], total, cast)
    kernel = load_kernel(kernel_file(tmp_path, types[0], total, factor), {"m": 4, "n": 9, "k": 7})
    program = find_schedule(kernel, hw, Wishes(may_reassociate=True)).best.program
    arrays = whole_arrays(kernel, seed=2)
    got = execute_c(program, hw, arrays, FLAGS)
    np.testing.assert_array_equal(got["C"], interpret(kernel, arrays)["C"])


def test_each_place_holds_its_own_type(tmp_path: Path) -> None:
    """bf16 in the external memory and in the buffer, f32 in registers."""
    hw = machine(tmp_path, ("bf16", "f32"), LAST, "f32")
    kernel = load_kernel(kernel_file(tmp_path, "bf16", "f32", "f32(X)"), {"m": 3, "n": 8, "k": 8})
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        for plan in covering.operands:
            if plan.name == "C":
                continue
            inner, outer = plan.residences
            assert (inner.memory, inner.dtype) == ("regs", "f32") and plan.dtype == "f32"
            assert (outer.memory, outer.dtype) == ("buffer", "bf16")
            assert plan.inlet is not None and plan.inlet.layout.dtype == "bf16"
            count = max(1, *(block.extent for block in plan.blocks), 1)
            assert outer.block_bytes == -(-2 * count // 4) * 4
            assert inner.block_bytes == -(-4 * count // 16) * 16


def test_only_what_the_kernel_converts_is_converted(tmp_path: Path) -> None:
    hw = machine(tmp_path, ("i8", "i32"), DIRECT, "i32")
    multiply, converted = hw.instruction("multiply_add"), conversions(hw)
    assert converted == {("regs", "i8", "i32")}
    for source, factor, is_right in (
        ("i8", "i32(X)", True),
        ("i32", "X", True),
        ("u8", "i32(X)", False),
        ("i8", "i32(X + X)", False),
        ("i32", "i32(i8(X))", False),
    ):
        kernel = load_kernel(kernel_file(tmp_path, source, "i32", factor))
        found, _ = match_statement(kernel, 0, multiply, converted=converted)
        assert bool(found) == is_right, factor
        assert bool(match_statement(kernel, 0, multiply)[0]) == (source == "i32" and is_right)


@pytest.mark.parametrize(
    "way, reached",
    [
        (DIRECT, ("regs",)),
        (FIRST, ("buffer", "regs")),
        (LAST, ("regs",)),
        (("regs>regs", "regs"), ()),
        (("regs>dram", "regs"), ()),
    ],
    ids=str,
)
def test_converted_types_reach_as_far_as_copies_take_them(
    way: tuple[str, str], reached: tuple[str, ...], tmp_path: Path
) -> None:
    hw = machine(tmp_path, ("bf16", "f32"), way, "f32")
    assert conversions(hw) == {(memory, "bf16", "f32") for memory in reached}
