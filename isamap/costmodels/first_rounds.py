"""Lines that the first of several rounds waits for, while later ones find them.

In: a nest, what moves one of its arrays, the cache that is asked for lines early. Out: rounds, and
cycles that computing in later ones does not hide. Not its job: what lines take (`caches`).

Rounds share what comes next where there is room for it in the cache that the program asks
(`codegen`, hints that are shared); elsewhere all of it enters during the first one. Up to a page
enters beside any round, since processors look ahead so far: estimate.
"""

from math import prod

from isamap.hwdesc import Memory

from .lines import PAGE_BYTES, Lines, NestLoop, Stream


def count_rounds(
    nest: list[NestLoop],
    stream: Stream,
    lines: list[Lines],
    rooms: list[float],
    asked: Memory,
) -> float:
    """Rounds of loops that read again what one round brings; 1 where they share what comes next, or
    where it is copied. `rooms`: bytes that one, two, ... innermost loops touch."""
    moving = [depth for depth, stride in enumerate(stream.strides) if stride]
    if len(moving) < 2 or stream.is_packed or stream.goes_packed or stream.times > 1:
        return 1.0
    again = [
        depth
        for depth in range(moving[0], moving[-1])
        if not stream.strides[depth] and not stream.still[depth]
        if lines[depth].count * lines[depth].line_bytes > PAGE_BYTES
    ]
    if not again:
        return 1.0
    around = next(depth for depth in moving if depth > again[-1])
    more = lines[around].count * lines[around].line_bytes
    if asked.prefetch is not None and rooms[around] + more <= asked.size_bytes:
        return 1.0
    return prod(nest[depth].count for depth in again)


def waited_cycles(entering: float, computing: float, rounds: float) -> float:
    """Of cycles in which lines enter during the first round, those that add to the longer of
    entering and computing."""
    first = computing / rounds
    return max(entering, first) + computing - first - max(entering, computing)
