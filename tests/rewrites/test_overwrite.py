"""Results that take the place of what they were made of: what becomes of it, and that all stay
equal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import pretty
from isamap.rewrites import overwrite
from isamap.rewrites.overwrite import OVERWRITE
from tests.rewrites.keeps_meaning import QUICK, assert_same_meaning, read

CHAIN = """A, B, b, C = In({t}, {m}, {k}), In({t}, {k}, {n}), In({t}, {n}), Out({t}, {m}, {n})
V = In({t}, {m}, {n})
T, D = Temp({t}, {m}, {n}), Temp({t}, {m}, {n})
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += A[i, p] * B[p, j]
for x, y in grid({m}, {n}):
  D[x, y] = max(T[x, y], b[y]) + b[y]
for u, v in grid({m}, {n}):
  C[u, v] = D[u, v] + V[u, v]
"""


@QUICK
@given(
    st.sampled_from(("i8", "i32", "f32")), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3),
    st.sampled_from((("T",), ("D",), ("T", "D"), ("D", "T"))), st.integers(0, 20),
)  # fmt: skip
def test_results_stay(
    dtype: str, m: int, n: int, k: int, names: tuple[str, ...], seed: int
) -> None:
    kernel = found = read(CHAIN.format(m=m, n=n, k=k, t=dtype))
    for name in names:
        found = overwrite(found, name)
    assert_same_meaning(found, kernel, 0.0, seed)


def test_a_temporary_takes_the_place_of_another_one() -> None:
    found = overwrite(read(CHAIN.format(m=2, n=3, k=4, t="i32")), "T")
    assert pretty(found).splitlines()[5:10] == [
        "D = Temp(i32, 2, 3)",
        "for i, j, p in grid(2, 3, 4):",
        "    D[i, j] += A[i, p] * B[p, j]",
        "for x, y in grid(2, 3):",
        "    D[x, y] = max(D[x, y], b[y]) + b[y]",
    ]
    assert [site for site, _ in OVERWRITE.sites(found)] == ["D"]


def test_what_others_see_is_copied_last() -> None:
    """A sum of both is spelled as instructions spell it."""
    found = overwrite(read(CHAIN.format(m=2, n=3, k=4, t="i32")), "D")
    assert pretty(found).splitlines()[-4:] == [
        "for u, v in grid(2, 3):",
        "    D[u, v] += V[u, v]",
        "for u_2, v_2 in grid(2, 3):",
        "    C[u_2, v_2] = D[u_2, v_2]",
    ]
    assert not any(site == "D" for site, _ in OVERWRITE.sites(found)), "once is enough"


NEXT = "D[x, y] = max(T[x, y], b[y]) + b[y]"


@pytest.mark.parametrize(
    ("old", "new", "buffer", "message"),
    [
        ("", "", "A", "'A' is no temporary that a statement reads"),
        ("D[u, v] + V[", "D[u, v] + T[", "T", ""),
        (NEXT, "D[x, y] += T[x, y]", "T", "statement 1 does not assign one element each"),
        (NEXT, "D[x, 0] = T[x, 0]", "T", "statement 1 does not assign|holds something else"),
        (NEXT, "D[x, y] = T[x, 0]", "T", "other elements of 'T' are read"),
        (NEXT, "D[x, y] = T[x, y] + D[x, y]", "T", "'D' is read before it is written|one element"),
        ("for i, j, p", "for d, e in grid({m}, {n}):\n  D[d, e] = 1\nfor i, j, p", "T", "holds"),
        (NEXT, "C[x, y] = i32(T[x, y] > b[y])", "T", ""),
        ("D[u, v] + V[u, v]", "D[u, v]", "D", "statement 2 copies 'D'"),
        (", Temp({t}, {m}, {n})", ", Temp({t}, 5, {n})", "T", "'D' has no elements like those"),
    ],
)  # fmt: skip
def test_what_is_overwritten_has_no_further_use(
    old: str, new: str, buffer: str, message: str
) -> None:
    text = CHAIN.replace(old, new) if old else CHAIN
    kernel = read(text.format(m=2, n=3, k=4, t="i32"))
    if not message:
        assert_same_meaning(overwrite(kernel, buffer), kernel, 0.0)
        return
    with pytest.raises(KernelError, match=message):
        overwrite(kernel, buffer)
