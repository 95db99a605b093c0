"""What tiles of sums that are loaded, added to and stored wait for in the nearest cache.

In: a cache, the nest, streams. Out: how many tiles are taken for the one stored before, how many
lines are driven out before they are used. Not its job: what each costs, which lines come in
(`caches`), sums that drive each other out (`sets`).

A load whose lowest bits of address are those of a store under way waits for it: processors compare
no more of them at first. Source: AMD 56665, load-store unit; Intel, Optimization Reference Manual,
aliasing of 4 KiB.
"""

from functools import lru_cache
from math import prod

from isamap.hwdesc import Memory

from .lines import Lines, NestLoop, Stream
from .missing_share import missing_share
from .sets import ways_taken

ALIAS_BYTES = 1 << 12
MOST_ROWS = 64  # of a tile that are compared


def aliased_tiles(nest: list[NestLoop], sums: Stream) -> float:
    """How many tiles begin where the one stored before them lies, but for higher bits."""
    first = tile_loops(sums)
    steps = [
        stride
        for loop, stride, still in zip(nest[first:], sums.strides[first:], sums.still[first:])
        if loop.count > 1 and not still
    ]
    if not steps or not steps[0]:
        return 0.0
    inside = [(stride, count) for count, stride in sums.inside]
    inside += [(stride, int(loop.count)) for loop, stride in zip(nest[:first], sums.strides)]
    dims = tuple(sorted((stride, count) for stride, count in inside if stride and count > 1))
    return num_tiles(nest, sums) if is_aliased(dims, sums.element_bytes, steps[0]) else 0.0


def tile_loops(sums: Stream) -> int:
    """How many innermost loops run while a tile stays."""
    return max(0, sums.num_quiet)


def num_tiles(nest: list[NestLoop], sums: Stream) -> float:
    """How often a tile is loaded and stored."""
    first = tile_loops(sums)
    around = zip(nest[first:], sums.still[first:], strict=True)
    return prod(loop.count for loop, still in around if not still)


@lru_cache(maxsize=1 << 14)
def is_aliased(dims: tuple[tuple[int, int], ...], element_bytes: int, step: int) -> bool:
    """Do the bytes along (stride, count), lowest first, overlap those `step` bytes before them in
    the bits that are compared?"""
    run, rows = element_bytes, [0]
    for stride, count in dims:
        if stride <= run:
            run += stride * (count - 1)
        elif len(rows) * count <= MOST_ROWS:
            rows = [row + stride * number for row in rows for number in range(count)]
    apart = {(row - other) % ALIAS_BYTES for row in rows for other in rows}
    return any((step + by + run - 1) % ALIAS_BYTES < 2 * run - 1 for by in apart)


def crowded_lines(
    cache: Memory, nest: list[NestLoop], sums: Stream, read: list[tuple[Stream, Lines]], ways: float
) -> float:
    """Of all lines that are read for tiles, `read` for each in rows, those that are driven out
    before they are used; `ways`: that all rows take meanwhile, where they crowd most."""
    if ways <= cache.ways:
        return 0.0
    rows = (lines.count for stream, lines in read if ways_taken(cache, stream, lines) > 1)
    return missing_share(ways / cache.ways) * sum(rows) * num_tiles(nest, sums)
