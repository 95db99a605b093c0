"""What a program asks caches for early, as the closed form takes it to.

In: a nest, what moves one of its arrays, the cache that is asked. Out: shares of the lines. Not its
job: asking (`codegen`), what lines take (`caches`).
"""

from math import inf, prod
from typing import NamedTuple

from isamap.hwdesc import Memory

from .lines import Lines, NestLoop, Stream, touched_lines


class Hints(NamedTuple):
    """Shares of a stream's lines: `missing` are those that the program does not ask for early
    enough; `in_rows` it asks for, far from the one before."""

    missing: float
    in_rows: float


NO_HINTS = Hints(1.0, 0.0)


class Asking(NamedTuple):
    """The cache that a program asks, the last one with such lines before memory, and what a call
    takes."""

    cache: Memory
    last: Memory
    call_cycles: float


def find_hints(nest: list[NestLoop], stream: Stream, asking: Asking) -> Hints:
    """The program asks in the innermost tile loop that moves the stream, where each iteration moves
    it to new lines, for what the calls in its body read: of a sum's units those are the first and
    the last, which begin and end the sum, none where it goes on over the tiles, unless the
    innermost loop asks. Along lines or several rows that loop asks for what the one around it reads
    next. Not where each call walks over several lines by itself, or a loop inside, or the loop
    along lines, of one row or several side by side, faster than it could ask for them, nor in
    packed stays."""
    cache, call_cycles = asking.cache, asking.call_cycles
    line = cache.granule_bytes
    steps = stream.strides
    depth = next((n for n, x in enumerate(nest) if x.is_tile and steps[n]), None)
    if cache.prefetch is None or depth is None or stream.is_packed:
        return NO_HINTS
    within, stride = _hints_within(nest, depth, stream, asking), steps[depth]
    if stride < line:
        return within
    walked = [(step, loop.count) for step, loop in zip(steps[:depth], nest)]
    call = stream.call_bytes
    reach = call + sum(s * (count - 1) for s, count in walked)
    cycles = call_cycles * prod(loop.count for loop in nest[:depth])
    dims = sorted(d for d in (*((s, float(n)) for n, s in stream.inside), *walked) if d[0])
    rows = touched_lines(line, dims, stream.element_bytes)
    new = min(rows.count, rows.rows * stride / line)
    if within.missing < 1.0 and _are_rows_along(rows, stride, nest[depth].count):
        return Hints(within.missing, 0.0)
    if _asks_along_rows(nest, depth, stream, asking):
        return Hints(min(1.0, cache.iterations_ahead(cycles) / nest[depth].count), 0.0)
    is_along = cache.prefetch.walk is not None and rows.rows == 1 and stride <= reach
    is_fast = cycles < cache.asked_cycles * new and not is_along
    is_outer = any(not loop.is_written_out for loop in nest[:depth]) and not is_along
    if stride <= reach and (call > line or is_outer or is_fast):
        return NO_HINTS
    ahead = cache.iterations_ahead(cycles)
    if is_along:
        is_once = depth + 1 < len(nest) and bool(steps[depth + 1])
        along = nest[depth].count if is_once else 0.0
        ahead = cache.iterations_along(cycles, new, stride, along)
    asked = 1.0 - min(1.0, ahead / nest[depth].count)
    innermost = next(step for step, loop in zip(steps, nest) if not loop.is_written_out)
    if innermost < line and _asks_ahead(nest, stream, cache, rows.rows if call <= line else inf):
        return Hints(1.0 - asked, asked if rows.rows > 1 else 0.0)  # a line of each row in turn
    around = (x for x, step in zip(nest[:depth], steps) if x.is_sum and step)
    sums = prod(x.count for x in around if not x.is_written_out)
    ends = 0 if nest[depth].is_sum else 2
    asked *= min(1.0, ends / sums) if sums > 1 else 1.0
    if stride <= reach:
        return Hints(1.0 - asked, 0.0)
    return Hints(1.0 - asked, asked * rows.rows / rows.count)


def _hints_within(nest: list[NestLoop], depth: int, stream: Stream, asking: Asking) -> Hints:
    """Of the tile loop at `depth`, if it is the innermost of the program: it asks for what is read
    when the one around it goes on."""
    cache, call_cycles = asking.cache, asking.call_cycles
    loops = [n for n, loop in enumerate(nest) if not loop.is_written_out]
    if len(loops) < 2 or loops[0] != depth:
        return NO_HINTS
    walked = zip(stream.strides[:depth], nest)
    rows = prod(loop.count for stride, loop in walked if stride >= cache.granule_bytes)
    num_rows = rows if stream.call_bytes <= cache.granule_bytes else inf
    is_fast = _outruns_hints(nest, depth, stream, asking, rows)
    if is_fast or not _asks_ahead(nest, stream, cache, num_rows):
        return NO_HINTS
    around = nest[loops[1]]
    cycles = call_cycles * prod(loop.count for loop in nest[: loops[1]])
    missing = min(1.0, cache.iterations_ahead(cycles) / around.count)
    return Hints(missing, 1.0 - missing if rows > 1 else 0.0)


def _asks_along_rows(nest: list[NestLoop], depth: int, stream: Stream, asking: Asking) -> bool:
    """Does the program's innermost loop, over rows, ask for what lies next in each, where the loop
    around it, which is the one at `depth`, goes on? Where fewer are missed than if it asked for
    rows further on, and where a call does not read several rows by itself."""
    cache, call_cycles = asking.cache, asking.call_cycles
    steps, loops = stream.strides, enumerate(nest[:depth])
    rows = [n for n, loop in loops if not loop.is_written_out and not stream.still[n]]
    if len(rows) != 1 or not cache.granule_bytes <= steps[depth] < steps[rows[0]]:
        return False
    inside = sorted((step, float(count)) for count, step in stream.inside if step)
    if touched_lines(cache.granule_bytes, inside, stream.element_bytes).rows > 1:
        return False
    if _outruns_hints(nest, depth, stream, asking, nest[rows[0]].count):
        return False
    own, around = (
        cache.iterations_ahead(call_cycles * prod(loop.count for loop in nest[:n])) / nest[n].count
        for n in (rows[0], depth)
    )
    return own >= 1.0 or own > around


def _outruns_hints(
    nest: list[NestLoop], depth: int, stream: Stream, asking: Asking, rows: float
) -> bool:
    """Does the loop at `depth`, along so many rows side by side, read their lines faster than a
    program could ask for them?"""
    cache, last, call_cycles = asking
    cycles = call_cycles * prod(loop.count for loop in nest[:depth])
    num_lines = rows * stream.strides[depth] / cache.granule_bytes
    walked = sum(step * (loop.count - 1) for step, loop in zip(stream.strides, nest, strict=True))
    row_bytes = stream.strides[depth] * nest[depth].count
    reach = stream.call_bytes + walked
    return cache.outruns_hints(last, cycles, num_lines, reach, rows, row_bytes)


def _asks_ahead(nest: list[NestLoop], stream: Stream, cache: Memory, num_rows: float) -> bool:
    """Does the program's innermost loop, along lines or rows, ask for what the loop around it reads
    in a later iteration? Not where prefetchers follow its rows (infinitely many: those of single
    calls), all but the first lines of each."""
    loops = [depth for depth, loop in enumerate(nest) if not loop.is_written_out]
    if len(loops) < 2:
        return False
    along, far = stream.strides[loops[0]], stream.strides[loops[1]]
    is_kept = nest[loops[1]].count * far <= cache.size_bytes
    is_left = num_rows < inf and cache.follows(num_rows, along * nest[loops[0]].count)
    return 0 < along <= far and cache.granule_bytes <= far and not is_kept and not is_left


def _are_rows_along(rows: Lines, stride: int, count: float) -> bool:
    """Does a loop walk along several rows, leaving out nothing of them, none of which it reads
    twice?"""
    run = rows.count / rows.rows * rows.line_bytes
    return rows.rows > 1 and stride <= run and stride * count <= rows.pitch_bytes
