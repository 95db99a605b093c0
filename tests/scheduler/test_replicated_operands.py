"""Operands that are the same for every block of a tile, where the last block is short.

In: a hand-made tiling of a convolution on AVX2. Out: programs whose spans name loops that are not
there. Not its job: which tiling is best.
"""

from isamap.costmodels import Stay, Tiling
from isamap.emulator import run
from isamap.ir import interpret, load_kernel, random_arrays
from isamap.mapper import coverings
from isamap.scheduler.lower import lower
from isamap.verify import compare, float_tolerance
from tests.scheduler.cases import machine


def test_a_broadcast_fills_the_largest_block_of_its_tile() -> None:
    # x is broadcast to all lanes, whichever of two blocks of outputs (8 and 5) they compute.
    hw = machine("x86_avx2")
    sizes = {"n": 2, "h": 3, "w": 2, "c": 3, "k": 13, "r": 1, "s": 1, "pad": 1}
    kernel = load_kernel("kernels/conv2d.py", sizes, "conv2d_f32")
    found = coverings(kernel, hw, [], may_reassociate=True)
    wanted = ("fma_f32", (("j", ("o",)),))
    covering = next(c for c in found if (c.instruction, c.binding) == wanted)
    tiles = (("b", 2), ("p", 2), ("q", 1), ("o", 2), ("u", 1), ("v", 1), ("i", 1))
    stays = tuple(Stay(name, 0, 1, 1) for name in "ABC")
    tiling = Tiling(tiles, tuple("qbopiuv"), tuple("poqibuv"), stays)
    program = lower(covering, tiling, hw)
    assert program is not None
    arrays = random_arrays(kernel, seed=1)
    shaped = {p.buffer: arrays[p.buffer].reshape(p.layout.shape) for p in program.inputs}
    got = run(program, hw, shaped, compiled=False).outputs
    tolerance = float_tolerance(kernel, arrays)
    assert compare(got, interpret(kernel, arrays), "the meaning", tolerance) is None
