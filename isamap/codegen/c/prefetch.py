"""Ask caches early for what a loop reads anew in each iteration.

In: nodes for C, the machine. Out: the same nodes, with hints in loops. Not its job: text, what
hints are worth (`costmodels`).

A loop that moves by a row in each iteration touches lines that lie far apart, which no prefetcher
of the hardware follows; where it moves by a few lines that lie side by side, prefetchers stop at
the end of each page; a single row of them may be asked for into a nearer cache, or, where it is
read once and may lie in memory, from far; loops that go on where the ones in them end are one walk.
Of several rows too short for prefetchers all lines are asked for, of a single one that is shorter
than lines take those of the next row. Each line that its own calls read, of neighbours each that is
new, is asked for as many iterations ahead as the machine says; where arrays that no cache holds
enter more slowly than calls run, that is the pace. Where a loop over rows is shorter than that, and
the one around it moves along them, it asks for what lies next in each row, at its end in the rows
that follow (in those to which the next loop around goes on, where rows are short): prefetchers stop
at the end of each page, of which such loops walk through many at once. A loop that moves within
lines, or by lines along several rows, asks for the rows where a loop around it goes on, line by
line, while it runs, unless all that the outer loop walks over stays in the cache, or its calls walk
along one row each, so few and so long that prefetchers follow them (not a single one, where the
machine says that hints are worth it there). Where calls read new lines along rows faster than hints
bring them, or than rows that prefetchers follow enter from memory, those are left alone: hints take
places among what is under way. So are sums that many rounds find in the cache. Many hints of an
iteration that runs loops are shared out among their iterations (`turns`). What rounds of a loop
read again stays in the cache; they share what comes next (`shares`). Copies in memories within the
external one are like arrays, unless they stay there. Of a program whose arrays all stay in the
cache, from one run to the next, nothing is asked for.
"""

from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise, takewhile
from math import gcd, prod

from isamap.hwdesc import Hardware, Memory

from .nodes import CBehind, CCall, CHint, CIf, CLoop, CNode, CRegion, CShare, CTurn
from .pace import Pace, calls_cycles, entering_cycles
from .reads import (
    Place,
    Read,
    Terms,
    length_of,
    lines_of,
    new_lines,
    reads_by_terms,
    reads_within,
    runs_of,
    span_bytes,
    touched_bytes,
    walked_bytes,
)
from .rests import NOTHING, Rests, rests_of
from .shares import MANY_ROUNDS, MAX_HINTS, find_shares, walk_of
from .turns import Path, find_turns, put_before


def add_prefetches(nodes: tuple[CNode, ...], hw: Hardware, arrays_bytes: int) -> tuple[CNode, ...]:
    """The nodes with hints for the nearest cache that takes any; `arrays_bytes`: of all arrays."""
    cache = next((memory for memory in hw.caches if memory.prefetch is not None), None)
    if cache is None or arrays_bytes < cache.size_bytes:
        return nodes
    return tuple(_with_hints(node, hw, cache, (), NOTHING) for node in nodes)


def _with_hints(
    node: CNode, hw: Hardware, cache: Memory, around: tuple[CLoop, ...], there: Rests
) -> CNode:
    """`around`: loops that the node is in, the innermost first; `there`: what nests before one of
    them, in the same iteration, left in the cache."""
    match node:
        case CLoop():
            body: tuple[CNode, ...] = ()
            rests = there
            for inner in node.body:
                body += (_with_hints(inner, hw, cache, (node, *around), rests),)
                rests = rests_of(inner, hw, cache, (node, *around)) or rests
            is_innermost = not any(isinstance(inner, CLoop) for inner in body)
            asked: dict[Place, tuple[CHint | CTurn, ...]] = {}
            if is_innermost:
                asked = find_shares(node, hw, cache, around)
            if around and is_innermost:
                asked |= _rows_to_come(node, hw, cache, around)
            further: dict[Place, list[tuple[Path, CNode]]] = {}
            if around and is_innermost:
                further = _next_to_rows(node, hw, cache, around, asked)
            asked_for = {*asked, *further}
            own = _own_hints(replace(node, body=body), hw, cache, around, asked_for, there)
            hinted = put_before(body, [*own, *(x for hints in further.values() for x in hints)])
            hinted = (*(hint for hints in asked.values() for hint in hints), *hinted)
            return replace(node, body=hinted)
        case CIf() | CShare() | CRegion():
            body = tuple(_with_hints(inner, hw, cache, around, there) for inner in node.body)
            return replace(node, body=body)
        case CCall() | CHint() | CTurn():
            return node


def _own_hints(
    loop: CLoop,
    hw: Hardware,
    cache: Memory,
    around: tuple[CLoop, ...],
    asked: Collection[Place],
    there: Rests,
) -> list[tuple[Path, CNode]]:
    """Before the first call that reads a line, the hint for a later one, unless they are `asked`
    for otherwise. What loops walk along once is asked for from far, what is `there` into a nearer
    cache."""
    assert cache.prefetch is not None, "the cache takes hints"
    cycles = calls_cycles(loop.body, hw)
    ahead = _ahead(loop, hw, cache, around)
    line = cache.granule_bytes
    is_outer = any(isinstance(node, CLoop) for node in loop.body)
    hints: list[tuple[Path, CNode]] = []
    for (memory, terms), reads in reads_by_terms(loop.body, hw, line).items():
        step = dict(terms).get(loop.name, 0)
        if abs(step) < line or (memory, terms) in asked:
            continue  # in the same line for some iterations
        is_small = walked_bytes(terms, (loop, *around)) <= cache.size_bytes
        if is_small and (
            memory != hw.external.name or _stays(dict(terms), loop, hw, cache, around)
        ):
            continue  # copied or found there before, and still in the cache
        grid = gcd(line, *(c for _, c in terms))
        is_walk = abs(step) <= span_bytes(reads)
        runs = runs_of(reads)
        is_along = is_walk and len(runs) == 1 and cache.prefetch.walk is not None
        along = walk_of(loop, around, dict(terms))
        length = prod(map(length_of, along))
        if ahead is None and not (is_along and cache.iterations_ahead(cycles) < length):
            continue
        is_left = not _are_short_rows(runs, step, loop, cache)
        is_inside = is_outer and not is_along
        if is_walk and is_left and (is_inside or any(r.last - r.first >= line for r in reads)):
            continue  # each call walks by itself, or most of them in a loop further inside
        found = [
            (place, run)
            for run in runs
            for place in (new_lines(run, line, step) if is_walk else lines_of(run, line, grid))
        ]
        if is_walk and cycles < cache.asked_cycles * len(found) and not is_along:
            continue  # prefetchers of the hardware are faster
        if len(found) > MAX_HINTS:
            continue
        if is_along:
            is_there = there.hold(reads, memory, (loop, *around))
            distance = _along(reads, along, around, cache, cycles, len(found), is_there=is_there)
        else:
            assert ahead is not None, "only walks are long where the loop is not"
            distance = ahead * step, False
        hints += _hints_at(found, distance, loop, hw)
    return hints


def _along(
    reads: list[Read],
    along: tuple[CLoop, ...],
    around: tuple[CLoop, ...],
    cache: Memory,
    cycles: float,
    num_lines: int,
    *,
    is_there: bool,
) -> tuple[int, bool]:
    """How many bytes ahead so many new lines of a walk are asked for in each iteration, of so many
    cycles, of the innermost of the loops `along`, and whether into a nearer cache: not what is read
    once of large arrays. `around`: all loops around that one."""
    assert cache.prefetch is not None, "the cache takes hints"
    terms = reads[0].operand.address.offset.terms
    steps, loop = dict(terms), along[0]
    step = steps[loop.name]
    is_kept = touched_bytes(reads, along, cache.granule_bytes) <= cache.size_bytes
    is_again = is_kept and _is_found_again(steps, around[len(along) - 1 :])
    is_large = walked_bytes(terms, (loop, *around)) >= cache.prefetch.once_from_bytes
    if cache.prefetch.once_bytes and is_large and not (is_again or is_there):
        length = prod(map(length_of, along))
        return step * cache.iterations_along(cycles, num_lines, step, length), False
    return step * cache.iterations_ahead(cycles, num_lines), True


def _hints_at(
    found: list[tuple[int, list[Read]]], distance: tuple[int, bool], loop: CLoop, hw: Hardware
) -> list[tuple[Path, CNode]]:
    """Hints for places, each in a run of reads, so many bytes ahead, into a nearer cache or not;
    many of them shared out among the iterations of loops."""
    far, is_near = distance
    turns = find_turns([place for place, _ in found], loop.body, hw)
    asked = found[: turns.count] if turns else found
    hints = [replace(_hint_for(run, place, far), is_along=is_near) for place, run in asked]
    if turns:
        return [(turns.path, node) for node in turns.share(hints)]
    readers = (_read_at(run, place).number for place, run in asked)
    return [((number,), hint) for number, hint in zip(readers, hints, strict=True)]


def _is_found_again(steps: dict[str, int], around: tuple[CLoop, ...]) -> bool:
    """Do rounds of the loops around, the innermost first, read the same before one goes on?"""
    rounds = takewhile(lambda loop: not steps.get(loop.name), around)
    return any(length_of(loop) > 1 for loop in rounds)


def _stays(
    steps: dict[str, int], loop: CLoop, hw: Hardware, cache: Memory, around: tuple[CLoop, ...]
) -> bool:
    """Do many rounds of the loop find what the first one brought?"""
    line = cache.granule_bytes
    rounds = takewhile(lambda outer: not steps.get(outer.name), around)
    if prod(map(length_of, rounds)) < MANY_ROUNDS:
        return False
    found = reads_within(loop.body, hw, line, (loop,))
    return sum(touched_bytes(reads, loops, line) for _, reads, loops in found) <= cache.size_bytes


def _are_short_rows(runs: list[list[Read]], step: int, loop: CLoop, cache: Memory) -> bool:
    """Does a loop go on within several rows that lie apart, none of which it reads twice, and which
    prefetchers of the hardware do not follow?"""
    ends = [max(read.last for read in run) for run in runs]
    is_new = all(after[0].first - end > abs(step) for end, after in zip(ends, runs[1:]))
    return len(runs) > 1 and is_new and not cache.follows(len(runs), abs(step) * length_of(loop))


def _ahead(loop: CLoop, hw: Hardware, cache: Memory, around: tuple[CLoop, ...]) -> int | None:
    """How many iterations ahead lines are asked for; None where the loop has no more than that, as
    far as its calls set the pace."""
    calls = calls_cycles(loop.body, hw)
    if isinstance(loop.stop, int) and cache.iterations_ahead(calls) >= length_of(loop):
        return None
    return cache.iterations_ahead(max(calls, entering_cycles(loop, hw, cache, around)))


def _next_to_rows(
    loop: CLoop, hw: Hardware, cache: Memory, around: tuple[CLoop, ...], asked: Collection[Place]
) -> dict[Place, list[tuple[Path, CNode]]]:
    """In a loop over rows, before the first call that reads a line, the hint for the one in the
    same row to which the loop around it goes on, along the rows, in a later iteration; where that
    loop is short, too, for the line in the rows to which the next one around goes on. Not where the
    loop itself asks for a larger share of them."""
    found = (
        (outer, around[n:], _ahead(outer, hw, cache, around[n:]))
        for n, outer in enumerate(around[:2], 1)
    )
    asking, further_out, ahead = next((x for x in found if x[2] is not None), (loop, (), None))
    own = _ahead(loop, hw, cache, around)
    if ahead is None or (own is not None and _late(own, loop) <= _late(ahead, asking)):
        return {}
    line = cache.granule_bytes
    pace = Pace.of(around[0], hw, cache)
    hints: dict[Place, list[tuple[Path, CNode]]] = {}
    for place_of, reads in reads_by_terms(loop.body, hw, line).items():
        terms = place_of[1]
        steps, size = dict(terms), span_bytes(reads)
        far = steps.get(around[0].name, 0)
        is_along = line <= far <= size < steps.get(loop.name, 0) and len(runs_of(reads)) == 1
        walked = walked_bytes(terms, (loop, *around))
        is_kept = walked <= cache.size_bytes
        further = ahead * steps.get(asking.name, 0)
        if not further or place_of in asked or not is_along or is_kept or size > MAX_HINTS * line:
            continue
        new, row_bytes = length_of(loop) * far / line, far * length_of(around[0])
        if pace.outruns_hints(new, walked, length_of(loop), row_bytes):
            continue
        behind = _behind(asking, ahead, further_out, terms)
        for place in lines_of(reads, line, gcd(line, *steps.values())):
            hint = replace(_hint_for(reads, place, further), behind=behind)
            path = (_read_at(reads, place).number,)
            hints.setdefault(place_of, []).append((path, hint))
    return hints


def _late(ahead: int, loop: CLoop) -> float:
    """The share of a loop's iterations whose lines nobody asks for so many ahead."""
    return ahead / loop.limit


def _behind(asking: CLoop, ahead: int, around: tuple[CLoop, ...], terms: Terms) -> CBehind | None:
    """Where the loop's last iterations ask for what lies behind it: what the next iteration of the
    one around begins with. As far as it is known, and another place."""
    if not around or not isinstance(asking.stop, int):
        return None
    steps = dict(terms)
    more = steps.get(around[0].name, 0) - length_of(asking) * steps.get(asking.name, 0)
    return CBehind(asking.name, asking.stop - ahead, more) if more else None


def _rows_to_come(
    loop: CLoop, hw: Hardware, cache: Memory, around: tuple[CLoop, ...]
) -> dict[Place, tuple[CHint | CTurn, ...]]:
    """Hints in a loop that moves within lines, or along several rows by whole ones, for what it
    reads when the one around it goes on."""
    outer = around[0]
    ahead = _ahead(outer, hw, cache, around[1:])
    if ahead is None or not isinstance(outer.stop, int):
        return {}
    assert cache.prefetch is not None, "the cache takes hints"
    line, count, cycles = cache.granule_bytes, length_of(outer), calls_cycles(loop.body, hw)
    pace = Pace.of(outer, hw, cache)
    found: dict[Place, tuple[CHint | CTurn, ...]] = {}
    for moved_alike, reads in reads_by_terms(loop.body, hw, line).items():
        terms, runs = moved_alike[1], runs_of(reads)
        step, far = (dict(terms).get(x.name, 0) for x in (loop, outer))
        is_kept = count * abs(far) <= cache.size_bytes
        if not is_kept and touched_bytes(reads, (loop, outer), line) <= cache.size_bytes:
            moved = [n for n, x in enumerate(around) if n and dict(terms).get(x.name)]
            rounds = around[1 : moved[0] if moved else len(around)]
            is_kept = prod(map(length_of, rounds)) >= MANY_ROUNDS
        # a call on many rows waits for the slowest
        is_one_each = len({run[0].number for run in runs}) == len(runs)
        is_followed = is_one_each and cache.follows(len(runs), abs(step) * length_of(loop))
        is_short_row = (
            len(runs) == 1
            and cache.prefetch.walk is not None
            and step <= runs[0][-1].last - runs[0][0].first + 1
            and cache.iterations_ahead(cycles) >= length_of(loop)
            and far != step * length_of(loop)
        )
        if is_kept or is_followed or not 0 < abs(step) <= abs(far) or abs(far) < line:
            continue
        walked, row_bytes = walked_bytes(terms, (loop, *around)), abs(step) * length_of(loop)
        if pace.outruns_hints(len(runs) * row_bytes / line, walked, len(runs), row_bytes):
            continue
        if abs(step) < line:
            asked = tuple(_hint_for(run, run[0].first, ahead * far) for run in runs)
            hints: tuple[CHint | CTurn, ...] = (
                CTurn(loop.name, line // abs(step), loop.first, asked),
            )
        elif _are_rows_along(runs, abs(step), length_of(loop)) or is_short_row:
            places = ((run, place) for run in runs for place in new_lines(run, line, step))
            hints = asked = tuple(_hint_for(run, place, ahead * far) for run, place in places)
        else:
            continue
        if len(asked) <= MAX_HINTS:
            found[moved_alike] = hints
    return found


def _are_rows_along(runs: list[list[Read]], step: int, length: int) -> bool:
    """Does a loop of so many iterations walk along several rows, leaving out nothing of them, none
    of which it reads twice?"""
    starts = [run[0].first for run in runs]
    is_whole = all(step <= span_bytes(run) for run in runs)
    are_apart = all(after - before >= step * length for before, after in pairwise(starts))
    return len(runs) > 1 and is_whole and are_apart


def _hint_for(run: list[Read], place: int, ahead_bytes: int) -> CHint:
    """For what lies so far behind a place that a run holds, in the row of its operand that it is
    in."""
    operand = _read_at(run, place).operand
    return CHint(operand, ahead_bytes + place - operand.address.offset.constant)


def _read_at(run: list[Read], place: int) -> Read:
    """The first read that holds it."""
    return next(read for read in run if read.first <= place <= read.last)
