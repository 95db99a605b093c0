"""Cycles that caches spend on being refilled, which the closed form counts on machines with caches.

In: a covering, a tiling, the machine. Out: cycles per cache. Not its job: what an access costs that
hits the nearest cache (units and ports of the instructions say that), what overlaps (`analytical`).

Model. From the innermost loop outwards, the loops are found whose data fit a cache together: by
size, and by ways, since rows whose distance has many factors of two share few sets. One loop
further out, everything is brought in once, shared lines counted once; loops outside that bring it
in again, but for those that an operand has not moved under since. Lines are whole; a target's lines
come and go. What stays in registers takes no room. Source: distinct lines after Ferrante, Sarkar
and Thrash, On Estimating and Enhancing Cache Effectiveness (1991).
"""

from dataclasses import dataclass
from math import ceil, gcd

from isamap.hwdesc import Direction, Hardware, Memory
from isamap.ir import size_bytes
from isamap.mapper import Covering, External, OperandPlan

from .tiling import Stay, Tiling, guards


@dataclass(frozen=True, slots=True)
class _Loop:
    """A program loop that repeats, over tiles of a kernel loop or over the units of a tile; what
    one iteration moves, in units."""

    loop: str
    is_tile: bool
    count: float
    units: int


@dataclass(frozen=True, slots=True)
class _Stream:
    """An operand's buffer: byte strides per unit of each loop, (count, stride) inside a block.

    `num_quiet`: innermost loops in which it is not touched. `times`: 2 for a target.
    """

    strides: dict[str, int]
    inside: tuple[tuple[int, int], ...]
    element_bytes: int
    num_quiet: int
    times: int


@dataclass(frozen=True, slots=True)
class _Lines:
    """What is touched: bytes of all lines, rows of neighbouring lines, and their distance."""

    size_bytes: float
    rows: float
    pitch_bytes: int


def refill_cycles(covering: Covering, tiling: Tiling, hw: Hardware) -> tuple[float, ...]:
    """Cycles in which each cache, the nearest first, takes in lines."""
    if not hw.caches:
        return ()
    nest = _nest(covering, tiling)
    streams = [
        _stream(covering, tiling, nest, plan, end)
        for plan in covering.operands
        for end in (plan.outlet or plan.inlet,)
        if end is not None and end.home is None
    ]
    return tuple(_refilled_bytes(c, nest, streams) / _bytes_per_cycle(c) for c in hw.caches)


def _nest(covering: Covering, tiling: Tiling) -> list[_Loop]:
    """Loops from the innermost outwards."""
    inner = [
        _Loop(name, False, tiling.tile(name), 1) for name in tiling.inner if tiling.tile(name) > 1
    ]
    outer = []
    for name in tiling.outer:
        tile, units = tiling.tile(name), covering.loop(name).units
        if tile < units:
            outer.append(_Loop(name, True, units / tile, tile))
    return [*reversed(inner), *reversed(outer)]


def _stream(
    covering: Covering, tiling: Tiling, nest: list[_Loop], plan: OperandPlan, end: External
) -> _Stream:
    strides: dict[str, int] = {}
    for axis, stride in zip(plan.axes, end.axis_strides_bytes, strict=True):
        for name in axis.loops:
            strides[name] = strides.get(name, 0) + axis.step(covering.loop(name)) * stride
    inside = tuple(
        (block.extent, stride)
        for block, stride in zip(plan.blocks, end.block_strides_bytes, strict=True)
    )
    last = next((stay for stay in reversed(tiling.stays) if stay.operand == plan.name), None)
    quiet = _num_quiet(covering, tiling, nest, last) if last is not None else 0
    return _Stream(strides, inside, size_bytes(plan.dtype), quiet, 2 if plan.is_output else 1)


def _num_quiet(covering: Covering, tiling: Tiling, nest: list[_Loop], stay: Stay) -> int:
    """Innermost loops during which the stay keeps its data."""
    guard = guards(covering, tiling, stay)
    count = 0
    for loop in nest:
        kept = loop.loop in (guard.outer if loop.is_tile else guard.inner)
        if not kept and (loop.is_tile or stay.level == 0):
            break
        count += 1
    return count


def _refilled_bytes(cache: Memory, nest: list[_Loop], streams: list[_Stream]) -> float:
    fitting = 0
    while fitting < len(nest) and _fits(cache, nest[: fitting + 1], streams):
        fitting += 1
    total = 0.0
    for stream in streams:
        moved = _lines(cache, nest[: fitting + 1], stream).size_bytes
        is_still = fitting == len(nest) or not stream.strides.get(nest[fitting].loop)
        for loop in nest[fitting + 1 :]:
            is_still = is_still and not stream.strides.get(loop.loop)
            moved *= 1 if is_still else loop.count
        total += stream.times * moved
    return total


def _fits(cache: Memory, loops: list[_Loop], streams: list[_Stream]) -> bool:
    """Do all lines that one round of the loops touches stay in the cache?"""
    room = ways = 0.0
    for stream in streams:
        if len(loops) <= stream.num_quiet:
            continue
        lines = _lines(cache, loops, stream)
        room += lines.size_bytes
        if cache.ways and lines.pitch_bytes:
            way_bytes = cache.size_bytes // cache.ways
            places = way_bytes // gcd(lines.pitch_bytes, way_bytes)
            ways += max(lines.rows / places, lines.size_bytes / way_bytes)
    return room <= cache.size_bytes and (ways <= cache.ways or not cache.ways)


def _lines(cache: Memory, loops: list[_Loop], stream: _Stream) -> _Lines:
    """The lines that one round of the loops touches."""
    line = cache.granule_bytes
    walked = [(x.count, stream.strides.get(x.loop, 0) * x.units) for x in loops]
    run, rows, pitch = stream.element_bytes, 1.0, 0
    for count, stride in sorted((*stream.inside, *walked), key=lambda dim: dim[1]):
        if stride == 0 or count <= 1:
            continue
        if stride <= max(run, line):
            run += ceil(stride * (count - 1))
        else:
            rows *= count
            pitch = pitch or stride
    return _Lines(rows * (-(-run // line) * line), rows, pitch)


def _bytes_per_cycle(cache: Memory) -> float:
    """The pace at which lines enter."""
    paces = [p.bytes_per_cycle for p in cache.ports if p.direction is not Direction.READ]
    return min(paces, default=float("inf"))
