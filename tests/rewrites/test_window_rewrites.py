"""Windows: bands (`toeplitz`) and phases (`space_to_depth`)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import Kernel, load_kernel, parse_semantics, pretty
from isamap.rewrites import space_to_depth, toeplitz
from isamap.rewrites.space_to_depth import SPACE_TO_DEPTH
from isamap.rewrites.toeplitz import TOEPLITZ
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
    site_texts,
)
from tests.strategies import kernels

# declarations and statement; {x} is the sliding index
FORMS = (
    ("x, w, y = In(i8, {n}), In(i8, {t}), InOut(i32, {p})", "y[p] += i32(x{x}) * i32(w[u])"),
    (
        "x, w, y = In(i8, {n}, 3), In(i8, {t}, 3), InOut(i32, {p}, 3)",
        "y[p, c] += i32(x{x}) * i32(w[u, c])",
    ),
    (
        "x, w, y = In(i16, {n}, 3), In(i8, 2, {t}, 3), InOut(i16, {p}, 3)",
        "y[p, c] += -i16(w[o, u, c]) * x{x}",
    ),
    (
        "x, w, y = In(u8, {n}), In(i8, {t}, {p}), InOut(i8, {p}, 3)",
        "y[p, c] += i8(sat_i8(i32(x{x}) * i32(w[u, p])))",
    ),
    (
        "x, w, y = In(i8, {n}), In(i8, 5), InOut(i32, {p})",
        "y[p] += i32(relu(x{x})) * i32(w[4 - u]) * i32(x[0])",
    ),
)
SMALL = """
x, w, y = In(i8, 9), In(i8, 3), InOut(i32, 4)
for p, u in grid(4, 3):
  y[p] += i32(x.at(2*p + u - 1, pad=0)) * i32(w[u])
"""


@st.composite
def convolutions(
    draw: st.DrawFn, steps: tuple[int, ...] = (1, 2, 3), pads: tuple[int, ...] = (0,)
) -> Kernel:
    """A convolution with stride, dilation and padding; the window meets the image."""
    positions, taps = draw(st.integers(2, 5)), draw(st.sampled_from([3, 2, 4, 5]))
    stride, step = draw(st.sampled_from((*steps, 4))), draw(st.sampled_from(steps))
    size, pad = draw(st.integers(1, 9)), draw(st.sampled_from(pads))
    ends = (stride * (positions - 1), step * (taps - 1))
    low, high = sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)
    offset = draw(st.integers(-high, size - 1 - low))
    declare, statement = draw(st.sampled_from(FORMS))
    index = f"{stride}*p + {step}*u + {offset}"
    rank = ", c" if "In(i8, {n}, 3)" in declare or "In(i16, {n}, 3)" in declare else ""
    text = f"""
{declare.format(n=size, t=taps, p=positions)}
for p, c, u, o in grid({positions}, 3, {taps}, 2):
  {statement.format(x=f".at({index}{rank}, pad={pad})")}
"""
    return read(text)


@QUICK
@given(convolutions(steps=(1, 2, 3, -1, -2)), st.integers(0, 3))
def test_band_keeps_every_convolution(kernel: Kernel, seed: int) -> None:
    assert assert_all_sites_keep_meaning(TOEPLITZ, kernel, seed=seed) == 1


@QUICK
@given(convolutions(pads=(0, 3)), st.integers(0, 3))
def test_phases_keep_every_strided_convolution(kernel: Kernel, seed: int) -> None:
    is_strided = any(f"{stride}*p" in pretty(kernel) for stride in (2, 3, 4))
    assert assert_all_sites_keep_meaning(SPACE_TO_DEPTH, kernel, seed=seed) == int(is_strided)


@QUICK
@given(kernels(dtypes=("i8", "u8", "i32")))
def test_window_rewrites_keep_any_integer_kernel(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(TOEPLITZ, kernel)
    assert_all_sites_keep_meaning(SPACE_TO_DEPTH, kernel)


@pytest.mark.parametrize("file", ["depthwise_conv", "conv2d"])
@pytest.mark.parametrize("stride, pad, h", [(1, 1, 5), (2, 1, 7), (3, 2, 8), (2, 0, 6)])
def test_both_dimensions_of_an_image_in_any_order(file: str, stride: int, pad: int, h: int) -> None:
    sizes = {"h": h, "w": h - 1, "c": 3, "r": 3, "s": 2, "stride": stride, "pad": pad}
    kernel = load_kernel(f"kernels/{file}.py", sizes)
    assert len(site_texts(TOEPLITZ, kernel)) == 2
    assert_same_meaning(toeplitz(toeplitz(kernel, 0, "p", "u"), 1, "q", "v"), kernel)
    if stride > 1:
        assert len(site_texts(SPACE_TO_DEPTH, kernel)) == 2
        phased = space_to_depth(kernel, 0, "q", "v")
        last = len(phased.statements) - 1
        both = space_to_depth(phased, last, "p", "u")
        assert f"{stride}*p + " not in pretty(both).splitlines()[-1]
        assert_same_meaning(both, kernel)
        assert_same_meaning(toeplitz(phased, last, "p", "u"), kernel)
        assert_same_meaning(toeplitz(both, len(both.statements) - 1, "q", "v_o"), kernel)


def test_finite_floats_keep_every_bit_under_a_rising_window() -> None:
    product = ("i32(x.at(2*p + u - 1, pad=0)) * i32(w[u])", "x.at(2*p + u - 1, pad=0) * w[u]")
    kernel = read(SMALL.replace(*product).replace("i8", "f32").replace("i32", "f32"))
    assert_same_meaning(toeplitz(kernel, 0, "p", "u"), kernel)
    assert_same_meaning(space_to_depth(kernel, 0, "p", "u"), kernel)


def test_band_reads_no_padding_and_phases_have_stride_one() -> None:
    band = pretty(toeplitz(read(SMALL), 0, "p", "u"))
    assert "w_band = Temp(i8, 9, 4)" in band
    assert "  y[p] += i32(x[i]) * i32(w_band[i + 1, p])" in band
    phases = pretty(space_to_depth(read(SMALL), 0, "p", "u"))
    assert "  x_phases[P, f] = x.at(2*P + f - 1, pad=0)" in phases
    assert "y[p] += i32(x_phases[p + u_o, u_f]) * i32(w_phases[u_o, u_f])" in phases


def test_a_band_in_the_wrong_place_and_a_missing_tap_are_noticed() -> None:
    kernel = read(SMALL)
    for right, old, new in (
        (toeplitz(kernel, 0, "p", "u"), "w_band[i + 1, p])", "w_band[i, p])"),
        (space_to_depth(kernel, 0, "p", "u"), "x.at(2*P + f - 1", "x.at(2*P + f"),
        (space_to_depth(kernel, 0, "p", "u"), "w_phases[1, u_f_3] = w[u_f_3 + 2]", ""),
    ):
        assert old in pretty(right)
        lines = pretty(right).replace(old, new).splitlines()
        kept = (
            [line for line in lines if line.strip() and "u_f_3 in" not in line]
            if not new
            else lines
        )
        wrong = parse_semantics("\n".join(kept), "wrong")
        with pytest.raises(AssertionError):
            assert_same_meaning(wrong, kernel)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("pad=0", "pad=1", "must be a factor, and zero outside"),
        (
            "i32(x.at(2*p + u - 1, pad=0)) * i32(w[u])",
            "max(i32(x[2*p + u]), i32(w[u]))",
            "no factor",
        ),
        ("y[p] +=", "y[0] +=", "must move with 'p'"),
        ("+= ", "= ", "updates by '=', not by '\\+='"),
        ("- 1", "- 20", "meets only padding"),
        ("2*p + u - 1", "2*p - 1", "no convolution"),
        ("i32(w[u])", "i32(w[u]) * y[3 - p]", "reads its own target"),
        ("* i32(w[u])", "* i32(w[u]) * i32(x[u])", "must move two operands"),
    ],
)
def test_band_refuses_what_is_no_windowed_product(old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(KernelError, match=message):
        toeplitz(read(SMALL.replace(old, new)), 0, "p", "u")


def test_phases_refuse_a_window_without_stride() -> None:
    with pytest.raises(KernelError, match="with stride 1 along 'p' and 1 along 'u'"):
        space_to_depth(read(SMALL.replace("2*p", "p")), 0, "p", "u")
    with pytest.raises(KernelError, match="has no loop 'q'"):
        space_to_depth(read(SMALL), 0, "q", "u")
