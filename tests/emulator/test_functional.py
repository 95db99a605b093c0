"""What programs compute: compiled execution = Python execution = NumPy."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.emulator import run
from isamap.errors import IsamapError, ProgramError
from isamap.hwdesc import load_hardware
from isamap.ir import numpy_dtype
from isamap.program import Issue, Operand, Placement, Program, Repeat, Span, natural_layout
from tests.emulator.hand_programs import (
    at,
    gemm,
    issue_clear,
    issue_load,
    issue_mma,
    issue_store,
    machine,
    straight,
)

BOTH = pytest.mark.parametrize("compiled", [True, False])
TINY = machine("tiny")


def inputs(seed: int = 0) -> dict[str, np.ndarray]:
    """Arrays for `straight` programs."""
    random = np.random.default_rng(seed)
    return {
        "X": random.integers(-128, 128, 4096).astype(np.int8),
        "Y": random.integers(-(2**31), 2**31, 4096).astype(np.int32),
    }


@settings(max_examples=12)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 50), st.integers(1, 3))
def test_ragged_products_equal_numpy(m: int, n: int, k: int, buffers: int) -> None:
    random = np.random.default_rng(m * n * k)
    a = random.integers(-128, 128, (m, k)).astype(np.int8)
    b = random.integers(-128, 128, (k, n)).astype(np.int8)
    expected = a.astype(np.int32) @ b.astype(np.int32)
    for compiled in (True, False):
        result = run(gemm(m, n, k, buffers=buffers), TINY, {"A": a, "B": b}, compiled=compiled)
        assert np.array_equal(result.outputs["C"], expected)


@st.composite
def sequences(draw: st.DrawFn) -> Program:
    """Random calls after enough loads and clears that most reads are legal; reads may alias
    writes."""
    setup = [issue_load(256 * n, 256 * n) for n in range(4)]
    setup += [issue_clear(1024 * n) for n in range(2)]
    place = st.integers(0, 60).map(lambda n: 16 * n)
    calls: list[Issue] = []
    for _ in range(draw(st.integers(1, 8))):
        kind, rows = draw(st.integers(0, 2)), draw(st.integers(1, 16))
        a, b, c = draw(place), draw(place), draw(place)
        calls.append(
            (
                issue_load(a, b, rows=rows, pitch=draw(st.sampled_from([16, 8, 32]))),
                issue_mma(a, b, c, rows=rows),
                issue_store(c, 4096 + 16 * a, rows=rows),
            )[kind]
        )
    return straight((*setup, *calls), repeats=draw(st.integers(1, 2)))


@settings(max_examples=20)
@given(sequences())
def test_both_executions_give_the_same_bytes_or_the_same_error(program: Program) -> None:
    outcomes = []
    for compiled in (True, False):
        try:
            outcomes.append(run(program, TINY, inputs(), compiled=compiled).outputs["Y"].tolist())
        except ProgramError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


MANY = """
name: many
clock: 1 GHz
synchronisation: interlocked
source: invented
memories:
  dram: {kind: external, size: 1 MiB, granule: 1 byte, source: invented}
units: {all: {}}
instructions:
"""
INSTRUCTION = """
  op:
    semantics: |
%s
    extents: {%s}
    operands: {%s}
    unit: all
    issue: 1 cycle
    latency: 1 cycle
    source: invented
"""
SEMANTICS = {
    "saturate": "A, B, D = In(i16, 8), In(i16, 8), Out(i8, 8)\n"
    "for i in range(8):\n  D[i] = sat_i8(rshift_round(i32(A[i]) * i32(B[i]), 7))",
    "wrap": "A, B, D = In(i16, 8), In(i16, 8), Out(i8, 8)\n"
    "for i in range(8):\n  D[i] = i8(A[i] * B[i]) + i8(A[i] << 3)",
    "stencil": "A, B, D = In(i16, 8), In(i16, 8), Out(i16, 8)\n"
    "for i in range(8):\n  for r in range(3):\n    D[i] += A.at(i + r - 1, pad=7) * B[r]",
    "two": "A, B, D = In(i16, 8), In(i16, 8), Out(i16, 8)\n"
    "T = Temp(i16, 8)\n"
    "for i in range(8):\n  T[i] = max(A[i], B[i])\n"
    "for j in range(8):\n  D[j] = relu(T[j]) - A[j]",
    "reduce": "A, B, D = In(i16, 8), In(i16, 8), Out(i16, 1)\n"
    "for i in range(8):\n  D[0] = max(D[0], A[i] ^ B[i])",
    "float": "A, B, D = In(f32, 8), In(f32, 8), Out(f32, 8)\n"
    "for i in range(8):\n  for j in range(8):\n    D[i] += A[j] * B[i] + sqrt(abs(A[i]))",
    "bf16": "A, B, D = In(bf16, 8), In(bf16, 8), Out(bf16, 8)\n"
    "for i in range(8):\n  for j in range(8):\n    D[i] += A[j] * B[i] - B[j] / A[i]",
    "half": "A, B, D = In(f16, 8), In(f16, 8), Out(f16, 8)\n"
    "for i in range(8):\n  D[i] = f16(f32(A[i]) * f32(B[i])) + A[i]",
    "nibble": "A, B, D = In(i4, 8), In(i4, 8), Out(i8, 8)\n"
    "for i in range(8):\n  D[i] = i8(A[i] + B[i]) * i8(B[i])",
    "truncate": "A, B, D = In(f32, 8), In(f32, 8), Out(i8, 8)\n"
    "for i in range(8):\n  D[i] = i8(A[i] * f32(100)) + sat_i8(B[i] * f32(100))",
}


@pytest.mark.parametrize("name", sorted(SEMANTICS))
def test_scalar_operations_agree(name: str, tmp_path: Path) -> None:
    text = SEMANTICS[name]
    loops = sorted(
        {line.split()[1] for line in text.splitlines() if line.strip().startswith("for")}
    )
    body = INSTRUCTION % (
        "\n".join("      " + line for line in text.splitlines()),
        ", ".join(f"{loop}: at_most" for loop in loops),
        "A: dram, B: dram, D: dram",
    )
    path = tmp_path / "many.yaml"
    path.write_text(MANY + body)
    hardware = load_hardware(path)
    kernel = hardware.instructions[0].semantics
    operands, placements, arrays, address = [], [], {}, 0
    random = np.random.default_rng(1)
    for buffer in kernel.buffers[:3]:
        layout = natural_layout(buffer.dtype, buffer.shape)
        placements.append(Placement(buffer.name, address, layout))
        stride = layout.axes[0].stride_bytes
        operands.append(Operand(buffer.name, "dram", at(address), (stride,)))
        if buffer.name != "D":
            most = 7 if buffer.dtype == "i4" else 60
            numbers = np.clip(random.normal(size=8) * most, -most, most)
            scale = 40 if buffer.dtype in ("f32", "bf16", "f16") else 1
            arrays[buffer.name] = (numbers / scale).astype(numpy_dtype(buffer.dtype))
        address += 64
    extents = {loop.name: loop.extent for s in kernel.statements for loop in s.loops}
    issue = Issue("op", tuple(operands), tuple((n, Span(e)) for n, e in extents.items()))
    program = Program("one", "many", tuple(placements[:2]), (placements[2],), (issue,))
    compiled = run(program, hardware, arrays, compiled=True).outputs["D"]
    python = run(program, hardware, arrays, compiled=False).outputs["D"]
    assert compiled.tobytes() == python.tobytes()
    assert any(python.view(np.uint8).reshape(-1))


REPEATED = (
    MANY
    + """
  copy:
    semantics: |
      S, D = In(i8, 4), Out(i8, 4)
      for i in range(4):
        D[i] = S[i]
    extents: {i: exactly}
    operands: {S: dram, D: dram}
    repeat:
      outer: {at_most: 10, strides: {S: free, D: free}}
      inner: {at_most: 10, strides: {S: free, D: free}}
    unit: all
    issue: outer * inner cycles
    latency: outer * inner cycles
    source: invented
"""
)


@BOTH
def test_repeats_advance_every_operand_by_its_own_stride(compiled: bool, tmp_path: Path) -> None:
    path = tmp_path / "many.yaml"
    path.write_text(REPEATED)
    hardware = load_hardware(path)
    issue = Issue(
        "copy",
        (Operand("S", "dram", at(0), (1,)), Operand("D", "dram", at(64), (1,))),
        (("i", Span(4)),),
        (Repeat("outer", Span(3), (8, 4)), Repeat("inner", Span(2), (4, 12))),
    )
    layouts = natural_layout("i8", (24,))
    placed = Placement("S", 0, layouts), Placement("D", 64, layouts)
    program = Program("copy", "many", placed[:1], placed[1:], (issue,))
    data = np.arange(24, dtype=np.int8)
    expected = data.reshape(3, 2, 4).transpose(1, 0, 2).reshape(-1)
    result = run(program, hardware, {"S": data}, compiled=compiled).outputs["D"]
    assert result.tolist() == expected.tolist()


def test_inputs_are_named_and_typed() -> None:
    program = gemm(16, 16, 16)
    a = np.zeros((16, 16), np.int8)
    with pytest.raises(ProgramError, match="needs the input 'B'"):
        run(program, TINY, {"A": a})
    with pytest.raises(ProgramError, match="has no input 'C'"):
        run(program, TINY, {"A": a, "B": a, "C": a})
    with pytest.raises(ProgramError, match=r"array int32\[16, 16\] given, layout holds i8"):
        run(program, TINY, {"A": a, "B": a.astype(np.int32)})


def test_a_missing_compiler_is_an_error_only_when_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    a = np.ones((3, 4), np.int8)
    b = np.ones((4, 2), np.int8)
    assert run(gemm(3, 2, 4), TINY, {"A": a, "B": b}).outputs["C"].tolist() == [[4, 4]] * 3
    with pytest.raises(IsamapError, match="no C compiler found"):
        run(gemm(3, 2, 4), TINY, {"A": a, "B": b}, compiled=True)
