"""Lines of unfinished sums that calls wait for when they are taken up again.

In: a cache, the lines of a tile of sums, how far those are foreseen. Out: the share that no
prefetcher brings in time. Not its job: how many lines there are, what waiting takes (`caches`).

Sums of a tile are loaded before its first call, and every call on them waits. Where the next tile
lies further on in the same rows, prefetchers have brought it, and a processor that runs ahead loads
it while the calls of the one before still go on.
"""

from isamap.hwdesc import Memory

from .lines import Lines


def awaited_share(cache: Memory, tile: Lines, run_bytes: float) -> float:
    """Of all lines of sums, of which a `tile` takes up such at a time, where prefetchers foresee
    all but the first of each run of so many bytes; all of them where rows of a tile are shorter
    than prefetchers need."""
    long_bytes = cache.prefetched_lines * cache.granule_bytes
    if cache.awaited_share == 1.0 or (tile.rows > 1 and tile.pitch_bytes < long_bytes):
        return 1.0
    return max(cache.awaited_share, min(1.0, tile.line_bytes / run_bytes))
