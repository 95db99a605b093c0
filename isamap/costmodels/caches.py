"""Cycles that caches spend on being refilled, which the closed form counts on machines with caches.

In: a covering, a tiling, the machine. Out: busy and waiting cycles per cache. Not its job: what an
access costs that hits the nearest cache (units and ports of the instructions say that), what
overlaps (`analytical`).

Model. From the innermost loop outwards, the loops are found whose data fit a cache together: by
size, and by ways, since rows whose distance has many factors of two share few sets. Where all do,
nothing is brought in: the run before left it there. Otherwise, one loop further out, everything is
brought in once, shared lines counted once; loops outside that bring it in again, but for those that
an operand has not moved under since. Lines are whole; a target's lines come and go. What stays in
registers takes no room; a packed stay is one more array, beside the one that it is copied from. A
line that begins a row of neighbours, or a page of them, comes unannounced and takes the cache's
latency on top. Where the rows of a single call share too few sets, each of its lines comes again
with every call on its neighbours. A cache whose lines are pages is a buffer of their addresses. Of
a cache that others use, too, less stays the more is wanted of it.
Source: distinct lines after Ferrante, Sarkar and Thrash, On Estimating and Enhancing Cache
Effectiveness (1991).
"""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, gcd, prod

from isamap.hwdesc import Direction, Hardware, Memory, PrefetchForm
from isamap.ir import Buffer, size_bytes
from isamap.mapper import Covering, OperandPlan

from .tiling import Stay, Tiling, axis_strides, guards, operand_plan, tile_strides

PAGE_BYTES = 4096  # where an array's pages are small; prefetchers of hardware stop at their end


@dataclass(frozen=True, slots=True)
class Refills:
    """Cycles in which a cache takes in lines, and what unannounced lines wait on top."""

    busy_cycles: float
    waiting_cycles: float


@dataclass(frozen=True, slots=True)
class _Loop:
    """A program loop that repeats, over tiles of a kernel loop or over the units of a tile.

    `is_sum`: over units, and all of them add to the same elements. `is_written_out`: its iterations
    are code of their own, since they move what lies in registers."""

    loop: str
    is_tile: bool
    count: float
    is_sum: bool = False
    is_written_out: bool = False


@dataclass(frozen=True, slots=True)
class _Stream:
    """An operand's buffer, or a packed stay of it: byte strides per iteration of unit loops and of
    tile loops (True), (count, stride) inside a block.

    `still`: loops in whose first iteration alone it is touched; `num_quiet`: how many innermost
    ones are among them. `times`: 2 for a target. `is_packed`: a stay's. `page_bytes`: of the pages
    that it lies on. `is_read`: before the first time that it is written.
    """

    strides: dict[tuple[str, bool], int]
    inside: tuple[tuple[int, int], ...]
    element_bytes: int
    still: frozenset[tuple[str, bool]]
    num_quiet: int
    times: int
    is_packed: bool
    page_bytes: int = PAGE_BYTES
    is_read: bool = True


@dataclass(frozen=True, slots=True)
class _Lines:
    """What is touched: lines of so many bytes, rows of neighbouring ones, and their distance."""

    count: float
    line_bytes: int
    rows: float
    pitch_bytes: int


@dataclass(frozen=True, slots=True)
class _Hints:
    """Shares of a stream's lines: `missing` are those that the program does not ask for early
    enough; `in_rows` it asks for, far from the one before."""

    missing: float
    in_rows: float


NO_HINTS = _Hints(1.0, 0.0)


def refill_cycles(covering: Covering, tiling: Tiling, hw: Hardware) -> tuple[Refills, ...]:
    """What each cache, the nearest first, takes in."""
    if not hw.caches:
        return ()
    nest = _nest(covering, tiling, hw)
    streams = [s for plan in covering.operands for s in _streams(covering, tiling, nest, plan, hw)]
    lines: dict[int, list[list[_Lines]]] = {}  # by their size: caches mostly have the same
    for size in (cache.granule_bytes for cache in hw.caches):
        if size not in lines:
            lines[size] = [_lines_by_depth(_line_bytes(size, x), nest, x) for x in streams]
    hints = [NO_HINTS for _ in streams]
    found = []
    for cache in hw.caches:
        if cache.prefetch is not None:
            hints = [_hints(nest, stream, cache, cache.prefetch) for stream in streams]
        found.append(_shared(cache, nest, streams, lines[cache.granule_bytes], hints))
    return tuple(found)


def _nest(covering: Covering, tiling: Tiling, hw: Hardware) -> list[_Loop]:
    """Loops from the innermost outwards."""
    moving = _moving_registers(covering, tiling, hw)
    inner = [
        _Loop(name, False, tiling.tile(name), covering.loop(name).is_reduction, name in moving)
        for name in tiling.inner
        if tiling.tile(name) > 1
    ]
    outer = []
    for name in tiling.outer:
        tile, units = tiling.tile(name), covering.loop(name).units
        if tile < units:
            outer.append(_Loop(name, True, units / tile))
    return [*reversed(inner), *reversed(outer)]


def _moving_registers(covering: Covering, tiling: Tiling, hw: Hardware) -> frozenset[str]:
    """Loops over the units of tiles that lie in registers, side by side."""
    plans = ((stay, operand_plan(covering, stay.operand)) for stay in tiling.stays if stay.level)
    return frozenset(
        name
        for stay, plan in plans
        if hw.memory(plan.residences[stay.residence].memory).within is None
        for name in plan.loops
    )


def _streams(
    covering: Covering, tiling: Tiling, nest: list[_Loop], plan: OperandPlan, hw: Hardware
) -> Iterator[_Stream]:
    """The operand's buffer in the external memory, and its packed stays."""
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
        last = stays.get(len(plan.residences) - 1)
        found = _stream(covering, tiling, nest, plan, strides, block_strides, last, times)
        page_bytes = _page_bytes(covering.kernel.buffer(plan.buffer), hw)
        yield replace(found, page_bytes=page_bytes, is_read=plan.inlet is not None)
    for number, residence in enumerate(plan.residences):
        if residence.is_packed:
            stay = stays[number]
            inside, _ = axis_strides(covering, tiling, stay, plan, residence)
            apart = tile_strides(covering, tiling, stay, plan, residence)
            strides = {(name, True): step for name, step in apart.items()}
            strides |= {(a.loops[0], False): inside[a.name] for a in plan.axes if stay.level}
            yield _stream(
                covering, tiling, nest, plan, strides, residence.block_strides_bytes,
                stays.get(number - 1), times, is_packed=True,
            )  # fmt: skip


def _page_bytes(buffer: Buffer, hw: Hardware) -> int:
    """Of the pages that an array lies on."""
    large = hw.external.large_pages
    size = size_bytes(buffer.dtype) * prod(buffer.shape)
    return large.size_bytes if large is not None and size >= large.from_bytes else PAGE_BYTES


def _in_use_order(
    nest: list[_Loop], plan: OperandPlan
) -> tuple[dict[tuple[str, bool], int], tuple[int, ...]]:
    """Strides of loops and inside a block where what follows in time follows in memory."""
    running = size_bytes(plan.dtype)
    inside: list[int] = []
    strides: dict[tuple[str, bool], int] = {}
    for block in reversed(plan.blocks):
        inside.append(running)
        running *= block.extent
    for loop in nest:
        if loop.loop in plan.loops:
            strides[loop.loop, loop.is_tile] = running
            running *= ceil(loop.count)
    return strides, tuple(reversed(inside))


def _stream(
    covering: Covering,
    tiling: Tiling,
    nest: list[_Loop],
    plan: OperandPlan,
    strides: dict[tuple[str, bool], int],
    block_strides: tuple[int, ...],
    stay: Stay | None,
    times: int,
    *,
    is_packed: bool = False,
) -> _Stream:
    """An array that is touched whenever `stay` (None: every call) needs other data."""
    inside = tuple((b.extent, step) for b, step in zip(plan.blocks, block_strides, strict=True))
    still = _still(covering, tiling, stay) if stay else frozenset()
    quiet = 0 if stay else -1  # a call touches what does not stay anywhere
    while stay and quiet < len(nest) and _is_quiet(nest[quiet], stay, still):
        quiet += 1
    return _Stream(strides, inside, size_bytes(plan.dtype), still, quiet, times, is_packed)


def _still(covering: Covering, tiling: Tiling, stay: Stay) -> frozenset[tuple[str, bool]]:
    """Loops during which the stay keeps its data."""
    guard = guards(covering, tiling, stay)
    moving = operand_plan(covering, stay.operand).loops
    inner = [n for n in tiling.inner if n not in moving] if stay.level else guard.inner
    return frozenset({*((n, True) for n in guard.outer), *((n, False) for n in inner)})


def _is_quiet(loop: _Loop, stay: Stay, still: frozenset[tuple[str, bool]]) -> bool:
    """Is nothing fetched in the loop, or a whole tile before it?"""
    return (loop.loop, loop.is_tile) in still or (not loop.is_tile and stay.level == 1)


def _shared(
    cache: Memory,
    nest: list[_Loop],
    streams: list[_Stream],
    touched: list[list[_Lines]],
    hints: list[_Hints],
) -> Refills:
    """As `_refills`; what is between the size that others leave and all of it stays in part."""
    whole = _refills(cache, nest, streams, touched, hints)
    if not cache.left_bytes:
        return whole
    rooms = (_room(cache, depth, streams, touched) for depth in range(len(nest) + 1))
    room = max((room for room in rooms if room < cache.size_bytes), default=0.0)
    share = (room - cache.left_bytes) / (cache.size_bytes - cache.left_bytes)
    if share <= 0.0:
        return whole
    left = _refills(replace(cache, size_bytes=cache.left_bytes), nest, streams, touched, hints)
    return Refills(
        whole.busy_cycles + share * (left.busy_cycles - whole.busy_cycles),
        whole.waiting_cycles + share * (left.waiting_cycles - whole.waiting_cycles),
    )


def _refills(
    cache: Memory,
    nest: list[_Loop],
    streams: list[_Stream],
    touched: list[list[_Lines]],
    hints: list[_Hints],
) -> Refills:
    """`touched`: per stream, the lines of so many innermost loops."""
    fitting = -1  # not even what a single call touches
    while fitting < len(nest) and _fits(cache, fitting + 1, streams, touched):
        fitting += 1
    if fitting == len(nest):
        return Refills(0.0, 0.0)
    busy = starts = conflicts = 0.0
    line = cache.granule_bytes / _bytes_per_cycle(cache)
    asked = max(line, cache.asked_cycles)
    for stream, by_depth, hint in zip(streams, touched, hints, strict=True):
        lines = by_depth[min(fitting + 1, len(nest))]
        times = 1.0
        is_unmoved = fitting >= 0 and not _stride(stream, nest[fitting])
        for loop in nest[fitting + 1 :]:
            is_unmoved = is_unmoved and not _stride(stream, loop)
            is_still = is_unmoved or (loop.loop, loop.is_tile) in stream.still
            times *= 1 if is_still else loop.count
        count = stream.times * times * lines.count
        busy += count * (line + hint.in_rows * (asked - line))
        starts += times * _unannounced(cache, nest, stream, lines) * hint.missing
        conflicts += _conflicts(cache, nest, stream, by_depth[0])
        if stream.times > 1 and _is_crowded(cache, lines):
            new = 0.0 if stream.is_read else by_depth[-1].count
            conflicts += stream.times * (times * lines.count - new)  # loads wait for stores
    waiting = starts * cache.latency_cycles + conflicts * cache.conflict_cycles
    return Refills(busy, waiting)


def _unannounced(cache: Memory, nest: list[_Loop], stream: _Stream, lines: _Lines) -> float:
    """Lines that no prefetcher foresees: the first of each page, and of each row of neighbours that
    the loops walk along, as far as they walk few enough side by side. Where a prefetcher follows
    several, their pages begin together."""
    run, rows = float(stream.element_bytes), 1.0
    for count, stride in (*stream.inside, *((x.count, _stride(stream, x)) for x in nest)):
        if stride == 0 or count <= 1:
            continue
        if stride <= max(run, lines.line_bytes):
            run += stride * (count - 1)
        elif cache.prefetched_rows and rows * count > cache.prefetched_rows:
            break
        else:
            rows *= count
    length = min(max(run, lines.line_bytes), stream.page_bytes)
    together = rows if cache.prefetched_rows and length == stream.page_bytes else 1.0
    return lines.count * lines.line_bytes / length / together


def _hints(nest: list[_Loop], stream: _Stream, cache: Memory, form: PrefetchForm) -> _Hints:
    """The program asks in the innermost tile loop that moves the stream, where each iteration moves
    it to new lines (a call takes a cycle), for what the calls in its body read: of a sum's units
    those are the first and the last, unless the innermost loop asks. Not where each call walks over
    several lines by itself, or the loop along lines faster than it could ask for them, nor in
    packed stays."""
    line = cache.granule_bytes
    depth = next((n for n, x in enumerate(nest) if x.is_tile and _stride(stream, x)), None)
    if depth is None or stream.is_packed or _stride(stream, nest[depth]) < line:
        return NO_HINTS
    walked = [(_stride(stream, loop), loop.count) for loop in nest[:depth]]
    call = stream.element_bytes + sum(s * (count - 1) for count, s in stream.inside)
    reach = call + sum(s * (count - 1) for s, count in walked)
    calls, stride = prod(loop.count for loop in nest[:depth]), _stride(stream, nest[depth])
    if stride <= reach and (call > line or calls * line < cache.asked_cycles * stride):
        return NO_HINTS
    late = min(1.0, ceil(form.ahead_cycles / calls) / nest[depth].count)
    asked = 1.0 - late
    if not _asks_ahead(nest, stream, cache):
        asked *= min(
            1.0, 2 / prod(x.count for x in nest[:depth] if x.is_sum and _stride(stream, x))
        )
    if stride <= reach:
        return _Hints(1.0 - asked, 0.0)
    dims = sorted(d for d in (*((s, float(n)) for n, s in stream.inside), *walked) if d[0])
    rows = _lines(line, dims, stream.element_bytes)
    return _Hints(1.0 - asked, asked * rows.rows / rows.count)


def _asks_ahead(nest: list[_Loop], stream: _Stream, cache: Memory) -> bool:
    """Does the program's innermost loop, along lines, ask for what the loop around it reads in a
    later iteration?"""
    loops = [loop for loop in nest if not loop.is_written_out]
    if len(loops) < 2:
        return False
    along, far = _stride(stream, loops[0]), _stride(stream, loops[1])
    is_kept = loops[1].count * far <= cache.size_bytes
    return 0 < along < cache.granule_bytes <= far and not is_kept


def _stride(stream: _Stream, loop: _Loop) -> int:
    """Bytes that one iteration moves on."""
    return stream.strides.get((loop.loop, loop.is_tile), 0)


def _fits(cache: Memory, depth: int, streams: list[_Stream], touched: list[list[_Lines]]) -> bool:
    """Do all lines that one round of so many loops touches stay in the cache, and others enter?"""
    kept = (by_depth[depth] for s, by_depth in zip(streams, touched) if depth > s.num_quiet)
    ways = sum(_ways(cache, lines) for lines in kept) if cache.ways else 0.0
    return _room(cache, depth, streams, touched) < cache.size_bytes and ways <= cache.ways


def _room(cache: Memory, depth: int, streams: list[_Stream], touched: list[list[_Lines]]) -> float:
    """Bytes that the lines take that one round of so many loops touches."""
    pairs = zip(streams, touched, strict=True)
    return cache.granule_bytes * sum(t[depth].count for s, t in pairs if depth > s.num_quiet)


def _ways(cache: Memory, lines: _Lines) -> float:
    """How many ways rows take where they crowd most; 0 for lines side by side."""
    if not cache.ways or not lines.pitch_bytes:
        return 0.0
    way_bytes = cache.size_bytes // cache.ways
    places = way_bytes // gcd(lines.pitch_bytes, way_bytes)
    return max(lines.rows / places, lines.count * lines.line_bytes / way_bytes)


def _is_crowded(cache: Memory, lines: _Lines) -> bool:
    """Would the lines fit by size, if they did not share so few sets?"""
    return lines.count * lines.line_bytes < cache.size_bytes and _ways(cache, lines) > cache.ways


def _conflicts(cache: Memory, nest: list[_Loop], stream: _Stream, block: _Lines) -> float:
    """Lines of all calls that touch a block whose rows drive each other out."""
    if _ways(cache, block) <= cache.ways:
        return 0.0
    touched = (loop.count for loop in nest if (loop.loop, loop.is_tile) not in stream.still)
    return block.rows * prod(touched)


def _line_bytes(granule: int, stream: _Stream) -> int:
    """A cache's line; pages are as large as those that the array lies on."""
    return stream.page_bytes if granule == PAGE_BYTES else granule


def _lines_by_depth(line: int, nest: list[_Loop], stream: _Stream) -> list[_Lines]:
    """The lines that one round of none, one, two, ... innermost loops touches."""
    dims = sorted((stride, float(count)) for count, stride in stream.inside if stride and count > 1)
    found = [_lines(line, dims, stream.element_bytes)]
    for loop in nest:
        stride = _stride(stream, loop)
        if stride and loop.count > 1:
            insort(dims, (stride, loop.count))
            found.append(_lines(line, dims, stream.element_bytes))
        else:
            found.append(found[-1])
    return found


def _lines(line: int, dims: list[tuple[int, float]], element_bytes: int) -> _Lines:
    """The lines, of so many bytes, that elements touch along (stride, count), lowest first."""
    run, rows, pitch = element_bytes, 1.0, 0
    for stride, count in dims:
        if stride <= run or stride <= line:
            run += ceil(stride * (count - 1))
        else:
            rows *= count
            pitch = pitch or stride
    return _Lines(rows * -(-run // line), line, rows, pitch)


def _bytes_per_cycle(cache: Memory) -> float:
    """The pace at which lines enter."""
    paces = [p.bytes_per_cycle for p in cache.ports if p.direction is not Direction.READ]
    return min(paces, default=float("inf"))
