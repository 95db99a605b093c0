"""Hints that rounds of a loop share for what comes after all that they read.

In: an innermost loop, the loops around it, the machine. Out: its hints, by place. Not its job:
other hints (`prefetch`), text.

Where there is room for it beside what rounds read again, each asks for its share: otherwise the
first round waits for all of what comes next, and the others ask for what is there. Lines that a
loop reads side by side, or rows that it walks along together, many of which lie in one page, are
more than prefetchers of the hardware tell apart.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import ceil, gcd, prod

from isamap.hwdesc import Hardware, Memory
from isamap.ir import Affine

from .nodes import CHint, CLoop, CNode, CTurn
from .pace import Pace, calls_cycles
from .reads import (
    Place,
    Read,
    length_of,
    lines_of,
    reads_by_terms,
    runs_of,
    span_bytes,
    touched_bytes,
    walked_bytes,
)

TOGETHER = 8  # lines asked for at once keep nobody waiting: estimate, half of what may be under way
MANY_ROUNDS = 8  # that find what the first one brought
PAGE_BYTES = 4096  # by which prefetchers of the hardware tell rows apart
IN_ONE = 1 << 62  # bytes of a line so long that a call's rows lie in one: where they begin counts
MAX_HINTS = 64  # of one loop for one operand; calls that read more lines walk by themselves


def find_shares(
    loop: CLoop, hw: Hardware, cache: Memory, around: tuple[CLoop, ...]
) -> dict[Place, tuple[CHint | CTurn, ...]]:
    """Hints in an innermost loop for what comes after that which all rounds of the loops around it
    read, where there is room for it beside all that they read; for what comes later, where they
    take less time than lines do."""
    cycles = calls_cycles(loop.body, hw)
    found: dict[Place, tuple[CHint | CTurn, ...]] = {}
    line = cache.granule_bytes
    places = reads_by_terms(loop.body, hw, line)
    for (memory, terms), reads in places.items():
        steps = dict(terms)
        along = walk_of(loop, around, steps)
        moving = [n for n, x in enumerate(around) if steps.get(x.name) and n >= len(along) - 1]
        if not moving or moving[0] == len(along) - 1 or steps.get(loop.name, 0) <= 0:
            continue
        rounds, further = (loop, *around[: moving[0]]), around[moving[0]]
        if any(not isinstance(x.stop, int) or x.first for x in rounds):
            continue
        used = sum(touched_bytes(some, rounds, line) for some in places.values())
        more = touched_bytes(reads, rounds, line)
        walked, row_bytes = walked_bytes(terms, (loop, *around)), steps[loop.name] * length_of(loop)
        pace = Pace.of(further, hw, cache)
        if pace.outruns_hints(more / line, walked, len(runs_of(reads)), row_bytes):
            continue
        if used + more <= cache.size_bytes:
            far = _to_next(rounds, further, (memory, terms), reads[0].first, hw)
            if line <= steps[loop.name] and far == steps[further.name]:
                later = cache.iterations_ahead(cycles * prod(map(length_of, rounds)))
                far *= min(later, int((cache.size_bytes - used) // more), length_of(further))
            found[memory, terms] = _share(rounds, len(along), far, reads, cache)
    return {place: hints for place, hints in found.items() if hints}


def walk_of(loop: CLoop, around: tuple[CLoop, ...], steps: dict[str, int]) -> tuple[CLoop, ...]:
    """The loop, and those around it of which each goes on where the one inside it ends."""
    along, walked = [loop], steps.get(loop.name, 0) * length_of(loop)
    for outer in around:
        if steps.get(outer.name, 0) != walked:
            break
        along.append(outer)
        walked *= length_of(outer)
    return tuple(along)


def _to_next(
    rounds: tuple[CLoop, ...], further: CLoop, place: Place, first: int, hw: Hardware
) -> int:
    """Bytes from where rounds begin to read to where what comes behind them does: another nest in
    the loop around, or the first one in its next iteration. As far as the loop moves where that
    reads the same, or is not known."""
    (memory, terms), own = place, {loop.name for loop in rounds}
    step, nodes = dict(terms)[further.name], further.body
    outside = tuple((name, c) for name, c in terms if name not in own)
    number = next((n for n, node in enumerate(nodes) if node is rounds[-1]), len(nodes))
    behind = [(node, 0) for node in nodes[number + 1 :]]
    behind += [(node, step) for node in nodes[:number] if number < len(nodes)]
    for node, moved in behind:
        found = min(_first_reads((node,), (memory, outside), {}, hw), default=None)
        if found is not None and found + moved != first:
            return found + moved - first
    return step


def _first_reads(
    nodes: tuple[CNode, ...], place: Place, inside: dict[str, int], hw: Hardware
) -> Iterator[int]:
    """Where nodes begin to read what loops around them move alike; `inside`: loops within, at their
    first values."""
    for (memory, terms), reads in reads_by_terms(nodes, hw, IN_ONE).items():
        outside = tuple((name, c) for name, c in terms if name not in inside)
        if (memory, outside) == place:
            yield reads[0].first + sum(c * inside.get(name, 0) for name, c in terms)
    for node in nodes:
        if isinstance(node, CLoop):
            yield from _first_reads(node.body, place, inside | {node.name: node.first}, hw)


def _share(
    rounds: tuple[CLoop, ...], num_along: int, far: int, reads: list[Read], cache: Memory
) -> tuple[CHint | CTurn, ...]:
    """Of what lies `far` bytes on, as many lines in each iteration of the innermost loop as it
    takes for all that the first `num_along` walk over, or some in each second, fourth, ... one;
    none where so many rounds read it that they would ask for more than twice as much."""
    loop, line = rounds[0], cache.granule_bytes
    length, walked = length_of(loop), prod(map(length_of, rounds[:num_along]))
    offset = reads[0].operand.address.offset
    step = offset.coefficient(loop.name)
    runs = runs_of(reads)
    if step < line:
        return tuple(_share_of_rows(rounds, far, runs, cache))
    if len(runs) == 1 and step <= span_bytes(reads):
        unit, places = line, [reads[0].first]  # one line after the other
    else:
        grid = gcd(line, *(c for _, c in offset.terms))
        unit, places = step, [place for run in runs for place in lines_of(run, line, grid)]
    total, turns = ceil(walked * step / unit), prod(map(length_of, rounds))
    several, period = ceil(total / turns), 1
    while 2 * period * total <= turns and unit % (2 * period) == 0:
        period *= 2
    each = ceil(length / period) * several * unit
    is_more = each * turns > 2 * total * unit * length
    places = [n * unit + place for n in range(several) for place in places]
    if len(places) > MAX_HINTS or is_more:
        return ()
    hints = _hints_for(places, far, several * unit // period, each, rounds, reads)
    return hints if period == 1 else (CTurn(loop.name, period, loop.first, hints),)


def _share_of_rows(
    rounds: tuple[CLoop, ...], far: int, runs: list[list[Read]], cache: Memory
) -> Iterator[CTurn]:
    """Of rows, all as far from the one before, along which the innermost loop moves within lines:
    each round asks for some of them, line by line, few at once. None of rows that many rounds find
    where the first one brought them, or that prefetchers follow, each on pages of its own."""
    starts = [run[0].first for run in runs]
    pitches = {after - before for before, after in pairwise(starts)}
    num_rounds = prod(map(length_of, rounds[1:]))
    if len(pitches) != 1 or len(runs) > MAX_HINTS:
        return
    several, pitch = ceil(len(runs) / num_rounds), pitches.pop()
    step = runs[0][0].operand.address.offset.coefficient(rounds[0].name)
    is_followed = pitch >= PAGE_BYTES and cache.follows(len(runs), step * length_of(rounds[0]))
    if num_rounds >= min(MANY_ROUNDS, 2 * len(runs) + 1) or is_followed:
        return
    period = cache.granule_bytes // step
    reads = [read for run in runs for read in run]
    hints = _hints_for(starts[:several], far, step, several * pitch, rounds, reads)
    num_turns = ceil(several / TOGETHER)
    for turn in range(num_turns):
        yield CTurn(rounds[0].name, period, turn * period // num_turns, hints[turn::num_turns])


def _hints_for(
    places: list[int],
    far: int,
    step: int,
    each: int,
    rounds: tuple[CLoop, ...],
    reads: list[Read],
) -> tuple[CHint, ...]:
    """For places so far on, each of which the innermost loop moves by `step`, the one around it by
    `each`, others by what these move it in all."""
    moved = {rounds[0].name: step}
    for around in rounds[1:]:
        moved[around.name] = each
        each *= length_of(around)
    hints = []
    for place in places:
        operand = max((r for r in reads if r.first <= place), key=lambda r: r.first).operand
        start = operand.address.offset
        terms = [*((x, c) for x, c in start.terms if x not in moved), *moved.items()]
        at = replace(operand.address, offset=Affine.of(terms, start.constant))
        hints.append(CHint(replace(operand, address=at), far + place - start.constant))
    return tuple(hints)
