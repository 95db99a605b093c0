"""Cycles that caches spend on being refilled, which the closed form counts on machines with caches.

In: a covering, a tiling, the machine. Out: busy and waiting cycles per cache. Not its job: what an
access costs that hits the nearest cache (units and ports of the instructions say that), what
overlaps (`analytical`), what is touched (`lines`).

Model. From the innermost loop outwards, the loops are found whose data fit a cache together: by
size, and by ways, since rows whose distance has many factors of two share few sets. Where all do,
nothing is brought in: the run before left it there. Otherwise, one loop further out, everything is
brought in once, shared lines counted once; loops outside that bring it in again, but for those that
an operand has not moved under since. Lines are whole; a target's lines come and go. What stays in
registers takes no room; a packed stay is one more array, beside the one that it is copied from. A
line that begins a row of neighbours, or a page of them, comes unannounced and takes the cache's
latency on top. Where the rows of a single call share too few sets, each of its lines comes again
with every call on its neighbours; sums that are taken up again from such rows wait for the stores
before them. A cache whose lines are pages is a buffer of their addresses. Of a cache that others
use, too, less stays the more is wanted of it.
"""

from dataclasses import dataclass, replace
from math import ceil, gcd, prod

from isamap.hwdesc import Direction, Hardware, Memory, PrefetchForm
from isamap.mapper import Covering

from .lines import (
    Lines,
    NestLoop,
    Stream,
    find_nest,
    find_streams,
    line_bytes_of,
    lines_by_depth,
    stride_of,
    touched_lines,
)
from .tiling import Tiling


@dataclass(frozen=True, slots=True)
class Refills:
    """Cycles in which a cache takes in lines, and what unannounced lines wait on top."""

    busy_cycles: float
    waiting_cycles: float


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
    nest = find_nest(covering, tiling, hw)
    streams = list(find_streams(covering, tiling, nest, hw))
    lines: dict[int, list[list[Lines]]] = {}  # by their size: caches mostly have the same
    for size in (cache.granule_bytes for cache in hw.caches):
        if size not in lines:
            lines[size] = [lines_by_depth(line_bytes_of(size, x), nest, x) for x in streams]
    hints = [NO_HINTS for _ in streams]
    found = []
    for cache in hw.caches:
        if cache.prefetch is not None:
            hints = [_hints(nest, stream, cache, cache.prefetch) for stream in streams]
        found.append(_shared(cache, nest, streams, lines[cache.granule_bytes], hints))
    return tuple(found)


def _shared(
    cache: Memory,
    nest: list[NestLoop],
    streams: list[Stream],
    touched: list[list[Lines]],
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
    nest: list[NestLoop],
    streams: list[Stream],
    touched: list[list[Lines]],
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
        is_unmoved = fitting >= 0 and not stride_of(stream, nest[fitting])
        for loop in nest[fitting + 1 :]:
            is_unmoved = is_unmoved and not stride_of(stream, loop)
            is_still = is_unmoved or (loop.loop, loop.is_tile) in stream.still
            times *= 1 if is_still else loop.count
        count = stream.times * times * lines.count
        busy += count * (line + hint.in_rows * (asked - line))
        starts += times * _unannounced(cache, nest, stream, lines) * hint.missing
        conflicts += _conflicts(cache, nest, stream, by_depth[0])
        if stream.times > 1 and _is_crowded(cache, stream, lines):
            new = 0.0 if stream.is_read else by_depth[-1].count
            conflicts += stream.times * (times * lines.count - new)  # loads wait for stores
    waiting = starts * cache.latency_cycles + conflicts * cache.conflict_cycles
    return Refills(busy, waiting)


def _unannounced(cache: Memory, nest: list[NestLoop], stream: Stream, lines: Lines) -> float:
    """Lines that no prefetcher foresees: the first of each page, and of each row of neighbours that
    the loops walk along, as far as they walk few enough side by side. Where a prefetcher follows
    several, their pages begin together."""
    run, rows = float(stream.element_bytes), 1.0
    for count, stride in (*stream.inside, *((x.count, stride_of(stream, x)) for x in nest)):
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


def _hints(nest: list[NestLoop], stream: Stream, cache: Memory, form: PrefetchForm) -> _Hints:
    """The program asks in the innermost tile loop that moves the stream, where each iteration moves
    it to new lines (a call takes a cycle), for what the calls in its body read: of a sum's units
    those are the first and the last, unless the innermost loop asks. Not where each call walks over
    several lines by itself, or the loop along lines faster than it could ask for them, nor in
    packed stays."""
    line = cache.granule_bytes
    depth = next((n for n, x in enumerate(nest) if x.is_tile and stride_of(stream, x)), None)
    if depth is None or stream.is_packed or stride_of(stream, nest[depth]) < line:
        return NO_HINTS
    walked = [(stride_of(stream, loop), loop.count) for loop in nest[:depth]]
    call = stream.element_bytes + sum(s * (count - 1) for count, s in stream.inside)
    reach = call + sum(s * (count - 1) for s, count in walked)
    calls, stride = prod(loop.count for loop in nest[:depth]), stride_of(stream, nest[depth])
    if stride <= reach and (call > line or calls * line < cache.asked_cycles * stride):
        return NO_HINTS
    late = min(1.0, ceil(form.ahead_cycles / calls) / nest[depth].count)
    asked = 1.0 - late
    if not _asks_ahead(nest, stream, cache):
        sums = prod(x.count for x in nest[:depth] if x.is_sum and stride_of(stream, x))
        asked *= min(1.0, 2 / sums)
    if stride <= reach:
        return _Hints(1.0 - asked, 0.0)
    dims = sorted(d for d in (*((s, float(n)) for n, s in stream.inside), *walked) if d[0])
    rows = touched_lines(line, dims, stream.element_bytes)
    return _Hints(1.0 - asked, asked * rows.rows / rows.count)


def _asks_ahead(nest: list[NestLoop], stream: Stream, cache: Memory) -> bool:
    """Does the program's innermost loop, along lines, ask for what the loop around it reads in a
    later iteration?"""
    loops = [loop for loop in nest if not loop.is_written_out]
    if len(loops) < 2:
        return False
    along, far = stride_of(stream, loops[0]), stride_of(stream, loops[1])
    is_kept = loops[1].count * far <= cache.size_bytes
    return 0 < along < cache.granule_bytes <= far and not is_kept


def _fits(cache: Memory, depth: int, streams: list[Stream], touched: list[list[Lines]]) -> bool:
    """Do all lines that one round of so many loops touches stay in the cache, and others enter?"""
    kept = ((s, by_depth[depth]) for s, by_depth in zip(streams, touched) if depth > s.num_quiet)
    ways = sum(_ways(cache, stream, lines) for stream, lines in kept) if cache.ways else 0.0
    return _room(cache, depth, streams, touched) < cache.size_bytes and ways <= cache.ways


def _room(cache: Memory, depth: int, streams: list[Stream], touched: list[list[Lines]]) -> float:
    """Bytes that the lines take that one round of so many loops touches."""
    pairs = zip(streams, touched, strict=True)
    return cache.granule_bytes * sum(t[depth].count for s, t in pairs if depth > s.num_quiet)


def _ways(cache: Memory, stream: Stream, lines: Lines) -> float:
    """How many ways rows take where they crowd most; 0 for lines side by side. Where a way is
    larger than a page, it is the pages' addresses that say which rows share a set: any do."""
    if not cache.ways or not lines.pitch_bytes:
        return 0.0
    way_bytes = cache.size_bytes // cache.ways
    places = way_bytes // gcd(lines.pitch_bytes, way_bytes, stream.page_bytes)
    return max(lines.rows / places, lines.count * lines.line_bytes / way_bytes)


def _is_crowded(cache: Memory, stream: Stream, lines: Lines) -> bool:
    """Would the lines fit by size, if they did not share so few sets?"""
    ways = _ways(cache, stream, lines)
    return lines.count * lines.line_bytes < cache.size_bytes and ways > cache.ways


def _conflicts(cache: Memory, nest: list[NestLoop], stream: Stream, block: Lines) -> float:
    """Lines of all calls that touch a block whose rows drive each other out."""
    if _ways(cache, stream, block) <= cache.ways:
        return 0.0
    touched = (loop.count for loop in nest if (loop.loop, loop.is_tile) not in stream.still)
    return block.rows * prod(touched)


def _bytes_per_cycle(cache: Memory) -> float:
    """The pace at which lines enter."""
    paces = [p.bytes_per_cycle for p in cache.ports if p.direction is not Direction.READ]
    return min(paces, default=float("inf"))
