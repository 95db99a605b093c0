"""Every kernel file against its NumPy reference, at odd small sizes."""

from pathlib import Path

import numpy as np
import pytest

from isamap.ir import (
    interpret,
    interpret_slow,
    load_kernel,
    load_kernels,
    load_reference,
    parse_semantics,
    pretty,
    random_arrays,
)

KERNELS = Path(__file__).parents[2] / "kernels"
MATRIX = [{"m": 1, "n": 1, "k": 1}, {"m": 5, "n": 3, "k": 7}, {"m": 33, "n": 17, "k": 65}]
CONV = [
    {"n": 1, "h": 1, "w": 1, "c": 1, "r": 1, "s": 1, "stride": 1, "pad": 0},
    {"n": 2, "h": 7, "w": 5, "c": 3, "r": 3, "s": 2, "stride": 2, "pad": 1},
    {"n": 1, "h": 4, "w": 9, "c": 2, "r": 2, "s": 5, "stride": 3, "pad": 4},
    {"n": 3, "h": 14, "w": 13, "c": 11, "r": 3, "s": 3, "stride": 1, "pad": 1},
]
CASES = [
    *[("gemm.py", f"gemm{form}", s) for form in ("", "_tn", "_nt", "_tt", "_i8") for s in MATRIX],
    *[("gemv.py", "gemv", {"m": s["m"], "k": s["k"]}) for s in MATRIX],
    *[("batched_gemm.py", "batched_gemm", {"b": 3, **s}) for s in MATRIX],
    *[("conv2d.py", "conv2d", {"k": 1 + i, **s}) for i, s in enumerate(CONV)],
    *[("depthwise_conv.py", "depthwise_conv", s) for s in CONV],
    ("pointwise_conv.py", "pointwise_conv", {"n": 2, "h": 5, "w": 3, "c": 7, "k": 9}),
]


@pytest.mark.parametrize(("file", "name", "sizes"), CASES)
def test_reference_agrees_with_the_interpreter(file: str, name: str, sizes: dict[str, int]) -> None:
    kernel = load_kernel(KERNELS / file, sizes, name)
    arrays = random_arrays(kernel, seed=1)
    reference = load_reference(KERNELS / file, name, sizes)
    assert reference is not None
    expected, found = reference(**arrays), interpret(kernel, arrays)
    assert expected.keys() == found.keys()
    for key, value in found.items():
        np.testing.assert_array_equal(value, expected[key])
        assert value.dtype == expected[key].dtype
    assert parse_semantics(pretty(kernel), name) == kernel


def test_every_kernel_of_every_file_is_covered() -> None:
    present = {(f.name, name) for f in KERNELS.glob("*.py") for name in load_kernels(f)}
    core = {(file, name) for file, name, _ in CASES}
    assert core <= present
    for file, name in sorted(present - core):  # files added later: they must at least run
        kernel = load_kernel(KERNELS / file, {}, name)
        assert parse_semantics(pretty(kernel), name) == kernel


def test_plain_and_fast_interpreter_agree_on_a_strided_padded_convolution() -> None:
    kernel = load_kernel(KERNELS / "conv2d.py", {"k": 2, **CONV[2]})
    arrays = random_arrays(kernel, seed=2)
    fast, slow = interpret(kernel, arrays), interpret_slow(kernel, arrays)
    np.testing.assert_array_equal(fast["y"], slow["y"])


def test_references_are_optional(tmp_path: Path) -> None:
    file = tmp_path / "bare.py"
    file.write_text("def kernel(g): return g\n@kernel\ndef f(n=2):\n  pass\n")
    assert load_reference(file, "f") is None
