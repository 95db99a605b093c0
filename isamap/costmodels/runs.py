"""How far prefetchers of the hardware foresee the lines of an array that a program walks over.

In: a nest, what moves its arrays, a cache. Out: bytes per line that comes unannounced, what lines
take of rows that are lost. Not its job: what that costs in all (`caches`).
"""

from bisect import insort
from collections.abc import Sequence
from math import prod

from isamap.hwdesc import Memory

from .lines import Lines, NestLoop, Stream
from .missing_share import missing_share
from .visits import lines_between, rows_abreast

LEAST_SHARE = 0.02  # of cases; rarer ones are not counted
MOST_CROWDED = 5.0  # times as many as there are places: all but `LEAST_SHARE` are gone


def run_bytes(cache: Memory, nest: list[NestLoop], stream: Stream, line_bytes: int) -> float:
    """As `_find_run`, found once for each way to tell rows apart."""
    key = cache.prefetched_rows, cache.prefetched_loads, line_bytes
    if key not in stream.runs:
        stream.runs[key] = _find_run(cache, line_bytes, nest, stream)
    return stream.runs[key]


def lone_cycles(cache: Memory, nest: list[NestLoop], stream: Stream, line_bytes: int) -> float:
    """What each line takes longer since few others of its array are under way beside it."""
    if not cache.lone_cycles:
        return 0.0
    return cache.lone_cycles / _abreast(line_bytes, nest, stream)


def are_too_many(cache: Memory, nest: list[NestLoop], stream: Stream, line_bytes: int) -> bool:
    """Are a stream's rows more, by themselves, than prefetchers tell apart?"""
    return _abreast(line_bytes, nest, stream) > cache.prefetched_rows


def strayed_cycles(
    cache: Memory, nest: list[NestLoop], stream: Stream, line_bytes: int, beside: float | None
) -> float:
    """What a line takes, on average, of rows that prefetchers lose: between two visits to one, or
    since there are too many with those `beside` (None: they are asked for)."""
    pace = line_bytes / cache.refill_bytes_per_cycle
    if not cache.strayed_cycles or not cache.prefetched_rows:
        return pace
    if line_bytes not in stream.between:
        stream.between[line_bytes] = lines_between(line_bytes, nest, stream)
    crowding = stream.between[line_bytes] / cache.prefetched_rows
    if beside is not None:
        rows = _abreast(line_bytes, nest, stream) + beside
        crowding = max(crowding, rows / cache.prefetched_rows)
    lost = missing_share(min(crowding, MOST_CROWDED))
    return pace + lost * max(0.0, cache.strayed_cycles - pace)


def rows_beside(
    nest: list[NestLoop],
    stream: Stream,
    streams: Sequence[Stream],
    lines: Sequence[Sequence[Lines]],
) -> float:
    """Rows of other arrays that move along with a stream: of what is touched while the innermost
    loop over tiles that moves it stands."""
    depth = next((n for n, x in enumerate(nest) if x.is_tile and stream.strides[n]), None)
    if depth is None:
        return 0.0
    others = ((s, found) for s, found in zip(streams, lines, strict=True) if s is not stream)
    return sum(found[depth].rows for s, found in others if s.strides[depth])


def _abreast(line_bytes: int, nest: list[NestLoop], stream: Stream) -> float:
    if line_bytes not in stream.abreast:
        stream.abreast[line_bytes] = rows_abreast(line_bytes, nest, stream)
    return stream.abreast[line_bytes]


def _find_run(cache: Memory, line_bytes: int, nest: list[NestLoop], stream: Stream) -> float:
    """Bytes per line that no prefetcher foresees: the first of each page, and of each row of
    neighbours that the loops walk along, as far as they walk few enough side by side; of more, some
    are taken for each other, as lines in a cache are that are too many (where the machine says how
    long those take, that is all). Where a prefetcher follows several, their pages begin
    together."""
    run = float(stream.element_bytes)
    apart: list[tuple[int, float]] = []  # (stride, count) of rows that do not touch
    rows = 1.0  # walked side by side
    lost = least = 0.0  # share of rows that are too many to be told apart, and their bytes
    side_by_side = max(cache.prefetched_rows, cache.prefetched_loads)  # while all are written out
    calls = ((*dim, True) for dim in stream.inside)
    loops = zip(nest, stream.strides, strict=True)
    walked = ((loop.count, stride, loop.is_written_out) for loop, stride in loops)
    for count, stride, is_written_out in (*calls, *walked):
        if stride == 0 or count <= 1:
            continue
        if stride <= max(run, line_bytes):
            run += stride * (count - 1)
            while side_by_side and apart and run >= apart[0][0]:
                pitch, number = apart.pop(0)  # each row goes on where the next one began
                run += pitch * (number - 1)
        else:
            num_rows = prod(n for _, n in apart) * count
            side_by_side = side_by_side if is_written_out else cache.prefetched_rows
            if side_by_side and num_rows > side_by_side and not cache.strayed_cycles:
                lost = missing_share(min(num_rows / side_by_side, MOST_CROWDED))
                least = least or run
                if lost > 1.0 - LEAST_SHARE:
                    break
            insort(apart, (stride, float(count)))
            rows = prod(number for _, number in apart)
    length = min(max(run, line_bytes), stream.page_bytes)
    together = rows if side_by_side and length == stream.page_bytes else 1.0
    if not lost:
        return length * together
    return 1 / ((1.0 - lost) / (length * together) + lost / max(least, line_bytes))
