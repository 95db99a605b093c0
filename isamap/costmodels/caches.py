"""Cycles that caches spend on being refilled, which the closed form counts on machines with caches.

In: a covering, a tiling, the machine. Out: busy and waiting cycles per cache. Not its job: what an
access costs that hits the nearest cache (units and ports of the instructions say that), what
overlaps (`analytical`), what is touched (`lines`).

Model. From the innermost loop outwards, the loops are found whose data fit a cache together: by
size, and by ways, since rows whose distance has many factors of two share few sets (lines side by
side lie in all sets: of them, size alone). Where all do, nothing is brought in: the run before left
it there. Otherwise, one loop further out, everything is brought in once, shared lines counted once;
loops outside that bring it in again, but for those that an operand has not moved under since. Lines
are whole; a target's lines come and go. What stays in registers takes no room; a packed stay is one
more array, beside the one that it is copied from, which most rounds do not touch: what fits, fits
in those. A line that begins a row of neighbours, or a page of them, comes unannounced and takes the
cache's latency on top; so do lines of unfinished sums, for which calls wait (`awaited_sums`). Where
the rows of a single call share too few sets, each of its lines comes again with every call on its
neighbours; sums that are taken up again from such rows wait for the stores before them, and rows of
one call that are stored to the same set wait for each other, if the machine says so, and so do
tiles of sums for the one stored before them (`resumed_tiles`). Rows side by side enter at a slower
pace where too many lines of others come between two visits to one. A cache whose lines are pages is
a buffer of their addresses. Of a cache that others use, too, less stays the more is wanted of it.
Where the machine says so, rounds of a loop miss some of what the one before them brought, though
there is room for it: the more, the more of the cache they touch; and the first of several rounds
waits for what all of them read (`first_rounds`).
"""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from isamap.hwdesc import Hardware, Memory
from isamap.mapper import Covering

from .awaited_sums import awaited_share
from .first_rounds import count_rounds, waited_cycles
from .hints import Asking, Hints, find_hints
from .lines import (
    KnownStreams,
    Lines,
    NestLoop,
    Stream,
    find_nest,
    find_streams,
    line_bytes_of,
    lines_by_depth,
)
from .missing_share import missing_share
from .resumed_tiles import aliased_tiles, crowded_lines, tile_loops
from .runs import LEAST_SHARE, are_too_many, lone_cycles, rows_beside, run_bytes, strayed_cycles
from .sets import conflict_cycles, is_crowded, ways_taken
from .tiling import Tiling

LOST_POWER = 1.5  # of a cache's share: estimate, fitted with `lost` to products on Redwood Cove


class Refills(NamedTuple):
    """Cycles in which a cache takes in lines, and what unannounced lines wait on top; of the first,
    those for what is copied into packed stays."""

    busy_cycles: float
    waiting_cycles: float
    packed_cycles: float = 0.0


NO_REFILLS = Refills(0.0, 0.0)


class _Touched(NamedTuple):
    """Per stream, the lines of none, one, two, ... innermost loops; for as many, those that stay in
    caches meanwhile, with their streams, and their bytes."""

    lines: list[list[Lines]]
    kept: list[list[tuple[Stream, Lines]]]
    rooms: list[float]


def refill_cycles(
    covering: Covering,
    tiling: Tiling,
    hw: Hardware,
    known: KnownStreams | None = None,
    there: frozenset[str] = frozenset(),
) -> tuple[Refills, ...]:
    """What each cache, the nearest first, takes in; `known`: of the same covering and machine, with
    the same operands `there` (as in a `Work`)."""
    found = dict(each_refill(covering, tiling, hw, known, there))
    return tuple(found[number] for number in range(len(hw.caches)))


def each_refill(
    covering: Covering,
    tiling: Tiling,
    hw: Hardware,
    known: KnownStreams | None = None,
    there: frozenset[str] = frozenset(),
) -> Iterator[tuple[int, Refills]]:
    """The same, cache by cache, by its number: those of short lines, which take in most, first."""
    if not hw.caches:
        return
    nest = find_nest(covering, tiling, hw)
    alike = {} if known is None else known
    streams = list(find_streams(covering, tiling, nest, hw, alike, there))
    unit = hw.instruction(covering.instruction).unit
    pace = 1 / hw.num_units(unit)
    computing = pace * prod(loop.count for loop in nest)
    touched: dict[int, _Touched] = {}  # by the lines' size: caches mostly have the same
    hints: dict[str, list[Hints]] = {}  # by the cache that programs ask for lines
    for number, cache in sorted(enumerate(hw.caches), key=lambda pair: pair[1].granule_bytes):
        line = cache.granule_bytes
        if line not in touched:
            touched[line] = _touch(line, nest, streams)
        asked = next((c for c in hw.caches[number::-1] if c.prefetch is not None), cache)
        if asked.name not in hints:
            asking = Asking(asked, hw.last_cache(asked), pace)
            hints[asked.name] = [find_hints(nest, stream, asking) for stream in streams]
        rush = (asked, computing) if cache.rushed_share else None
        yield number, _shared(cache, nest, streams, touched[line], hints[asked.name], rush)


def _touch(granule: int, nest: list[NestLoop], streams: list[Stream]) -> _Touched:
    lines = [lines_by_depth(line_bytes_of(granule, stream), nest, stream) for stream in streams]
    kept: list[list[tuple[Stream, Lines]]] = [[] for _ in range(len(nest) + 1)]
    for stream, by_depth in zip(streams, lines, strict=True):
        for depth in range(_first_kept(granule, nest, stream), len(nest) + 1):
            kept[depth].append((stream, by_depth[depth]))
    rooms = [granule * sum(lines.count for _, lines in some) for some in kept]
    return _Touched(lines, kept, rooms)


def _first_kept(granule: int, nest: list[NestLoop], stream: Stream) -> int:
    """The least number of loops most rounds of which touch the stream, not only those of the first
    iteration outside: those that copy it, or what is around them where that comes back to lines
    that they touched."""
    first, rounds = len(nest) + 1, 1.0
    quiet = stream.num_quiet
    comes_back = 0 <= quiet < len(nest) and 0 < stream.strides[quiet] < granule
    for depth in range(len(nest), quiet - 1 if comes_back else quiet, -1):
        rounds *= nest[depth].count if depth < len(nest) and stream.still[depth] else 1.0
        if rounds > 2:
            break
        first = depth
    return first


def _shared(
    cache: Memory,
    nest: list[NestLoop],
    streams: list[Stream],
    touched: _Touched,
    hints: list[Hints],
    rush: tuple[Memory, float] | None,
) -> Refills:
    """As `_refills`; what is between the size that others leave and all of it stays in part, or in
    what they leave where any line makes room. Others lie in all sets alike: rows that crowd have
    all ways of theirs."""
    if not 0 < cache.left_bytes < cache.size_bytes:
        return _refills(cache, cache.size_bytes, nest, streams, touched, hints, rush)
    if cache.replaces_at_random:
        return _refills(cache, cache.left_bytes, nest, streams, touched, hints, rush)
    whole = _refills(cache, cache.size_bytes, nest, streams, touched, hints, rush)
    room = max((room for room in touched.rooms if room < cache.size_bytes), default=0.0)
    share = (room - cache.left_bytes) / (cache.size_bytes - cache.left_bytes)
    if share <= 0.0:
        return whole
    left = _refills(cache, cache.left_bytes, nest, streams, touched, hints, rush)
    return Refills(
        whole.busy_cycles + share * (left.busy_cycles - whole.busy_cycles),
        whole.waiting_cycles + share * (left.waiting_cycles - whole.waiting_cycles),
        whole.packed_cycles + share * (left.packed_cycles - whole.packed_cycles),
    )


def _refills(
    cache: Memory,
    room_bytes: int,
    nest: list[NestLoop],
    streams: list[Stream],
    touched: _Touched,
    hints: list[Hints],
    rush: tuple[Memory, float] | None,
) -> Refills:
    """`rush`: the cache that is asked early, and cycles of computing, where the first of several
    rounds waits for what it brings."""
    spread = _num_fitting(room_bytes, touched)
    crowded = _num_in_ways(cache, touched, spread)
    if crowded == len(nest):
        return NO_REFILLS
    in_rows = _shares(cache, room_bytes, cache.ways, touched, crowded)
    in_order = _shares(cache, room_bytes, 0, touched, spread)
    busy = packed = starts = conflicts = 0.0
    lost = _lost_shares(cache, nest, touched.rooms) if cache.lost_share else None
    line = cache.granule_bytes / cache.refill_bytes_per_cycle
    for stream, by_depth, hint in zip(streams, touched.lines, hints, strict=True):
        new = 0.0 if stream.is_read else by_depth[-1].count
        before = busy
        more, shown = _beyond_pace(cache, room_bytes, nest, stream, streams, touched, hint)
        # lines side by side lie in all sets alike, and those where other rows crowd are few
        for fitting, share in in_rows if by_depth[crowded + 1].pitch_bytes else in_order:
            lines = by_depth[fitting + 1]
            times = _times(nest, stream, fitting)
            count = stream.times * stream.gaps * times * lines.count
            if lost and stream.is_read:
                count += stream.gaps * _lost_lines(nest, stream, by_depth, lost, fitting)
            taken = share * count * (line + more)
            busy += taken
            packed += taken if stream.goes_packed else 0.0
            conflicts += share * count * shown
            # a last, shorter tile is part of `times`, its lines are whole among the new ones
            again = max(0.0, times * lines.count - new)
            if cache.latency_cycles and stream.is_awaited:
                run = run_bytes(cache, nest, stream, lines.line_bytes)
                tile = by_depth[max(0, stream.num_quiet)]
                starts += share * again * awaited_share(cache, tile, run)
            elif cache.latency_cycles and hint.missing:
                run = run_bytes(cache, nest, stream, lines.line_bytes)
                starts += share * times * lines.count * lines.line_bytes / run * hint.missing
            if stream.times > 1 and _is_taken_up_crowded(cache, stream, by_depth, lines):
                conflicts += share * cache.resumed_conflict_cycles * stream.times * again
        if rush is not None:
            rounds = count_rounds(nest, stream, by_depth, touched.rooms, rush[0])
            waited = waited_cycles(busy - before, rush[1], rounds)
            conflicts += cache.rushed_share * waited
        conflicts += conflict_cycles(cache, nest, stream, by_depth[0])
    conflicts += _resumed_cycles(cache, nest, streams, touched)
    return Refills(busy, starts * cache.latency_cycles + conflicts, packed)


def _beyond_pace(
    cache: Memory,
    room_bytes: int,
    nest: list[NestLoop],
    stream: Stream,
    streams: list[Stream],
    touched: _Touched,
    hint: Hints,
) -> tuple[float, float]:
    """Cycles that a line takes beyond the cache's pace, and those of them that calls wait for."""
    line, size = (
        cache.granule_bytes / cache.refill_bytes_per_cycle,
        line_bytes_of(cache.granule_bytes, stream),
    )
    strayed = 0.0
    # of what others drive out, prefetchers miss little; copies do nothing else meanwhile
    is_whole = room_bytes == cache.size_bytes or cache.replaces_at_random
    if is_whole or stream.goes_packed:
        beside = None
        if cache.strayed_cycles and hint.missing == 1.0:
            beside = rows_beside(nest, stream, streams, touched.lines)
        strayed = strayed_cycles(cache, nest, stream, size, beside) - line
    asked = hint.in_rows * (max(line, cache.asked_cycles) - line)
    lone = lone_cycles(cache, nest, stream, size)
    is_shown = strayed > 0.0 and stream.goes_packed and are_too_many(cache, nest, stream, size)
    return lone + max(asked, strayed), strayed if is_shown else 0.0


def _resumed_cycles(
    cache: Memory, nest: list[NestLoop], streams: list[Stream], touched: _Touched
) -> float:
    """What tiles of sums wait, each time that they are loaded again."""
    waiting = 0.0
    for sums in streams if cache.aliased_cycles or cache.crowded_cycles else ():
        if sums.times > 1 and not sums.is_packed:
            depth = tile_loops(sums)
            found = zip(streams, touched.lines, strict=True)
            read = [(stream, lines[depth]) for stream, lines in found if stream.times == 1]
            ways = _all_ways_taken(cache, touched, depth)
            lines = crowded_lines(cache, nest, sums, read, ways)
            waiting += cache.crowded_cycles * lines
            waiting += cache.aliased_cycles * aliased_tiles(nest, sums)
    return waiting


def _shares(
    cache: Memory, room_bytes: int, ways: int, touched: _Touched, fitting: int
) -> list[tuple[int, float]]:
    """How many innermost loops' lines stay, and in which share of cases: where the line used least
    recently makes room, as many as fit; where any does, some stay of what is too much, too. `ways`:
    0 where lines lie in all sets alike."""
    found = []
    left = 1.0
    for depth in range(fitting, len(touched.rooms) - 1):
        share = 1.0
        if cache.replaces_at_random:
            share = missing_share(_crowding(cache, room_bytes, ways, touched, depth + 1))
        found.append((depth, left * share))
        left *= 1.0 - share
        if left < LEAST_SHARE:
            break
    return found


def _crowding(cache: Memory, room_bytes: int, ways: int, touched: _Touched, depth: int) -> float:
    """How many times as many lines as there are places: in all, or where most share a set."""
    crowding = touched.rooms[depth] / room_bytes
    return max(crowding, _all_ways_taken(cache, touched, depth) / ways) if ways else crowding


def _lost_shares(cache: Memory, nest: list[NestLoop], rooms: list[float]) -> list[float]:
    """Per loop, of lines that a round of it touches those that later rounds, all together, miss
    though there is room for them: others come in, asked for or not, and half of what is brought
    back stays until the round after."""
    found = []
    for loop, room in zip(nest, rooms, strict=False):
        each = min(1.0, cache.lost_share * (room / cache.size_bytes) ** LOST_POWER)
        found.append(2 * (1 - 0.5 ** (loop.count - 1)) * each if loop.count > 1 else 0.0)
    return found


def _lost_lines(
    nest: list[NestLoop], stream: Stream, by_depth: list[Lines], lost: list[float], fitting: int
) -> float:
    """What rounds that find the stream again miss of it, of so many innermost loops."""
    found, times = 0.0, 1.0
    for depth in range(len(nest) - 1, -1, -1):
        if stream.strides[depth]:
            times *= nest[depth].count
        elif depth < fitting and lost[depth]:
            found += lost[depth] * by_depth[depth].count * times
    return found


def _times(nest: list[NestLoop], stream: Stream, fitting: int) -> float:
    """How often the loops around those whose data fit bring in what they touch."""
    times = 1.0
    is_unmoved = fitting >= 0 and not stream.strides[fitting]
    for depth in range(fitting + 1, len(nest)):
        is_unmoved = is_unmoved and not stream.strides[depth]
        if not is_unmoved and not stream.still[depth]:
            times *= nest[depth].count
    return times


def _is_taken_up_crowded(
    cache: Memory, stream: Stream, by_depth: list[Lines], lines: Lines
) -> bool:
    """Do sums drive each other out that are taken up again: those that do not stay, or those of a
    single tile, between their loads and their stores?"""
    tile = by_depth[max(0, stream.num_quiet)]
    return bool(cache.ways) and any(is_crowded(cache, stream, x) for x in (lines, tile))


def _num_fitting(room_bytes: int, touched: _Touched) -> int:
    """How many loops' lines stay in a cache of that size, while others enter (-1: not even a single
    call's)."""
    rooms = enumerate(touched.rooms)
    return next((n for n, room in rooms if room >= room_bytes), len(touched.rooms)) - 1


def _num_in_ways(cache: Memory, touched: _Touched, fitting: int) -> int:
    """Of so many whose lines fit by their size, how many loops' rows find room in the ways."""
    if not cache.ways:
        return fitting
    for depth in range(fitting + 1):
        if _all_ways_taken(cache, touched, depth) > cache.ways:
            return depth - 1
    return fitting


def _all_ways_taken(cache: Memory, touched: _Touched, depth: int) -> float:
    """By the rows that stay meanwhile, where they crowd most."""
    return sum(
        [ways_taken(cache, s, lines) for s, lines in touched.kept[depth] if lines.pitch_bytes]
    )
