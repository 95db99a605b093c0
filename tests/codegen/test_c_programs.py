"""Generated C computes what the kernel says: compiled with all warnings, run under sanitizers.

Oracle: the interpreter (floats are whole numbers, so every element is exact).
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import isamap
from isamap.codegen import generate_c
from isamap.hwdesc import load_hardware
from isamap.native import Mapped

HERE = Path(__file__).parent
KERNELS = HERE / "c_kernels.py"
STRICT = (
    "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
)  # fmt: skip
needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)
CASES = (
    ("vec4", "sgemm", {"m": 1, "n": 1, "k": 1}),
    ("vec4", "sgemm", {"m": 3, "n": 17, "k": 5}),
    ("vec4", "sgemm", {"m": 13, "n": 2, "k": 1}),
    ("vec4", "sgemm", {"m": 7, "n": 16, "k": 11}),
    ("vec4", "sgemm_adds", {"m": 5, "n": 7, "k": 3}),
    ("vec4", "sgemm_adds", {"m": 23, "n": 9, "k": 2}),
    ("vec4", "window", {"n": 9, "r": 3}),
    ("vec4", "window", {"n": 31, "r": 2}),
    ("scratch", "gemm", {"m": 1, "n": 1, "k": 1}),
    ("scratch", "gemm", {"m": 5, "n": 7, "k": 3}),
    ("scratch", "gemm", {"m": 8, "n": 31, "k": 17}),
)


def run_strictly(machine: str, kernel: str, sizes: dict[str, int]) -> isamap.native.RemoteRun:
    """Compile without warnings, run under address and undefined-behaviour sanitizers."""
    return isamap.run_on(
        f"{KERNELS}:{kernel}",
        HERE / f"{machine}.yaml",
        sizes=sizes,
        may_reassociate=True,
        time_limit_s=2,
        flags=STRICT,
    )


@needs_compiler
@pytest.mark.parametrize("machine, kernel, sizes", CASES)
def test_compiled_c_is_exact(machine: str, kernel: str, sizes: dict[str, int]) -> None:
    done = run_strictly(machine, kernel, sizes)
    assert done.mismatch is None


@needs_compiler
def test_c_text_that_does_something_else_is_caught(tmp_path: Path) -> None:
    text = (HERE / "vec4.yaml").read_text().replace("{C} += {A} * {B};", "{C} -= {A} * {B};")
    (tmp_path / "vec4.yaml").write_text(text)
    done = isamap.run_on(f"{KERNELS}:sgemm", tmp_path / "vec4.yaml", may_reassociate=True)
    assert done.mismatch is not None and done.mismatch.buffer == "C"


def test_registers_named_by_number_must_have_constant_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("isamap.codegen.c.specialise.MAX_CALLS", 3)
    found = mapped("sgemm", {}, "vec4")
    regs = replace(found.hardware.memory("regs"), is_named=True)
    others = tuple(m for m in found.hardware.memories if m.name != "regs")
    with pytest.raises(isamap.IsamapError, match="regs are named by number, and more than 3") as e:
        generate_c(found.program, replace(found.hardware, memories=(*others, regs)))
    assert "C types" in e.value.hint


@needs_compiler
def test_registers_become_an_array_when_the_code_would_be_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("isamap.codegen.c.specialise.MAX_CALLS", 3)
    done = run_strictly("vec4", "sgemm", {"m": 7, "n": 9, "k": 3})
    assert "uint8_t regs[128];" in done.source.text
    assert done.mismatch is None


def mapped(kernel: str, sizes: dict[str, int], machine: str) -> Mapped:
    """The program of a kernel, in a file of its own or beside this one, on one of the machines."""
    file = kernel if kernel.endswith(".py") else f"{KERNELS}:{kernel}"
    result = isamap.map(
        file, HERE / f"{machine}.yaml", sizes=sizes, verify="off", may_reassociate=True
    )
    assert isinstance(result, isamap.Result)
    return Mapped(result.kernel, result.hardware, result.schedule.program, 0)


def test_an_instruction_without_c_text_is_named(tmp_path: Path) -> None:
    found = mapped("gemm", {}, "scratch")
    text = (HERE / "scratch.yaml").read_text()
    start, end = text.index('    emit: {c: "for (int e'), text.index("  store:\n")
    bare = text[:start] + "    source: invented\n" + text[end:]
    (tmp_path / "bare.yaml").write_text(bare)
    with pytest.raises(isamap.IsamapError) as caught:
        generate_c(found.program, load_hardware(tmp_path / "bare.yaml"))
    assert "instruction 'clear' of scratch has no C text" in str(caught.value)
    assert "emit: {c: ..}" in caught.value.hint


ORDERED = """
from isamap.lang import In, InOut, f32, grid, kernel

@kernel
def sgemm(m=5, n=7, k=3):
    {declared}
    for i, j, p in grid(m, n, k):
        C[i, j] += A[i, p] * B[p, j]
"""


@pytest.mark.parametrize(
    "declared, order",
    [
        ("A, B, C = In(f32, m, k), In(f32, k, n), InOut(f32, m, n)", "A B C"),
        ("B, A, C = In(f32, k, n), In(f32, m, k), InOut(f32, m, n)", "B A C"),
        ("C, A, B = InOut(f32, m, n), In(f32, m, k), In(f32, k, n)", "C A B"),
    ],
)
def test_parameters_come_in_the_kernels_order(tmp_path: Path, declared: str, order: str) -> None:
    file = tmp_path / "ordered.py"
    file.write_text(ORDERED.format(declared=declared))
    found = mapped(str(file), {}, "vec4")
    parameters = generate_c(found.program, found.hardware).parameters
    assert [parameter.buffer for parameter in parameters] == order.split()


def test_c_keeps_the_loops_of_the_listing() -> None:
    found = mapped("sgemm", {"m": 64, "n": 64, "k": 64}, "vec4")
    text = generate_c(found.program, found.hardware).text
    assert text.count("for (int64_t p_") >= 1
    assert "for (int64_t i_tile = 0; i_tile < " in text
    assert "if (" not in text  # edges are code of their own


@pytest.mark.parametrize("limit, k, is_unrolled", [(32, 64, 1), (31, 64, 0), (32, 62, 0)])
def test_loops_of_few_calls_are_unrolled_where_rounds_divide(
    limit: int, k: int, is_unrolled: int
) -> None:
    """A round has eight calls."""
    found = mapped("sgemm", {"m": 64, "n": 64, "k": k}, "vec4")
    assert found.hardware.compiler is not None
    rule = replace(found.hardware.compiler, unrolled_calls=limit)
    text = generate_c(found.program, replace(found.hardware, compiler=rule)).text
    pragma = "#pragma GCC unroll 4\n      for (int64_t p_tile = "
    assert text.count(pragma) == text.count("unroll") == is_unrolled


@pytest.mark.parametrize("limit, rounds", [(48, 6), (47, 1)])
def test_short_loops_are_unrolled_whole(limit: int, rounds: int) -> None:
    """Six rounds of eight calls."""
    found = mapped("sgemm", {"m": 64, "n": 64, "k": 6}, "vec4")
    assert found.hardware.compiler is not None
    rule = replace(found.hardware.compiler, unrolled_calls=limit)
    text = generate_c(found.program, replace(found.hardware, compiler=rule)).text
    assert text.count("unroll") == text.count(f"#pragma GCC unroll {rounds}\n") == (rounds > 1)


@needs_compiler
def test_unrolled_loops_are_exact(tmp_path: Path) -> None:
    text = (HERE / "vec4.yaml").read_text().replace("compiler:", "compiler:\n  unroll: 80", 1)
    (tmp_path / "vec4.yaml").write_text(text)
    kernel, sizes = f"{KERNELS}:sgemm", {"m": 7, "n": 9, "k": 12}
    done = isamap.run_on(
        kernel, tmp_path / "vec4.yaml", sizes=sizes, may_reassociate=True, flags=STRICT
    )
    assert done.mismatch is None


def test_a_program_that_writes_into_an_input_is_refused() -> None:
    found = mapped("sgemm", {}, "vec4")
    places = {p.buffer: p.address for p in (*found.program.inputs, *found.program.outputs)}
    moved = replace(found.program.outputs[0], address=1 << 20)
    swapped = replace(found.program, outputs=(moved,))
    extra = replace(found.program.inputs[0], buffer="X", address=places["C"], layout=moved.layout)
    program = replace(swapped, inputs=(*found.program.inputs, extra))
    with pytest.raises(isamap.IsamapError, match="store, operand D: writes into X, which is an in"):
        generate_c(program, found.hardware)
