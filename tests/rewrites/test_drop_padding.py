"""Iterations that add zeros for sure are left out, and no others."""

from pathlib import Path

import pytest
from hypothesis import given

import isamap
from isamap.compile import build_kernel
from isamap.errors import KernelError
from isamap.ir import Kernel
from isamap.rewrites import drop_padding
from isamap.rewrites.drop_padding import DROP_PADDING
from tests.rewrites.keeps_meaning import QUICK, assert_all_sites_keep_meaning, assert_same_meaning
from tests.rewrites.keeps_meaning import read as read_kernel
from tests.strategies import kernels

HEAD = "x, w, y = In(i8, {x}), In(i8, 3), InOut(i32, {y})\n"


def read(x: int, y: int, body: str) -> Kernel:
    return read_kernel(HEAD.format(x=x, y=y) + body)


@QUICK
@given(kernels(dtypes=("i8", "u8", "i16", "i32")))
def test_drop_padding_keeps_meaning(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(DROP_PADDING, kernel)


@pytest.mark.parametrize("x", [1, 2, 5, 7])
@pytest.mark.parametrize("stride", [1, 2, 3, -1, -2])
@pytest.mark.parametrize("pad", [-3, 0, 1, 4])
@pytest.mark.parametrize("taps", [1, 2, 3])
def test_windows_keep_their_meaning_and_every_end_counts(
    x: int, stride: int, pad: int, taps: int
) -> None:
    index = f"{stride} * p + u - {pad}"
    kernel = read(
        x, 9, f"for p, u in grid(9, {taps}):\n  y[p] += i32(x.at({index}, pad=0)) * i32(w[u])"
    )
    alive = [
        (p, u) for p in range(9) for u in range(taps) if 0 <= stride * p + u - pad < x
    ]  # by counting
    if not alive:
        with pytest.raises(KernelError, match="or all do"):
            drop_padding(kernel, 0)
        return
    wanted = [max(one[n] for one in alive) - min(one[n] for one in alive) + 1 for n in (0, 1)]
    if wanted == [9, taps]:
        with pytest.raises(KernelError, match="no iteration of statement 0 adds zeros alone"):
            drop_padding(kernel, 0)
        return
    found = drop_padding(kernel, 0)
    assert [loop.extent for loop in found.statements[0].loops] == wanted
    assert_same_meaning(found, kernel)


def test_a_layer_of_one_tap_reads_no_padding() -> None:
    found = drop_padding(
        read(7, 7, "for p in range(7):\n  y[p] += i32(x.at(2 * p - 3, pad=0)) * i32(w[0])"), 0
    )
    assert found == read(7, 7, "for p in range(3):\n  y[p + 2] += i32(x[2 * p + 1]) * i32(w[0])")


@pytest.mark.parametrize(
    "body",
    [
        "for p in range(7):\n  y[p] = i32(x.at(2 * p - 3, pad=0)) * i32(w[0])",
        "for p in range(7):\n  y[p] = max(y[p], i32(x.at(2 * p - 3, pad=0)))",
        "for p in range(7):\n  y[p] += i32(x.at(2 * p - 3, pad=1)) * i32(w[0])",
        "for p in range(7):\n  y[p] += i32(x.at(2 * p - 3, pad=0)) + i32(w[0])",
        "for p in range(7):\n  y[p] += (i32(x.at(2 * p - 3, pad=0)) - 5) * i32(w[0])",
        "for p in range(7):\n  y[p] += i32(x.at(p - 3, pad=0)) * i32(w[0])\n  y[p] += 1",
    ],
)
def test_what_may_count_stays(body: str) -> None:
    for position in range(len(read(7, 7, body).statements)):
        with pytest.raises(KernelError, match="adds zeros alone, or all do"):
            drop_padding(read(7, 7, body), position)


LAYER = """
from isamap.lang import In, Out, Temp, grid, i8, i32, relu, sat_i8, kernel

@kernel
def layer(c=20, k=20):
    x, w, bias, y = In(i8, 7, 7, c), In(i8, c, k), In(i32, k), Out(i8, 7, 7, k)
    T = Temp(i32, 7, 7, k)
    for p, q, o, i in grid(7, 7, k, c):
        T[p, q, o] += i32(x.at(2 * p - 3, 2 * q - 3, i, pad=0)) * i32(w[i, o])
    for p, q, o in grid(7, 7, k):
        y[p, q, o] = sat_i8(relu(T[p, q, o] + bias[o]))
"""


@pytest.mark.parametrize("machine", ["gemmini", "vta"])
def test_what_a_sum_leaves_out_is_zero_for_what_follows(machine: str, tmp_path: Path) -> None:
    file = tmp_path / "layer.py"
    file.write_text(LAYER)
    found = isamap.map(file, machine, verify="full")
    assert [loop.extent for loop in found.kernel.statements[0].loops] == [3, 3, 20, 20]
    assert found.verification.is_verified


@pytest.mark.parametrize("name, may_reassociate, height", [
    ("conv2d", False, 3), ("conv2d_f32", False, 7), ("conv2d_f32", True, 3),
])  # fmt: skip
def test_zero_times_infinity_goes_with_permission_only(
    name: str, may_reassociate: bool, height: int
) -> None:
    sizes = {"h": 7, "w": 7, "r": 1, "s": 1, "stride": 2, "pad": 3}
    kernel, _ = build_kernel(f"conv2d:{name}", sizes, None, may_reassociate)
    assert kernel.statements[0].extent("p") == height
