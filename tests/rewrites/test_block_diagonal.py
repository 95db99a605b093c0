"""Groups as one dense product."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import Kernel, load_kernel, parse_semantics, pretty
from isamap.rewrites import block_diagonal
from isamap.rewrites.block_diagonal import BLOCK_DIAGONAL
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
    site_texts,
)
from tests.strategies import kernels

GROUPED = """
x, w, y = In(i8, 3, 5, 2), In(i8, 3, 2, 4), InOut(i32, 3, 5, 4)
for g, i, o, c in grid(3, 5, 4, 2):
  y[g, i, o] += i32(x[g, i, c]) * i32(w[g, c, o])
"""


@st.composite
def grouped(draw: st.DrawFn) -> Kernel:
    """A product of two or three operands; loop g moves the target and the first two."""
    extents = {name: draw(st.integers(2, 3)) for name in "gabc"}
    dtype = draw(st.sampled_from(["i8", "i16", "i32", "u8"]))
    target = ["g", *draw(st.lists(st.sampled_from("ab"), unique=True))]
    lines, factors = [], []
    for number in range(draw(st.integers(2, 3))):
        used = draw(st.lists(st.sampled_from("abc"), unique=True, max_size=2))
        used += ["g"] if number < 2 else draw(st.sampled_from([[], ["g"]]))
        used = draw(st.permutations(used))
        shape = ", ".join(["i8", *(str(extents[name]) for name in used)])
        lines.append(f"A{number} = In({shape})")
        factors.append(f"{dtype}(A{number}[{', '.join(used) or '()'}])")
    order = draw(st.permutations("gabc"))
    shape = ", ".join([dtype, *(str(extents[name]) for name in target)])
    loops = f"for {', '.join(order)} in grid({', '.join(str(extents[name]) for name in order)}):"
    body = f"  y[{', '.join(target)}] += {' * '.join(factors)}"
    return read("\n".join([*lines, f"y = InOut({shape})", loops, body]))


@QUICK
@given(grouped(), st.integers(0, 3))
def test_block_diagonal_keeps_every_grouped_product(kernel: Kernel, seed: int) -> None:
    assert assert_all_sites_keep_meaning(BLOCK_DIAGONAL, kernel, seed=seed) >= 1


@QUICK
@given(kernels(dtypes=("i8", "u8", "i32")))
def test_block_diagonal_keeps_any_integer_kernel(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(BLOCK_DIAGONAL, kernel)


@pytest.mark.parametrize("stride, c", [(1, 3), (2, 5)])
def test_depthwise_convolution_becomes_a_product_over_channels(stride: int, c: int) -> None:
    kernel = load_kernel("kernels/depthwise_conv.py", {"h": 5, "w": 7, "c": c, "stride": stride})
    assert site_texts(BLOCK_DIAGONAL, kernel) == ["statement 0: weights along i"]
    dense = block_diagonal(kernel, 0, "i", "weights")
    assert dense.buffer("weights_diagonal").shape == (c, 3, 3, c)
    assert_same_meaning(dense, kernel)
    assert site_texts(BLOCK_DIAGONAL, dense) == []


def test_groups_and_their_channels_lie_side_by_side() -> None:
    text = pretty(block_diagonal(read(GROUPED), 0, "g", "w"))
    assert "  w_diagonal[g_2, c_2, g_2, o_2] = w[g_2, c_2, o_2]" in text
    assert "for g, i, o, g_in, c in grid(3, 5, 4, 3, 2):" in text
    assert "  y[g, i, o] += i32(x[g_in, i, c]) * i32(w_diagonal[g_in, c, g, o])" in text
    other = block_diagonal(read(GROUPED), 0, "g", "x")
    assert_same_meaning(other, read(GROUPED))


def test_finite_floats_keep_every_bit() -> None:
    text = GROUPED.replace("i32(x[g, i, c]) * i32(w[g, c, o])", "x[g, i, c] * w[g, c, o]")
    kernel = read(text.replace("i8", "f32").replace("i32", "f32"))
    assert_same_meaning(block_diagonal(kernel, 0, "g", "w"), kernel)


def test_blocks_beside_the_diagonal_are_noticed() -> None:
    text = pretty(block_diagonal(read(GROUPED), 0, "g", "w"))
    wrong = text.replace("w_diagonal[g_2, c_2, g_2, o_2]", "w_diagonal[-g_2 + 2, c_2, g_2, o_2]")
    assert wrong != text
    with pytest.raises(AssertionError):
        assert_same_meaning(parse_semantics(wrong, "wrong"), read(GROUPED))


@pytest.mark.parametrize(
    "old, new, loop, message",
    [
        ("y[g, i, o]", "y[0, i, o]", "g", "does not move the target"),
        ("", "", "o", "the product is dense already"),
        ("* i32(w", "+ i32(w", "g", "as a factor"),
        ("+= ", "= ", "g", "updates by '='"),
        ("* i32(w[g, c, o])", "* sat_i32(i32(w[g, c, o]) + 1)", "g", "as a factor"),
        ("* i32(w[g, c, o])", "* i32(w[g, c, o]) * i32(w[g, 0, o])", "g", "must be read once"),
        ("* i32(w[g, c, o])", "* i32(w[g, c, o]) * y[g, i, o]", "g", "reads its own target"),
    ],
)
def test_block_diagonal_refuses(old: str, new: str, loop: str, message: str) -> None:
    assert old in GROUPED
    with pytest.raises(KernelError, match=message):
        block_diagonal(read(GROUPED.replace(old, new) if old else GROUPED), 0, loop, "w")


def test_a_statement_that_shares_its_loops_is_left_alone() -> None:
    text = GROUPED + "  y[g, i, o] = y[g, i, o] ^ 1\n"
    with pytest.raises(KernelError, match="shares a loop"):
        block_diagonal(read(text), 0, "g", "w")
