"""Inputs in the order of their use: the same results, other layouts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isamap.compile import Result
from isamap.compile import map as map_kernel
from isamap.costmodels import Stay, Tiling
from isamap.emulator import run
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import interpret, load_kernel, parse_semantics
from isamap.mapper import coverings
from isamap.native import whole_arrays
from isamap.native.mapped import map_program
from isamap.program import in_use_order, issues
from isamap.resources import find_hardware
from isamap.scheduler import Wishes, find_schedule, lower, to_reorder
from isamap.scheduler.ahead import as_called, copies
from tests.costmodels.test_lost_lines import with_cache

FOLDER = Path(__file__).parent.parent / "codegen"
KERNELS = FOLDER / "c_kernels.py"


PRODUCT = """
A, B, C = In(f32, 8, 1024), In(f32, 1024, 1024), Out(f32, 8, 1024)
for i in range(8):
  for j in range(1024):
    for p in range(1024):
      C[i, j] += A[i, p] * B[p, j]
"""


@pytest.fixture(scope="module")
def machine() -> Hardware:
    return load_hardware(FOLDER / "vec4.yaml")


def mapped(kernel: str, machine: Hardware, sizes: dict[str, int]) -> Result:
    found = map_kernel(
        f"{KERNELS}:{kernel}", machine, sizes=sizes, verify="off", time_limit_s=1,
        may_reassociate=True,
    )  # fmt: skip
    assert isinstance(found, Result)
    return found


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 7), (13, 23, 11)])
def test_products_stay_right_with_both_inputs_reordered(
    sizes: tuple[int, int, int], machine: Hardware
) -> None:
    found = mapped("sgemm", machine, dict(zip("mnk", sizes, strict=True)))
    program = in_use_order(found.schedule.program, machine, ("A", "B"))
    if sizes != (1, 1, 1):
        assert not any(p.layout.is_natural for p in program.inputs if p.buffer != "C")
    arrays = whole_arrays(found.kernel, 0)
    expected = interpret(found.kernel, arrays)["C"]
    assert np.array_equal(run(program, machine, arrays).outputs["C"], expected)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 17, 7), (4, 170, 19)])
@pytest.mark.parametrize("kernel", ["bgemm", "ugemm"])
def test_blocks_that_are_packed_and_padded_already_stay_right(
    kernel: str, sizes: tuple[int, int, int]
) -> None:
    """Sums in groups of two and four, vectors along n; neither divides. Widened operands would lie
    as they are."""
    hw = load_hardware(find_hardware("x86_avx512"))
    grouped = tuple(one for one in hw.instructions if not one.name.endswith("bf16_f32"))
    hw = replace(hw, instructions=grouped)
    product = load_kernel(KERNELS, dict(zip("mnk", sizes, strict=True)), kernel)
    found = find_schedule(product, hw, Wishes(may_reassociate=True)).best.program
    program = in_use_order(found, hw, ("A", "B"))
    before, after = (
        {p.buffer: p.layout for p in one.inputs if p.buffer in ("A", "B")}
        for one in (found, program)
    )
    assert not all(layout.is_natural for layout in before.values())
    if sizes[1] == 170:
        assert before != after
    arrays = whole_arrays(product, 0)
    expected = interpret(product, arrays)["C"]
    assert np.array_equal(run(program, hw, arrays).outputs["C"], expected)


def test_elements_of_a_tile_lie_side_by_side(machine: Hardware) -> None:
    """B is read in vectors of 4 along n, then along k: rows of a tile touch."""
    found = mapped("sgemm", machine, {"m": 4, "n": 40, "k": 9})
    program = in_use_order(found.schedule.program, machine, ("B",))
    (layout,) = (p.layout for p in program.inputs if p.buffer == "B")
    lanes = [axis for axis in layout.axes if axis.dim == 1 and axis.step == 1]
    rows = [axis for axis in layout.axes if axis.dim == 0 and axis.step == 1]
    tile = [axis.size for axis in layout.axes if axis.stride_bytes < rows[0].stride_bytes]
    assert lanes[0].stride_bytes == 4
    assert rows[0].stride_bytes == 4 * np.prod(tile) < 40 * 4


def test_windows_that_overlap_stay_as_they_lie(machine: Hardware) -> None:
    """`X` moves with two loops along one dimension: an element would have two places."""
    found = mapped("window", machine, {})
    program = found.schedule.program
    assert in_use_order(program, machine, ("X",)) == program


@pytest.mark.parametrize(
    ("kernel", "instruction"), [("bgemm", "load_pairs"), ("sgemm", "load_f32")]
)
def test_what_is_packed_ahead_counts_as_it_will_lie(kernel: str, instruction: str) -> None:
    """Rows read in groups are no blocks of neighbours, and would be read as they lie."""
    hw = load_hardware(find_hardware("x86_avx512"))
    product = load_kernel(KERNELS, {"m": 40, "n": 64, "k": 200}, kernel)
    wishes = Wishes(may_reassociate=True, ahead=("B",))
    best = find_schedule(product, hw, wishes).best
    assert [plan.is_reordered for plan in best.covering.operands if plan.buffer == "B"] == [True]
    assert instruction in {issue.instruction for issue in issues(best.program.body)}


def test_tiles_that_end_within_rows_are_packed_with_dimensions_seen_as_one() -> None:
    """Of 3 x 40 columns 24 at a time: the second tile begins in one row and ends in the next."""
    text = (
        "x, w, y = In(f32, 5, 9), In(f32, 9, 3, 40), InOut(f32, 5, 3, 40)\n"
        "for z, g, j, p in grid(5, 3, 40, 9):\n  y[z, g, j] += x[z, p] * w[p, g, j]\n"
    )
    kernel, hw = parse_semantics(text, "layer"), load_hardware(find_hardware("x86_avx2"))
    (covering, *_) = coverings(kernel, hw, [], may_reassociate=True)
    names = [loop.name for loop in covering.loops]
    assert names == ["z", "g_j", "p"]
    tiles = (("z", 1), ("g_j", 3), ("p", 1))
    stays = tuple(Stay(plan.name, 0, int(plan.is_output), 1) for plan in covering.operands)
    program = lower(covering, Tiling(tiles, tuple(names), tuple(names), stays), hw)
    assert program is not None
    packed = in_use_order(program, hw, ("w",))
    (layout,) = (p.layout for p in packed.inputs if p.buffer == "w")
    assert layout.shape == (9, 120) and not layout.is_natural
    arrays = whole_arrays(kernel, 0)
    expected = interpret(kernel, arrays)["y"]
    assert np.array_equal(run(packed, hw, arrays).outputs["y"], expected)


@pytest.mark.parametrize(("lone", "is_left"), [(6.0, True), (0.0, False)])
def test_large_inputs_whose_rows_are_read_faster_side_by_side_are_left_as_they_lie(
    lone: float, is_left: bool
) -> None:
    """A matrix of 512 KiB from behind a cache of 16, times a column: along one row, as it would be
    packed, lines take longer; the other input is packed nevertheless."""
    text = (
        "A, x, y = In(f32, 64, 2048), In(f32, 64), Out(f32, 2048)\n"
        "for i in range(2048):\n  for p in range(64):\n    y[i] += A[p, i] * x[p]\n"
    )
    kernel = parse_semantics(text, "column")
    hw = load_hardware(find_hardware("x86_avx2"))
    for cache in ("l2", "l3"):
        hw = with_cache(hw, cache, size_bytes=2**14, left_bytes=0, lone_cycles=lone)
    found = map_program(kernel, hw, Wishes(may_reassociate=True), ahead=("A", "x"))
    (layout,) = (p.layout for p in found.program.inputs if p.buffer == "A")
    assert layout.is_natural == is_left
    arrays = whole_arrays(kernel, 0)
    expected = interpret(kernel, arrays)["y"]
    assert np.array_equal(run(found.program, hw, arrays).outputs["y"], expected)


def test_what_some_coverings_read_in_order_is_packed() -> None:
    kernel = parse_semantics(PRODUCT, "product")
    hw = load_hardware(find_hardware("x86_avx2"))
    found = coverings(kernel, hw, [], may_reassociate=True)
    covering = next(c for c in found if c.instruction == "fma_f32" and not copies(c, ("A", "B")))
    lone = with_cache(hw, "l3", size_bytes=64)
    (ordered,) = as_called(covering, ("A", "B"), hw)
    again, left = as_called(covering, ("A", "B"), lone)
    assert again == ordered and left == covering
    assert to_reorder([ordered], ("A", "B")) == ("A", "B")
    assert to_reorder([left], ("A", "B")) == ()
    assert to_reorder([left, ordered], ("B", "A")) == ("B", "A")
    assert to_reorder([left], ("A", "other")) == ("other",)
