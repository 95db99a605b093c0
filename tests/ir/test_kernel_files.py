"""Every kernel file against its NumPy reference, at its defaults and at odd small sizes."""

from math import prod
from pathlib import Path

import numpy as np
import pytest

from isamap.ir import (
    Kernel,
    interpret,
    interpret_slow,
    load_kernel,
    load_kernels,
    load_reference,
    parse_semantics,
    pretty,
    random_arrays,
)
from tests.ir.kernel_sizes import ODD_SIZES, Sizes

KERNELS = Path(__file__).parents[2] / "kernels"
CASES = [
    pytest.param(file, name, sizes, id=f"{file}:{name}-{index}")
    for (file, name), odd in ODD_SIZES.items()
    for index, sizes in enumerate([{}, *odd])
]
SLOW_ITERATIONS = 4000


def draw_inputs(kernel: Kernel) -> dict[str, np.ndarray]:
    """Random arrays; every other i32 is small, or biases would drown the sums they join."""
    arrays = random_arrays(kernel, seed=1)
    for array in arrays.values():
        if array.dtype == np.int32:
            array[..., ::2] >>= 16
    return arrays


@pytest.mark.parametrize(("file", "name", "sizes"), CASES)
def test_reference_agrees_with_the_interpreter(file: str, name: str, sizes: Sizes) -> None:
    path = KERNELS / f"{file}.py"
    kernel = load_kernel(path, sizes, name)
    arrays = draw_inputs(kernel)
    reference = load_reference(path, name, sizes)
    assert reference is not None
    found = interpret(kernel, arrays)
    expected = reference(**arrays)
    assert expected.keys() == found.keys()
    for key, value in found.items():
        assert value.dtype == expected[key].dtype
        assert value.shape == expected[key].shape
        np.testing.assert_array_equal(value, expected[key])
    assert parse_semantics(pretty(kernel), name) == kernel
    if sum(prod(loop.extent for loop in s.loops) for s in kernel.statements) <= SLOW_ITERATIONS:
        slow = interpret_slow(kernel, arrays)
        for key, value in found.items():
            np.testing.assert_array_equal(value, slow[key])


def test_every_kernel_of_every_file_is_run_at_two_odd_sizes_or_more() -> None:
    present = {(f.stem, name) for f in KERNELS.glob("*.py") for name in load_kernels(f)}
    assert present == ODD_SIZES.keys()
    assert all(len(odd) >= 2 for odd in ODD_SIZES.values())


def test_plain_and_fast_interpreter_agree_on_a_strided_padded_convolution() -> None:
    sizes = {"n": 1, "h": 4, "w": 9, "c": 2, "k": 2, "r": 2, "s": 5, "stride": 3, "pad": 4}
    kernel = load_kernel(KERNELS / "conv2d.py", sizes)
    arrays = random_arrays(kernel, seed=2)
    fast, slow = interpret(kernel, arrays), interpret_slow(kernel, arrays)
    np.testing.assert_array_equal(fast["y"], slow["y"])


def test_references_are_optional(tmp_path: Path) -> None:
    file = tmp_path / "bare.py"
    file.write_text("def kernel(g): return g\n@kernel\ndef f(n=2):\n  pass\n")
    assert load_reference(file, "f") is None
