"""Cut-down kernels and tilings keep the structure of the large ones.

In: small kernels, coverings. Out: verdicts. Not its job: running programs.
"""

from collections.abc import Iterator

import pytest

from isamap.costmodels import Tiling, trips
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.ir import verify as verify_kernel
from isamap.mapper import Covering, coverings
from isamap.resources import find_hardware, find_kernel
from isamap.verify import Limits, shrink, shrink_tiling


def bundled_kernel(text: str, **sizes: int) -> Kernel:
    """A bundled kernel at these sizes."""
    path, name = find_kernel(text)
    return load_kernel(path, sizes, name)


def machine(name: str) -> Hardware:
    """A bundled machine."""
    return load_hardware(find_hardware(name))


def shape(kernel: Kernel, buffer: str) -> tuple[int, ...]:
    """Shape of a buffer."""
    return kernel.buffer(buffer).shape


def test_matrix_product_shrinks_with_its_loops() -> None:
    small = shrink(bundled_kernel("gemm", m=50, n=60, k=70), {"i": 5, "j": 6, "p": 7})
    assert small == bundled_kernel("gemm", m=5, n=6, k=7)


@pytest.mark.parametrize("stride", [1, 2])
def test_padded_convolution_keeps_its_border(stride: int) -> None:
    large = bundled_kernel("conv2d", h=28, w=28, stride=stride)
    small = shrink(large, {"p": 4, "q": 5})
    verify_kernel(small)
    lost_rows, lost_columns = (28 // stride - 4) * stride, (28 // stride - 5) * stride
    assert shape(small, "x") == (1, 28 - lost_rows, 28 - lost_columns, 16)
    assert shape(small, "y") == (1, 4, 5, 16)
    assert shape(small, "weights") == shape(large, "weights")


def test_unused_room_in_a_buffer_stays() -> None:
    large = bundled_kernel("conv2d", h=15, w=15, stride=2, pad=0, r=2, s=2)
    small = shrink(large, {"p": 3, "q": 3})
    assert shape(large, "x")[1] - 2 * 7 == shape(small, "x")[1] - 2 * 3 == 1


def tilings(covering: Covering) -> Iterator[Tiling]:
    """One tiling per tile size, the same for all loops."""
    names = tuple(loop.name for loop in covering.loops)
    for size in (1, 2, 3, 5):
        tiles = tuple((loop.name, min(size, loop.units)) for loop in covering.loops)
        yield Tiling(tiles, names, names, ())


@pytest.mark.parametrize("sizes", [(50, 70, 90), (256, 16, 33), (1, 160, 7)])
def test_edges_survive(sizes: tuple[int, int, int]) -> None:
    kernel = bundled_kernel("gemm", m=sizes[0], n=sizes[1], k=sizes[2])
    covering = next(coverings(kernel, machine("gemmini"), []))
    for tiling in tilings(covering):
        extents, small_tiling = shrink_tiling(covering, tiling, Limits(2, 3))
        for loop in covering.loops:
            tile, small_tile = tiling.tile(loop.name), small_tiling.tile(loop.name)
            units = -(-extents[loop.name] // loop.block)
            count, small_count = trips(covering, tiling, loop.name), -(-units // small_tile)
            assert extents[loop.name] <= loop.kernel_extent
            assert (tile > 1) == (small_tile > 1)
            assert min(count, 3) == small_count
            assert (loop.units % tile != 0 and count > 1) == (units % small_tile != 0)
            assert extents[loop.name] % loop.block == loop.kernel_extent % loop.block
