"""Sums that a processor begins while calls wait for their own."""

from dataclasses import replace
from pathlib import Path

import pytest

from isamap.costmodels import Stay, Tiling, count_work
from isamap.costmodels.chains import compute_path_cycles
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import coverings
from isamap.resources import find_hardware


def path_cycles(tmp_path: Path, window: int, p: int, outer: str, fetched: float) -> float:
    """Of 64 rows of 16 sums of 64 products, p at a time, one row after the other."""
    (tmp_path / "product.py").write_text(
        "from isamap.lang import In, Out, f32, grid, kernel\n\n@kernel\ndef product():\n"
        "    A, B, C = In(f32, 64, 64), In(f32, 64, 16), Out(f32, 64, 16)\n"
        "    for i, j, p in grid(64, 16, 64):\n        C[i, j] += A[i, p] * B[p, j]\n"
    )
    hw = with_window(load_hardware(find_hardware("x86_avx512")), window)
    kernel = load_kernel(tmp_path / "product.py", {}, "product")
    covering = next(
        found
        for found in coverings(kernel, hw, [], may_reassociate=True)
        if found.instruction == "fma_scalar_f32" and found.loop("j").units == 1
    )
    stays = tuple(Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences)
    tiling = Tiling((("i", 1), ("j", 1), ("p", p)), tuple(outer), ("p", "i", "j"), stays)
    return compute_path_cycles(covering, count_work(covering, hw), tiling, hw, fetched)


def with_window(hw: Hardware, window: int) -> Hardware:
    """The machine with so many calls under way at a time."""
    memories = (replace(x, window_calls=window) if x.window_calls else x for x in hw.memories)
    return replace(hw, memories=tuple(memories))


@pytest.mark.parametrize(
    "window, p, outer, fetched, each",
    [
        (0, 32, "pij", 0, 4.0),  # one sum, four cycles from one call to the next
        (32, 32, "pij", 0, 2.0),  # the next one's is begun
        (32, 32, "pij", 64 * 64, 8 / 3),  # copies between calls are under way, too
        (96, 32, "pij", 0, 1.0),
        (64, 32, "ijp", 0, 2.0),  # the sum goes on over tiles: 64 products
    ],
)
def test_later_sums_are_begun_as_far_as_the_processor_sees(
    window: int, p: int, outer: str, fetched: float, each: float, tmp_path: Path
) -> None:
    """Cycles from call to call."""
    found = path_cycles(tmp_path, window, p, outer, fetched)
    assert found == pytest.approx(each * 64 * 64, rel=1 / 1000)  # whole cycles
