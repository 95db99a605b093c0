"""Instructions that run a window of two dimensions: `y[p, q, k] += x[p + r, q + s, c] * w[..]`.

In: invented engines with free and with fixed strides, small kernels. Out: failures. Not its job:
windows of one dimension (`test_windows`).
"""

import random
from pathlib import Path

import pytest

from isamap.costmodels import bound_cycles, count_work, estimate
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import Covering, coverings
from isamap.scheduler import lower, solve
from tests.scheduler.execution import assert_computes
from tests.scheduler.tilings import random_legal_tiling

SPEC = """\
name: plane_engine
clock: 1 GHz
synchronisation: interlocked
memories:
  dram: {{kind: external, size: 1 GiB, source: invented}}
  buffer: {{kind: managed, size: {size}, source: invented}}
units: {{load: {{}}, engine: {{}}, store: {{}}}}
instructions:
  load:
    semantics: |
      S, D = In(i8, 8, 16), Out(i8, 8, 16)
      for i, j in grid(8, 16):
        D[i, j] = S[i, j]
    extents: {{i: at_most, j: at_most}}
    operands:
      S: {{memory: dram, strides: [free, free]}}
      D: {{memory: buffer, strides: [free, free]}}
    unit: load
    issue: 1 + ceil(i * j / 8) cycles
    source: invented
  conv:
    semantics: |
      x = In(i8, {shape})
      w, y = In(i8, 3, 3, 4, 8), InOut(i32, 4, 6, 8)
      for p, q, k, r, s, c in grid(4, 6, 8, 3, 3, 4):
        y[p, q, k] += i32({access}) * i32(w[r, s, c, k])
    extents: {{p: at_most, q: at_most, k: at_most, r: at_most, s: at_most, c: at_most}}
    operands:
      x: {{memory: buffer{strides}}}
      w: {{memory: buffer}}
      y: {{memory: buffer, strides: [free, free, 4 bytes]}}
    unit: engine
    issue: 1 + r * s * p cycles
    source: invented
  drain:
    semantics: |
      S, D = In(i32, 8, 16), Out(i32, 8, 16)
      for i, j in grid(8, 16):
        D[i, j] = S[i, j]
    extents: {{i: at_most, j: at_most}}
    operands:
      S: {{memory: buffer, strides: [free, free]}}
      D: {{memory: dram, strides: [free, free]}}
    unit: store
    issue: 1 + ceil(i * j / 2) cycles
    source: invented
  clear:
    semantics: |
      D = Out(i32, 8, 16)
      for i, j in grid(8, 16):
        D[i, j] = 0
    extents: {{i: at_most, j: at_most}}
    operands:
      D: {{memory: buffer, strides: [free, free]}}
    unit: engine
    issue: 1 + i cycles
    source: invented
"""
CHANNELS_LAST = ("6, 8, 4", "x[p + r, q + s, c]")
CHANNELS_FIRST = ("4, 6, 8", "x[c, p + r, q + s]")
STRIDED = ("9, 13, 4", "x[2 * p + r, 2 * q + s, c]")
ENGINES = {
    "free": (CHANNELS_LAST, ", strides: [free, free, 1 byte]"),
    "aligned": (
        CHANNELS_LAST,
        ", strides: [{multiple_of: 4 bytes}, {multiple_of: 4 bytes}, 1 byte]",
    ),
    "dense": (CHANNELS_LAST, ""),
    "dense planes": (CHANNELS_FIRST, ""),
    "free planes": (CHANNELS_FIRST, ", strides: [free, free, free]"),
}
KERNEL = """\
from isamap.lang import *


@kernel
def subject(n=1, h=5, w=7, c=3, k=5, r=3, s=3, stride=1):
    x, weights = In(i8, n, h * stride, w * stride, c), In(i8, r, s, c, k)
    y = Out(i32, n, h, w, k)
    for b, p, q, o, u, v, i in grid(n, h, w, k, r, s, c):
        y[b, p, q, o] += i32(x.at(b, p * stride + u - 1, q * stride + v - 1, i, pad=0)) * i32(
            weights[u, v, i, o]
        )
"""


def engine(folder: Path, name: str, size: str = "8 KiB") -> Hardware:
    """The machine with the operand lying so."""
    (shape, access), strides = (STRIDED, "") if name == "strided" else ENGINES[name]
    file = folder / "plane_engine.yaml"
    file.write_text(SPEC.format(shape=shape, access=access, strides=strides, size=size))
    return load_hardware(file)


def subject(folder: Path, **sizes: int) -> Kernel:
    """A padded convolution."""
    file = folder / "subject.py"
    file.write_text(KERNEL)
    return load_kernel(file, sizes, "subject")


def runs_plane(covering: Covering) -> bool:
    """Do all four loops of the instruction's window run over more than one iteration?"""
    bound = dict(covering.binding)
    return all(any(covering.loop(name).block > 1 for name in bound[x]) for x in "pqrs")


ORIENTATIONS = {("p", "q", "u", "v"), ("q", "p", "v", "u")}  # rows may stand for columns
LISTED = ("dense", "free planes")  # all coverings of the small kernel, which takes seconds


def orientation(covering: Covering) -> tuple[str, ...]:
    """The kernel's loops of the window."""
    return tuple(dict(covering.binding)[x][0] for x in "pqrs")


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("sizes", [{}, {"n": 2, "h": 5, "w": 9, "r": 2, "s": 5, "k": 9}], ids=str)
def test_a_window_of_two_dimensions_runs_inside_the_instruction(
    name: str, sizes: dict[str, int], tmp_path: Path
) -> None:
    hw, kernel = engine(tmp_path, name), subject(tmp_path, **sizes)
    first: dict[tuple[str, ...], Covering] = {}
    for covering in filter(runs_plane, coverings(kernel, hw, [])):
        first.setdefault(orientation(covering), covering)
        if len(first) == len(ORIENTATIONS) and (sizes or name not in LISTED):
            break
    assert first.keys() == ORIENTATIONS
    for covering in first.values():
        work = count_work(covering, hw)
        solution = solve(covering, work, hw, time_limit_s=2)
        assert solution.tiling is not None
        program = lower(covering, solution.tiling, hw)
        assert program is not None
        timing = assert_computes(kernel, program, hw, str(covering.binding))
        assert bound_cycles(covering, work, hw)[0] <= timing.cycles
        if "n" in sizes:  # the others are all startup
            cycles = estimate(covering, work, solution.tiling, hw).cycles
            assert cycles == pytest.approx(timing.cycles, rel=0.25)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("seed", range(1))
def test_any_legal_tiling_of_a_plane_computes_the_kernel(
    name: str, seed: int, tmp_path: Path
) -> None:
    hw, kernel = engine(tmp_path, name), subject(tmp_path, h=10, w=13, c=6, k=9, r=3, s=4)
    covering = next(c for c in coverings(kernel, hw, []) if runs_plane(c))
    tiling = random_legal_tiling(covering, hw, random.Random(seed), any_tile=True)
    assert tiling is not None
    program = lower(covering, tiling, hw)
    assert program is not None
    assert_computes(kernel, program, hw, str(tiling), compiled=True)


def test_strides_of_the_kernel_and_the_instruction_must_agree(tmp_path: Path) -> None:
    for stride, name in ((2, "strided"), (1, "dense")):
        kernel = subject(tmp_path, stride=stride, c=1, k=1)
        assert any(runs_plane(c) for c in coverings(kernel, engine(tmp_path, name), []))
    plain = subject(tmp_path, stride=1, c=1, k=1)
    assert not any(runs_plane(c) for c in coverings(plain, engine(tmp_path, "strided"), []))


def test_a_stride_that_only_free_rows_can_take(tmp_path: Path) -> None:
    """Neighbours two positions apart: the instruction must be told so, fixed strides cannot."""
    kernel = subject(tmp_path, stride=2, c=1, k=1)
    bound = [c for c in coverings(kernel, engine(tmp_path, "free"), []) if runs_plane(c)]
    assert not bound, "p moves by 2 where r moves by 1: the instruction adds them in one stride"
