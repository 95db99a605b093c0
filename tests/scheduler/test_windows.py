"""Instructions that run a small sliding window themselves: `y[q, k] += x[q + s, c] * w[s, c, k]`.

In: an engine with nothing else, small kernels. Out: failures. Not its job: windows that the program
walks (`test_oracle`).
"""

import random
import re
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from isamap.costmodels import Tiling, bound_cycles, count_work
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import Covering, coverings
from isamap.scheduler import lower, solve
from isamap.scheduler.legality import breaches, is_legal
from isamap.scheduler.options import stay_choices, stays_of
from tests.scheduler.cases import ROOT, kernel, kernel_file, machine
from tests.scheduler.execution import assert_computes
from tests.scheduler.tilings import random_legal_tiling

Sizes = tuple[tuple[str, int], ...]
HEAD = "from isamap.lang import *\n\n\n@kernel\n"
# along one dimension, with channels; and in two dimensions, without
ROW = HEAD + (
    "def subject(w=6, c=3, k=5, s=3, stride=1):\n"
    "    x, weights = In(i8, w * stride, c), In(i8, s, c, k)\n"
    "    y = InOut(i32, w, k)\n"
    "    for q, o, v, i in grid(w, k, s, c):\n"
    "        y[q, o] += i32(x.at(q * stride + v - 1, i, pad=0)) * i32(weights[v, i, o])\n"
)
PLANE = HEAD + (
    "def subject(h=6, w=5, k=3, r=3, s=2):\n"
    "    x, weights = In(i8, h + r - 1, w + s - 1), In(i8, r, s, k)\n"
    "    y = InOut(i32, h, w, k)\n"
    "    for p, q, o, u, v in grid(h, w, k, r, s):\n"
    "        y[p, q, o] += i32(x[p + u, q + v]) * i32(weights[u, v, o])\n"
)
STEP = "x[q + s, c]"
STEPS = "x[2 * q + s, c]"


@cache
def engine(folder: Path, index: str = STEP) -> Hardware:
    """The convolution engine with `row` alone; `index`: how that reads its input."""
    text = (ROOT / "hw_specs" / "conv_engine.yaml").read_text()
    text = re.sub(r"\n  stripe:.*?(?=\n  row:)", "", text, flags=re.DOTALL)
    assert "stripe:" not in text.partition("units:")[2]
    if index != STEP:
        text = text.replace("stripe + taps - 1, channels)", "2 * stripe + taps - 2, channels)")
    file = folder / "conv_engine.yaml"
    file.write_text(text.replace(STEP, index))
    return load_hardware(file)


def groups(covering: Covering) -> dict[str, tuple[str, ...]]:
    """Kernel loops per instruction loop."""
    return dict(covering.binding)


def written(text: str, folder: Path, **sizes: int) -> Kernel:
    """A kernel from source text."""
    file = folder / "subject.py"
    file.write_text(text)
    return load_kernel(file, sizes, "subject")


def runs_window(covering: Covering) -> bool:
    """Do both loops of the instruction's window run over more than one iteration?"""
    window = (groups(covering)["q"], groups(covering)["s"])
    return all(any(covering.loop(name).block > 1 for name in group) for group in window)


def assert_all_right(subject: Kernel, found: list[Covering], hw: Hardware) -> None:
    """Every covering computes the kernel, no faster than its bound."""
    for covering in found:
        work = count_work(covering, hw)
        solution = solve(covering, work, hw, time_limit_s=2)
        assert solution.tiling is not None
        program = lower(covering, solution.tiling, hw)
        assert program is not None
        timing = assert_computes(subject, program, hw, str(covering.binding))
        assert bound_cycles(covering, work, hw)[0] <= timing.cycles


@pytest.mark.parametrize(
    "sizes", [{}, {"w": 37, "s": 5, "k": 18}, {"w": 33, "s": 9, "c": 67, "k": 1}], ids=str
)
def test_positions_of_a_filter_run_inside_the_instruction(
    sizes: dict[str, int], tmp_path: Path
) -> None:
    hw, subject = engine(tmp_path), written(ROW, tmp_path, **sizes)
    found = [c for c in coverings(subject, hw, []) if runs_window(c)]
    assert {(groups(c)["q"], groups(c)["s"]) for c in found} == {(("q",), ("v",))}
    assert_all_right(subject, found[:2], hw)


def test_rows_are_no_columns(tmp_path: Path) -> None:
    hw, subject = engine(tmp_path), written(PLANE, tmp_path)
    found = [c for c in coverings(subject, hw, []) if runs_window(c)]
    pairs = {(groups(c)["q"], groups(c)["s"]): c for c in found}
    assert set(pairs) == {(("p",), ("u",)), (("q",), ("v",))}
    assert_all_right(subject, list(pairs.values()), hw)


@pytest.mark.parametrize("seed", range(6))
def test_any_legal_tiling_of_a_window_computes_the_kernel(seed: int, tmp_path: Path) -> None:
    """Nine positions of the filter in calls of at most four: the last one is shorter."""
    generator = random.Random(seed)
    hw, subject = engine(tmp_path), written(ROW, tmp_path, w=70, s=9, c=3, k=20)
    covering = next(c for c in coverings(subject, hw, []) if runs_window(c))
    tiling = random_legal_tiling(covering, hw, generator, any_tile=True)
    assert tiling is not None
    program = lower(covering, tiling, hw)
    assert program is not None
    assert_computes(subject, program, hw, str(tiling), compiled=True)


def test_both_emulators_run_windows(tmp_path: Path) -> None:
    hw, subject = engine(tmp_path), written(ROW, tmp_path, w=40, s=5)
    covering = next(c for c in coverings(subject, hw, []) if runs_window(c))
    tiling = solve(covering, count_work(covering, hw), hw, time_limit_s=2).tiling
    assert tiling is not None
    program = lower(covering, tiling, hw)
    assert program is not None
    slow = assert_computes(subject, program, hw, "in Python")
    assert slow == assert_computes(subject, program, hw, "compiled", compiled=True)


def test_a_step_that_the_instruction_lacks_leaves_its_window_at_one(tmp_path: Path) -> None:
    hw, subject = engine(tmp_path), written(ROW, tmp_path, stride=2)
    found = list(coverings(subject, hw, []))
    assert found and not any(runs_window(c) for c in found)
    assert_all_right(subject, found[:1], hw)


def test_an_instruction_with_a_step_of_its_own(tmp_path: Path) -> None:
    hw = engine(tmp_path, STEPS)
    for stride, expected in ((2, True), (1, False)):
        subject = written(ROW, tmp_path, stride=stride)
        found = list(coverings(subject, hw, []))
        inside = [c for c in found if runs_window(c)]
        assert bool(inside) is expected
        assert_all_right(subject, (inside or found)[:1], hw)


@pytest.mark.parametrize(
    ("file", "name", "sizes"),
    [
        ("gemm", "gemm", (("m", 35), ("n", 5), ("k", 67))),
        ("gemm", "gemm_tt", (("m", 5), ("n", 18), ("k", 17))),
        ("gemv", "gemv", (("m", 35), ("k", 21))),
        ("batched_gemm", "batched_gemm", (("b", 3), ("m", 7), ("n", 18), ("k", 5))),
        ("depthwise_conv", "depthwise_conv", (("h", 3), ("w", 4), ("c", 3))),
    ],
)
def test_an_engine_for_windows_alone_computes_everything_else(
    file: str, name: str, sizes: Sizes, tmp_path: Path
) -> None:
    hw, subject = engine(tmp_path), kernel(file, name, sizes)
    found = list(islice(coverings(subject, hw, []), 2))
    assert found
    assert_all_right(subject, found, hw)


def test_why_two_loops_cannot_move_one_dimension(tmp_path: Path) -> None:
    hw, mismatches = engine(tmp_path), []
    gemm = load_kernel(kernel_file("gemm"), {"m": 8, "n": 8, "k": 8}, "gemm")
    assert not any(runs_window(c) for c in coverings(gemm, hw, mismatches))
    reasons = {m.reason for m in mismatches}
    assert "operand x (A): i and p move x along q + s, which only a sliding window does" in reasons


def test_windows_inside_a_block_are_not_kept_side_by_side() -> None:
    """There is room for one block, whatever a file of a person says."""
    hw = machine("gemmini")
    found = coverings(load_kernel(ROOT / "kernels" / "conv1d.py", {}, "conv1d"), hw, [])
    covering = next(c for c in found if any(r.is_boxed for r in c.operand("A").residences))
    order = tuple(loop.name for loop in covering.loops)
    tiles = tuple((name, 1) for name in order)
    stays = stays_of(covering, stay_choices(covering, hw)[0], {})
    kept = (replace(stays[0], kept=("v",)), *stays[1:])
    assert stays[0].operand == "A" and is_legal(covering, Tiling(tiles, order, order, stays), hw)
    broken = [
        breach.message for breach in breaches(covering, Tiling(tiles, order, order, kept), hw)
    ]
    assert "A keeps tiles of v: loop v moves a window inside the block of A" in broken
