"""Sums that are cleared in a statement of their own: what they become, and that all stay equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import pretty
from isamap.rewrites import clear
from isamap.rewrites.clear import CLEAR
from tests.rewrites.keeps_meaning import QUICK, assert_same_meaning, read

LAYER = """A, B, b, C = In(i8, {m}, {k}), In(i8, {k}, {n}), In({t}, {n}), Out({t}, {m}, {n})
T = Temp({t}, {m}, {n})
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += {t}(A[i, p]) * {t}(B[p, j])
for x, y in grid({m}, {n}):
  C[x, y] = T[x, y] * b[y]
"""

STEPS = """for i in range({m}):
  for j, p in grid({n}, {k}):
    T[i, j] += {t}(A[i, p]) * {t}(B[p, j])
  for y in range({n}):
    C[i, y] = T[i, y] * b[y]
"""


@QUICK
@given(
    st.sampled_from(("i8", "i32", "f32")), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5),
    st.integers(0, 20),
)  # fmt: skip
def test_sums_keep_their_value(dtype: str, m: int, n: int, k: int, seed: int) -> None:
    kernel = read(LAYER.format(m=m, n=n, k=k, t=dtype))
    assert_same_meaning(clear(kernel, "T"), kernel, 0.0, seed)


def test_zeros_are_assigned_before_the_sum() -> None:
    found = clear(read(LAYER.format(m=2, n=3, k=4, t="i32")), "T")
    assert pretty(found).splitlines()[5:9] == [
        "for i_2, j_2 in grid(2, 3):",
        "    T[i_2, j_2] = 0",
        "for i, j, p in grid(2, 3, 4):",
        "    T[i, j] += i32(A[i, p]) * i32(B[p, j])",
    ]
    assert not list(CLEAR.sites(found)), "once is enough"


@pytest.mark.parametrize(
    ("old", "new", "buffer", "message"),
    [
        ("", "", "A", "'A' is no temporary that a statement writes"),
        ("", "", "C", "'C' is no temporary that a statement writes"),
        ("for i, j", "for d, e in grid({m}, {n}):\n  T[d, e] = 1\nfor i, j", "T", "not begin with"),
        ("T[i, j] += ", "T[i, j] *= ", "T", "not begin with a sum"),
        ("T[i, j] += ", "T[i, 0] += ", "T", "statement 0 is not all of 'T'"),
        (LAYER[LAYER.index("for i, j") :], STEPS, "T", "shares a loop"),
    ],
)
def test_what_is_cleared_is_a_sum_alone(old: str, new: str, buffer: str, message: str) -> None:
    text = LAYER.replace(old, new) if old else LAYER
    with pytest.raises(KernelError, match=message):
        clear(read(text.format(m=2, n=3, k=4, t="i32")), buffer)
