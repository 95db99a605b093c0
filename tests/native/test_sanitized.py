"""Generated C for this processor: no warnings from GCC or Clang, nothing for the sanitizers."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import isamap
from isamap.codegen import missing_features
from isamap.hwdesc import Hardware
from isamap.ir import interpret, load_kernel
from isamap.native import execute_c, execute_together, whole_arrays
from isamap.native.mapped import map_program
from isamap.planner import Wishes, search
from isamap.resources import find_hardware, find_kernel
from isamap.verify import compare

STRICT = ("-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover")
PACKAGES = {"gcc": "gcc", "clang": "clang"}
ROLLED = {"m": 61, "n": 83, "k": 37}  # loops around tiles, first and last ones unlike the others
CASES: Mapping[str, tuple[tuple[str, Mapping[str, int]], ...]] = {
    "x86_avx2": (
        ("gemm:gemm", {"m": 7, "n": 5, "k": 6}),
        ("gemm:gemm_f32", {"m": 3, "n": 17, "k": 2}),
        ("gemm:gemm_bf16", {"m": 3, "n": 17, "k": 5}),
        ("conv2d_epilogue:conv2d_requantise", {"h": 3, "w": 4, "c": 3, "k": 9}),
    ),
    "x86_avx512": (
        ("gemm:gemm", {"m": 7, "n": 5, "k": 6}),
        ("gemm:gemm_bf16", {"m": 2, "n": 19, "k": 5}),
        ("pooling:max_pool", {"h": 5, "w": 4, "c": 3}),
        ("gemm:gemm_f32", ROLLED),
        ("reductions:row_max", {"m": 9, "n": 70}),  # plain loops
    ),
    "x86_golden_cove": (
        ("gemm:gemm_f32", ROLLED),
        ("conv2d:conv2d_f32", {"h": 9, "w": 8, "c": 5, "k": 35, "stride": 2}),
        ("gemm:gemm_bf16", {"m": 2, "n": 19, "k": 5}),
        ("gemm:gemm_bf16", {"m": 33, "n": 15, "k": 9}),
    ),
}
# 512 bits with both; what GCC makes of AVX2 is sanitized in test_threads
COMPILERS = {"x86_avx2": "clang", "x86_avx512": "clang", "x86_golden_cove": "gcc"}


def strict_machine(name: str, compiler: str, tmp_path: Path) -> Hardware:
    """The machine with this compiler; skip where it, its sanitizers or the processor lack."""
    hw = isamap.load_hardware(find_hardware(name))
    assert hw.compiler is not None
    missing = missing_features(hw.compiler)
    if missing:
        pytest.skip(f"this processor lacks {', '.join(missing)}")
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}: apt-get install {PACKAGES[compiler]}")
    empty = tmp_path / "empty.c"
    empty.write_text("int main(void) { return 0; }\n")
    command = [compiler, *STRICT, str(empty), "-o", str(tmp_path / "empty")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{compiler} has no sanitizers: {done.stderr[:200]}")
    return replace(hw, compiler=replace(hw.compiler, command=compiler))


@pytest.mark.parametrize(("name", "compiler"), COMPILERS.items())
def test_c_is_clean_and_right(name: str, compiler: str, tmp_path: Path) -> None:
    hw = strict_machine(name, compiler, tmp_path)
    kernels = [
        load_kernel(path, sizes, own)
        for text, sizes in CASES[name]
        for path, own in [find_kernel(text)]
    ]
    wishes = Wishes(time_limit_s=0.2, may_reassociate=True)
    found = [search(kernel, hw, wishes) for kernel in kernels]
    programs = [f.program for f in found]
    arrays = [whole_arrays(kernel, seed=3) for kernel in kernels]
    outputs = execute_together(tuple(zip(programs, arrays, strict=True)), hw, STRICT)
    for kernel, given, got in zip(kernels, arrays, outputs, strict=True):
        assert compare(got, interpret(kernel, given), "the kernel's meaning") is None, kernel.name


def test_what_is_packed_ahead_is_read_where_it_lies(tmp_path: Path) -> None:
    """Into panels of their own order, whose last ones are not full."""
    hw = strict_machine("x86_avx512", "gcc", tmp_path)
    wishes = Wishes(time_limit_s=0.5, may_reassociate=True)
    found = map_program("gemm:gemm_f32", hw, wishes, sizes=ROLLED, ahead=("A", "B"))
    arrays = whole_arrays(found.kernel, 3)
    got = execute_c(found.program, found.hardware, arrays, STRICT)
    assert compare(got, interpret(found.kernel, arrays), "the kernel's meaning") is None
