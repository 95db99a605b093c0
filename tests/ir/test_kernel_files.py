"""Every kernel file against its NumPy reference, at its defaults and at odd small sizes."""

from pathlib import Path

import numpy as np
import pytest

from isamap.ir import (
    Kernel,
    LoopKind,
    interpret,
    interpret_slow,
    kernel_loop_kinds,
    load_kernel,
    load_kernels,
    load_reference,
    parse_semantics,
    pretty,
    random_arrays,
)
from tests.ir.float_bounds import BOUNDS
from tests.ir.kernel_sizes import ODD_SIZES, Sizes

KERNELS = Path(__file__).parents[2] / "kernels"
CASES = [
    pytest.param(file, name, sizes, id=f"{file}:{name}-{index}")
    for (file, name), odd in ODD_SIZES.items()
    for index, sizes in enumerate([{}, *odd])
]
SMALL_CASES = [
    pytest.param(file, name, sizes, id=f"{file}:{name}-{index}")
    for (file, name), odd in ODD_SIZES.items()
    for index, sizes in enumerate(odd[:2], 1)
]
RECURRENT = ("rnn", "gru", "lstm")
MOST_ERROR = 2e-3
MOST_ERROR_BF16 = 0.1  # states are 1 at most, and have 8 bits
WHOLE = ("gemm", "conv2d", "separable_conv")  # whose floats are small integers: sums are exact


def draw_inputs(kernel: Kernel, file: str) -> dict[str, np.ndarray]:
    """Random arrays that tell a wrong kernel from a right one.

    Every other i32 is small, or biases would drown the sums they join; floats of recurrences are
    small, or their error bounds would grow many times with every step; those of matrix products
    and convolutions are integers, so that every order of summation gives the same bits.
    """
    arrays = random_arrays(kernel, seed=1)
    for array in arrays.values():
        if array.dtype == np.int32:
            array[..., ::2] >>= 16
        elif array.dtype.kind not in "iu" and file in RECURRENT:
            array /= array.dtype.type(16 if array.dtype == np.float32 else 64)
        elif array.dtype.kind not in "iu" and file in WHOLE:
            array[...] = np.rint(array.astype(np.float64) * 4).astype(array.dtype)
    return arrays


@pytest.mark.parametrize(("file", "name", "sizes"), CASES)
def test_reference_agrees_with_the_interpreter(file: str, name: str, sizes: Sizes) -> None:
    path = KERNELS / f"{file}.py"
    kernel = load_kernel(path, sizes, name)
    arrays = draw_inputs(kernel, file)
    reference = load_reference(path, name, sizes)
    assert reference is not None
    found, expected = interpret(kernel, arrays), reference(**arrays)
    bound = BOUNDS[name](arrays) if name in BOUNDS else 0.0
    most = MOST_ERROR_BF16 if name.endswith("_bf16") else MOST_ERROR
    assert bound < most, "inputs on which the comparison says nothing"
    assert expected.keys() == found.keys()
    for key, value in found.items():
        assert value.dtype == expected[key].dtype
        assert value.shape == expected[key].shape
        both = value.astype(np.float64), expected[key].astype(np.float64)
        np.testing.assert_allclose(*both, rtol=0, atol=bound)
    assert parse_semantics(pretty(kernel), name) == kernel


@pytest.mark.parametrize(("file", "name", "sizes"), SMALL_CASES)
def test_plain_and_fast_interpreter_agree(file: str, name: str, sizes: Sizes) -> None:
    kernel = load_kernel(KERNELS / f"{file}.py", sizes, name)
    arrays = random_arrays(kernel, seed=2)
    fast, slow = interpret(kernel, arrays), interpret_slow(kernel, arrays)
    for key, value in fast.items():
        np.testing.assert_array_equal(value, slow[key])


def test_every_kernel_of_every_file_is_run_at_two_odd_sizes_or_more() -> None:
    present = {(f.stem, name) for f in KERNELS.glob("*.py") for name in load_kernels(f)}
    assert present == ODD_SIZES.keys()
    assert all(len(odd) >= 2 for odd in ODD_SIZES.values())


@pytest.mark.parametrize(
    ("file", "name", "carried"),
    [
        ("gru", "gru", {"t_3"}),
        ("lstm", "lstm_i8", {"t_3"}),
        ("rnn", "rnn_relu_skip", {"t_2"}),
        ("prefix_sum", "prefix_sum_rows", {"i"}),
        ("prefix_sum", "prefix_sum_direct", set()),
        ("transposed_conv", "transposed_conv", set()),
    ],
)
def test_only_recurrences_carry_a_loop(file: str, name: str, carried: set[str]) -> None:
    kinds = kernel_loop_kinds(load_kernel(KERNELS / f"{file}.py", {}, name))
    assert {loop for loop, kind in kinds.items() if kind is LoopKind.SEQUENTIAL} == carried


def test_references_are_optional(tmp_path: Path) -> None:
    file = tmp_path / "bare.py"
    file.write_text("def kernel(g): return g\n@kernel\ndef f(n=2):\n  pass\n")
    assert load_reference(file, "f") is None
