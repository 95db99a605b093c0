"""What a program touches in arrays: its loops, strides along them, distinct lines.

In: a covering, a tiling, the machine. Out: the nest, a stream per array, lines per number of loops.
Not its job: what stays in which cache, and cycles (`caches`).

Source: distinct lines after Ferrante, Sarkar and Thrash, On Estimating and Enhancing Cache
Effectiveness (1991).
"""

import functools
from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, compress
from math import ceil, gcd, prod

from isamap.hwdesc import Hardware
from isamap.ir import Buffer, size_bytes
from isamap.mapper import Covering, OperandPlan

from .tiling import Stay, Tiling, axis_strides, guards, tile_strides

PAGE_BYTES = 4096  # where an array's pages are small; prefetchers of hardware stop at their end


@dataclass(frozen=True, slots=True)
class NestLoop:
    """A program loop that repeats, over tiles of a kernel loop or over the units of a tile.

    `is_sum`: all of them add to the same elements. `is_written_out`: its iterations are code of
    their own, since they move what lies in registers."""

    loop: str
    is_tile: bool
    count: float
    is_sum: bool = False
    is_written_out: bool = False


@dataclass(frozen=True, slots=True)
class Stream:
    """An operand's buffer, or a packed stay of it: by how many bytes each loop of the nest moves it
    on, (count, stride) inside a block.

    `still`: is it touched in the first iteration alone, of each loop of the nest? `num_quiet`: of
    how many innermost ones. `times`: 2 for a target. `is_packed`: a stay's. `page_bytes`: of the
    pages that it lies on. `is_read`: before the first time that it is written. `is_awaited`: it
    holds unfinished sums, and what goes on with them waits for them. `gaps`: how much larger the
    array is that is packed ahead than what is in it, since its last tiles take as much room as the
    others; prefetchers of the hardware fetch what lies between. `goes_packed`: it is copied into a
    packed stay, which calls read.
    """

    strides: tuple[int, ...]
    inside: tuple[tuple[int, int], ...]
    element_bytes: int
    still: tuple[bool, ...]
    num_quiet: int
    times: int
    is_packed: bool
    page_bytes: int
    is_read: bool
    is_awaited: bool
    gaps: float
    goes_packed: bool
    # what `lines_by_depth` found, by the lines' size, and `caches` about rows
    _lines: "dict[int, list[Lines]]" = field(init=False, repr=False, compare=False)
    runs: dict[tuple[int, int, int], float] = field(init=False, repr=False, compare=False)
    between: dict[int, float] = field(init=False, repr=False, compare=False)
    abreast: dict[int, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_lines", {})
        object.__setattr__(self, "runs", {})
        object.__setattr__(self, "between", {})
        object.__setattr__(self, "abreast", {})

    @property
    def call_bytes(self) -> int:
        """From the first byte that a call touches to the last one."""
        return self.element_bytes + sum(step * (count - 1) for count, step in self.inside)


# of one covering on one machine, by the nest, the stays, the operand, its loops' tiles
KnownStreams = dict[tuple[object, ...], dict[tuple[object, ...], tuple[Stream, ...]]]


@dataclass(frozen=True, slots=True)
class Lines:
    """What is touched: lines of so many bytes, rows of neighbouring ones, and their distance; the
    loops from row to row, as (stride, count)."""

    count: float
    line_bytes: int
    rows: float
    pitch_bytes: int
    apart: tuple[tuple[int, float], ...]


def find_nest(covering: Covering, tiling: Tiling, hw: Hardware) -> list[NestLoop]:
    """Loops from the innermost outwards."""
    moving = moving_registers(covering, tiling.stays, hw)
    inner = [
        NestLoop(name, False, tiling.tile(name), covering.loop(name).is_reduction, name in moving)
        for name in tiling.inner
        if tiling.tile(name) > 1
    ]
    outer = []
    for name in tiling.outer:
        tile, units = tiling.tile(name), covering.loop(name).units
        if tile < units:
            outer.append(NestLoop(name, True, units / tile, covering.loop(name).is_reduction))
    return [*reversed(inner), *reversed(outer)]


@functools.lru_cache(1 << 10)
def moving_registers(covering: Covering, stays: tuple[Stay, ...], hw: Hardware) -> frozenset[str]:
    """Loops over the units of tiles that lie in registers, side by side."""
    moving: set[str] = set()
    for stay in stays:
        plan = covering.operand(stay.operand)
        if hw.memory(plan.residences[stay.residence].memory).within is None:
            moving.update(plan.loops if stay.level else stay.kept)
    return frozenset(moving)


def find_streams(
    covering: Covering,
    tiling: Tiling,
    nest: list[NestLoop],
    hw: Hardware,
    known: KnownStreams,
    there: frozenset[str] = frozenset(),
) -> Iterator[Stream]:
    """Of each operand, its buffer in the external memory, unless it was copied from `there` before,
    and its packed stays; `known` before, as most of what is near another tiling has the operand's
    tiles of that one."""
    alike = known.setdefault((tuple((x.loop, x.is_tile) for x in nest), tiling.stays), {})
    for plan in covering.operands:
        key = plan.name, *map(tiling.tile, plan.loops)
        if key not in alike:
            found = _streams_of(covering, tiling, nest, plan, hw)
            is_there = plan.name in there
            alike[key] = tuple(s for s in found if s.is_packed or not is_there)
        yield from alike[key]


def _streams_of(
    covering: Covering, tiling: Tiling, nest: list[NestLoop], plan: OperandPlan, hw: Hardware
) -> Iterator[Stream]:
    stays = {stay.residence: stay for stay in tiling.stays if stay.operand == plan.name}
    end = plan.outlet or plan.inlet
    times = 2 if plan.is_output else 1
    if end is not None and end.home is None:
        strides: dict[tuple[str, bool], int] = {}
        for axis, stride in zip(plan.axes, end.axis_strides_bytes, strict=True):
            for name in axis.loops:
                step = axis.step(covering.loop(name)) * stride
                for key, units in (((name, False), 1), ((name, True), tiling.tile(name))):
                    strides[key] = strides.get(key, 0) + units * step
        block_strides = end.block_strides_bytes
        if plan.is_reordered:
            strides, block_strides = _in_use_order(nest, plan)
        still, num_quiet = _rests(covering, tiling, nest, stays.get(len(plan.residences) - 1))
        yield Stream(
            _along(nest, strides), _inside(plan, block_strides), size_bytes(plan.end_dtype),
            still, num_quiet, times,
            is_packed=False,
            page_bytes=_page_bytes(covering.kernel.buffer(plan.buffer), hw),
            is_read=plan.inlet is not None and plan.inlet_buffer == plan.buffer,
            is_awaited=bool(plan.residences) and plan.residences[-1].again is not None,
            gaps=_gaps(nest, plan) if plan.is_reordered else 1.0,
            goes_packed=any(r.is_packed for r in plan.residences) and not plan.is_output,
        )  # fmt: skip
    for number, residence in enumerate(plan.residences):
        if residence.is_packed:
            stay = stays[number]
            inside, _ = axis_strides(covering, tiling, stay, plan, residence)
            apart = tile_strides(covering, tiling, stay, plan, residence)
            strides = {(name, True): step for name, step in apart.items()}
            strides |= {(a.loops[0], False): inside[a.name] for a in plan.axes if stay.level}
            still, num_quiet = _rests(covering, tiling, nest, stays.get(number - 1))
            yield Stream(
                _along(nest, strides), _inside(plan, residence.block_strides_bytes),
                size_bytes(residence.dtype), still, num_quiet, times,
                is_packed=True, page_bytes=PAGE_BYTES, is_read=True, is_awaited=False, gaps=1.0,
                goes_packed=False,
            )  # fmt: skip


def _page_bytes(buffer: Buffer, hw: Hardware) -> int:
    """Of the pages that an array lies on."""
    large = hw.external.large_pages
    size = size_bytes(buffer.dtype) * prod(buffer.shape)
    return large.size_bytes if large is not None and size >= large.from_bytes else PAGE_BYTES


def _in_use_order(
    nest: list[NestLoop], plan: OperandPlan
) -> tuple[dict[tuple[str, bool], int], tuple[int, ...]]:
    """Strides of loops and inside a block where what follows in time follows in memory."""
    running = size_bytes(plan.end_dtype)
    inside: list[int] = []
    strides: dict[tuple[str, bool], int] = {}
    assert plan.inlet is not None, "an input lies somewhere"
    for block, stride in zip(reversed(plan.blocks), reversed(plan.inlet.block_strides_bytes)):
        inside.append(running if stride else 0)  # one element for all of a block's
        running *= block.extent if stride else 1
    for loop in nest:
        if loop.loop in plan.loops:
            strides[loop.loop, loop.is_tile] = running
            running *= ceil(loop.count)
    return strides, tuple(reversed(inside))


def _gaps(nest: list[NestLoop], plan: OperandPlan) -> float:
    return prod(ceil(loop.count) / loop.count for loop in nest if loop.loop in plan.loops)


def _along(nest: list[NestLoop], strides: dict[tuple[str, bool], int]) -> tuple[int, ...]:
    return tuple(strides.get((loop.loop, loop.is_tile), 0) for loop in nest)


def _inside(plan: OperandPlan, strides: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return tuple((b.extent, step) for b, step in zip(plan.blocks, strides, strict=True))


def _rests(
    covering: Covering, tiling: Tiling, nest: list[NestLoop], stay: Stay | None
) -> tuple[tuple[bool, ...], int]:
    """During which loops the stay keeps its data, and of how many innermost ones it needs no other
    (None: a call touches what does not stay anywhere)."""
    if stay is None:
        return (False,) * len(nest), -1
    guard = guards(covering, tiling, stay)
    moving = covering.operand(stay.operand).loops
    inner = [n for n in tiling.inner if n not in moving] if stay.level else guard.inner
    still = tuple(loop.loop in (guard.outer if loop.is_tile else inner) for loop in nest)
    quiet = 0
    while quiet < len(nest) and (still[quiet] or _is_in_tile(nest[quiet], stay)):
        quiet += 1
    return still, quiet


def _is_in_tile(loop: NestLoop, stay: Stay) -> bool:
    """Is a whole tile fetched before the loop?"""
    return not loop.is_tile and stay.level == 1


def line_bytes_of(granule: int, stream: Stream) -> int:
    """A cache's line; pages are as large as those that the array lies on."""
    return stream.page_bytes if granule == PAGE_BYTES else granule


def lines_by_depth(line: int, nest: list[NestLoop], stream: Stream) -> list[Lines]:
    """The lines that one round of none, one, two, ... innermost loops touches."""
    if line not in stream._lines:
        stream._lines[line] = _find_lines(line, nest, stream)
    return stream._lines[line]


def _find_lines(line: int, nest: list[NestLoop], stream: Stream) -> list[Lines]:
    is_moving = [
        bool(stride) and loop.count > 1 for loop, stride in zip(nest, stream.strides, strict=True)
    ]
    moving = compress(zip(stream.strides, (loop.count for loop in nest)), is_moving)
    found = _lines_along(line, stream.element_bytes, stream.inside, tuple(moving))
    return [found[num_moving] for num_moving in accumulate(is_moving, initial=0)]


@functools.lru_cache(maxsize=1 << 14)
def _lines_along(
    line: int,
    element_bytes: int,
    inside: tuple[tuple[int, int], ...],
    moving: tuple[tuple[int, float], ...],
) -> tuple[Lines, ...]:
    """The lines of one round of none, one, two, ... of the loops that move a block: by (stride,
    count), the innermost first. Loops that do not move it stand anywhere between them."""
    dims = sorted((stride, float(count)) for count, stride in inside if stride and count > 1)
    found = [touched_lines(line, dims, element_bytes, gcd(line, *(s for s, _ in moving)))]
    for number, step in enumerate(moving, 1):
        insort(dims, step)
        places = gcd(line, *(stride for stride, _ in moving[number:]))
        found.append(touched_lines(line, dims, element_bytes, places))
    return tuple(found)


def touched_lines(
    line: int, dims: list[tuple[int, float]], element_bytes: int, places: int = 0
) -> Lines:
    """The lines, of so many bytes, that elements touch along (stride, count), lowest first.

    They begin at multiples of `places` bytes (0: on a line), and rows at those of their distance,
    too: a row touches as many lines as on average over all such places in a line.
    """
    run, rows, pitch = element_bytes, 1.0, 0
    apart: list[tuple[int, float]] = []
    for stride, count in dims:
        if stride <= run or stride <= line:
            run += ceil(stride * (count - 1))
        else:
            rows *= count
            apart.append((stride, count))
            pitch = pitch or stride
            places = gcd(places, stride)
    grid = gcd(line, places)
    in_row = (grid * -(-run // grid) + line - grid) / line
    return Lines(rows * in_row, line, rows, pitch, tuple(apart))
