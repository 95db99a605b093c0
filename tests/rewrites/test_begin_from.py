"""Sums that begin from what is added to them: what they become, and that integers stay equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import pretty
from isamap.rewrites import begin_from
from tests.rewrites.keeps_meaning import QUICK, assert_same_meaning, read

LAYER = """A, B, b, C = In(i8, {m}, {k}), In(i8, {k}, {n}), In({t}, {n}), Out({t}, {m}, {n})
T = Temp({t}, {m}, {n})
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += {t}(A[i, p]) * {t}(B[p, j])
for x, y in grid({m}, {n}):
  C[x, y] = max(T[x, y] + b[y], 3) * 2
"""
FORMS = (
    LAYER,
    LAYER.replace("T[x, y] + b[y]", "b[y] * b[y] + T[x, y] - 1"),
    LAYER.replace("T[x, y] + b[y]", "T[x, y] + 5"),
    LAYER.replace("T[x, y]", "T[y, x]").replace("Temp({t}, {m}, {n})", "Temp({t}, {n}, {m})")
    .replace("T[i, j]", "T[j, i]"),
)  # fmt: skip


@QUICK
@given(
    st.sampled_from(FORMS), st.sampled_from(("i8", "i32", "f32")), st.integers(1, 4),
    st.integers(1, 4), st.integers(1, 5), st.integers(0, 20),
)  # fmt: skip
def test_sums_keep_their_value(form: str, dtype: str, m: int, n: int, k: int, seed: int) -> None:
    kernel = read(form.format(m=m, n=n, k=k, t=dtype))
    # at most 6 terms of at most 2**14, added in either order
    assert_same_meaning(begin_from(kernel, 0), kernel, 12 * 2.0**14 * 2.0**-23, seed)


def test_the_bias_is_assigned_before_the_sum() -> None:
    text = pretty(begin_from(read(LAYER.format(m=2, n=3, k=4, t="i32")), 0))
    assert text.splitlines()[5:] == [
        "for x_2, y_2 in grid(2, 3):",
        "    T[x_2, y_2] = b[y_2]",
        "for i, j, p in grid(2, 3, 4):",
        "    T[i, j] += i32(A[i, p]) * i32(B[p, j])",
        "for x, y in grid(2, 3):",
        "    C[x, y] = max(T[x, y], 3) * 2",
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("T[x, y] + b[y]", "T[x, y] * b[y]", "nothing is added"),
        ("T[x, y] + b[y]", "T[x, y] + b[y] + T[x, 0]", "not read once"),
        ("T[x, y] + b[y]", "T[x, 0] + b[y]", "not read element by element"),
        ("T = Temp({t}, {m}, {n})\n", "T = InOut({t}, {m}, {n})\n", "not all of a TEMP"),
        ("for i, j", "for d, e in grid({m}, {n}):\n  T[d, e] = 1\nfor i, j", "1 is not all"),
        ("for x, y", "for d, e in grid({m}, {n}):\n  T[d, e] += 1\nfor x, y", "0 is not all"),
        ("b[y], 3", "C[x, y], 3", "not known before"),
    ],
)
def test_what_begins_elsewhere_stays(old: str, new: str, message: str) -> None:
    text = LAYER.replace(old, new)
    assert text != LAYER
    with pytest.raises(KernelError, match=message):
        begin_from(read(text.format(m=2, n=3, k=4, t="i32")), int("1 is" in message))
