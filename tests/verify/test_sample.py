"""Parts of a kernel that are computed by themselves: equal to those parts of the whole."""

from math import prod

import numpy as np
import pytest

from isamap.ir import Kernel, interpret, load_kernel, parse_semantics, random_arrays
from isamap.resources import find_kernel
from isamap.verify import samples

CUT = (
    ("gemm:gemm_f32", {"m": 9, "n": 17, "k": 6}, 400),
    ("gemm:gemm_tt", {"m": 30, "n": 30, "k": 6}, 7),  # both dimensions at once
    ("conv2d:conv2d", {"n": 7, "h": 5, "w": 4, "c": 3, "k": 9}, 750),
    ("softmax:softmax", {"m": 20, "n": 9}, 200),
    ("gru:gru", {"steps": 2, "batch": 6, "hidden": 8, "inputs": 8}, 2000),
    ("gru:gru_i8", {"steps": 2, "batch": 6, "hidden": 32, "inputs": 32}, 5000),
    ("depthwise_conv:depthwise_conv", {}, 310),
)


def work(kernel: Kernel) -> float:
    """Iterations, of which 16 that compute integers are one."""
    integers = [kernel.buffer(s.target.buffer).dtype in ("i8", "i32") for s in kernel.statements]
    counts = [prod(x.extent for x in s.loops) for s in kernel.statements]
    return sum(n / 16 if is_cheap else n for n, is_cheap in zip(counts, integers))


@pytest.mark.parametrize("text, sizes, iterations", CUT)
def test_a_sample_is_that_part_of_the_whole(
    text: str, sizes: dict[str, int], iterations: int
) -> None:
    path, name = find_kernel(text)
    kernel = load_kernel(path, sizes, name)
    arrays = random_arrays(kernel, 1)
    whole = interpret(kernel, arrays)
    found = samples(kernel, iterations, 0)
    assert found and all(sample.picks for sample in found)
    for sample in found:
        assert work(sample.kernel) <= iterations
        part = sample.take(whole)
        for n, array in interpret(sample.kernel, sample.take(arrays)).items():
            assert np.array_equal(array, part[n])
            corner = tuple(size - 1 for size in array.shape)
            assert sample.place(n, corner) == tuple(size - 1 for size in whole[n].shape)
        assert sample.of(kernel) == sample.kernel


def test_what_is_small_enough_is_its_own_sample() -> None:
    kernel = load_kernel(find_kernel("gemm")[0], {"m": 3, "n": 4, "k": 5}, "gemm")
    (sample,) = samples(kernel, 60 / 16, 0)
    assert sample.kernel == kernel and not sample.picks


ENTANGLED = {
    "a sum along the dimension": """
A, S, T = In(f32, 99), Out(f32, 99), Temp(f32, 1)
for i in range(99):
  T[0] += A[i]
for i in range(99):
  S[i] = A[i] * T[0]
""",
    "neighbours": """
A, S = In(f32, 101), Out(f32, 99)
for i, u in grid(99, 3):
  S[i] += A[i + u]
""",
    "a diagonal": """
A, S = In(f32, 99, 99), Out(f32, 99)
for i in range(99):
  S[i] = A[i, i]
for i in range(98):
  S[i + 1] = A[0, i]
""",
    "the state of a step before": """
W, S = In(f32, 99, 99), InOut(f32, 3, 99)
for t in range(2):
  for i, k in grid(99, 99):
    S[t + 1, i] += W[k, i] * S[t, k]
""",
}


@pytest.mark.parametrize("text", ENTANGLED.values(), ids=ENTANGLED)
def test_what_hangs_together_is_not_cut(text: str) -> None:
    assert samples(parse_semantics(text, "entangled"), 10, 0) == ()
