"""Padding that a recurrence reads becomes elements of a larger temporary."""

import numpy as np
import pytest

import isamap
from isamap.errors import KernelError
from isamap.ir import Kernel, interpret, pretty
from isamap.rewrites import border
from isamap.rewrites.border import BORDER
from tests.rewrites.keeps_meaning import assert_all_sites_keep_meaning, read, site_texts

STATE = """
x, y = In({dtype}, 9), {role}({dtype}, 9)
for i in range(9):
  y[i] = x[i] + y.at(i - 2, pad={pad}) * y.at(i - 1, pad={pad})
"""
GRID = """
S, H = In(i32, 4, 5), Out(i32, 4, 5)
for i, j in grid(4, 5):
  H[i, j] = max(H.at(i - 1, j - 1, pad=3) + S[i, j], H.at(i, j - 1, pad=3)) // 2
"""
INPUT = """
x, y = In(f32, 8), InOut(f32, 9)
for i in range(8):
  y[i + 1] = y[i] * 0.5 + x.at(i - 1, pad=0) + x.at(i + 3, pad=0) + x[i]
"""
CASES = {
    "zeros before": (STATE.format(dtype="i32", role="Out", pad=0), ["y"]),
    "floats": (STATE.format(dtype="f32", role="Out", pad=0), ["y"]),
    "other padding": (STATE.format(dtype="i8", role="Out", pad=-3), ["y"]),
    "what was there": (STATE.format(dtype="i32", role="InOut", pad=1), ["y"]),
    "a temporary": (
        STATE.format(dtype="i32", role="Temp", pad=2).replace("9)\n", "9)\nD = Out(i32, 9)\n", 1)
        + "for j in range(9):\n  D[j] = y[j]\n",
        ["y"],
    ),
    "two dimensions": (GRID, ["H"]),
    "an input": (INPUT, ["x"]),
}


@pytest.mark.parametrize(("text", "sites"), CASES.values(), ids=CASES)
def test_a_border_changes_no_bit(text: str, sites: list[str]) -> None:
    kernel = read(text)
    assert site_texts(BORDER, kernel) == sites
    assert assert_all_sites_keep_meaning(BORDER, kernel) == 1
    assert "pad=" not in pretty(border(kernel, sites[0]))


def test_padding_of_minus_zero_keeps_its_sign() -> None:
    text = "x, y = In(f32, 3), Out(f32, 3)\n"
    text += "for i in range(3):\n  y[i] = max(x[i], y.at(i - 1, pad={}))"
    kernel = read(text.format("-0.0"))
    arrays = {"x": np.full(3, -1, np.float32)}
    assert np.signbit(interpret(border(kernel, "y"), arrays)["y"]).all()
    assert not np.signbit(interpret(border(read(text.format("0.0")), "y"), arrays)["y"]).any()


@pytest.mark.parametrize(
    ("text", "buffer"),
    [
        ("x, y = In(i8, 9), Out(i8, 9)\nfor i in range(9):\n  y[i] = x.at(i - 1, pad=0)", "x"),
        (STATE.format(dtype="i32", role="Out", pad=0).replace("pad=0", "pad=1", 1), "y"),
        (STATE.format(dtype="i32", role="Out", pad=0), "x"),
    ],
)
def test_other_reads_keep_their_padding(text: str, buffer: str) -> None:
    with pytest.raises(KernelError, match="along a loop in order"):
        border(read(text), buffer)


@pytest.mark.parametrize("text", [CASES["floats"][0], GRID, INPUT])
def test_recurrences_from_padding_run_on_the_host(text: str) -> None:
    kernel: Kernel = read(text)
    found = isamap.map(kernel, "gemmini", time_limit_s=5)
    assert isinstance(found, isamap.PlanResult)
    assert [step.rewrite for step in found.plan.steps] == ["border"]
    assert found.verification.is_verified


def test_several_recurrences_run_on_the_host() -> None:
    """More of them than a search takes steps."""
    one = "y{0} = Out(i32, 3, 4)\nfor t{0}, i{0} in grid(3, 4):\n"
    one += "  y{0}[t{0}, i{0}] = x[i{0}] + y{0}.at(t{0} - 1, i{0}, pad=1)\n"
    kernel = read("x = In(i32, 4)\n" + "".join(map(one.format, range(4))))
    assert site_texts(BORDER, kernel) == ["all buffers", "y0", "y1", "y2", "y3"]
    assert assert_all_sites_keep_meaning(BORDER, kernel) == 5
    found = isamap.map(kernel, "gemmini", time_limit_s=5)
    assert found.verification.is_verified


def test_forms_that_nothing_can_run_do_not_come_before_those_with_a_border() -> None:
    kernel = read(
        "x, y = In(i32, 4, 9), Out(i32, 4, 9)\n"
        "A, B, C = In(u8, 4, 8), In(u8, 8, 5), Out(i32, 4, 5)\n"
        "for t, i in grid(4, 9):\n  y[t, i] = max(x[t, i], y.at(t - 2, i - 1, pad=1))\n"
        "for i, j, k in grid(4, 5, 8):\n  C[i, j] += (i32(A[i, k]) - 3) * (i32(B[k, j]) - 7)\n"
    )
    assert isamap.map(kernel, "x86_avx2", time_limit_s=5).verification.is_verified


def test_what_turns_out_to_have_no_schedule_does_not_come_before_a_border() -> None:
    """Products along the padded loop match an instruction, whose operands nothing brings there."""
    kernel = read(
        "A, B, C = In(f32, 11, 6), In(f32, 6, 3), InOut(f32, 11, 3)\n"
        "a, b, W, y = In(i4, 6), In(i4, 6), In(f32, 9, 9), InOut(f32, 2, 9)\n"
        "for i, j, p in grid(11, 3, 6):\n"
        "  C[i, j] += (A[i, p] + A[i, p]) * relu(B[p, j]) * (f32(a[p]) * f32(b[p]))\n"
        "for t in range(2):\n"
        "  for i in range(9):\n    y[t, i] = y[t, i] * 0.5\n"
        "  for i, p in grid(9, 9):\n    y[t, i] += W[i, p] * y.at(t - 1, p, pad=0)\n"
    )
    assert isamap.map(kernel, "outer", time_limit_s=5).verification.is_verified
