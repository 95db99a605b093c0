"""How lines share the sets of a cache.

In: a cache, the rows that an operand touches. Out: ways that they take, lines that drive each other
out, what calls wait for these. Not its job: what stays in the cache (`caches`), what is touched
(`lines`).
"""

from math import ceil, gcd, prod

from isamap.hwdesc import Memory

from .lines import Lines, NestLoop, Stream
from .missing_share import missing_share


def ways_taken(cache: Memory, stream: Stream, lines: Lines) -> float:
    """How many ways rows take where they crowd most; 0 for lines side by side. Where a way is
    larger than a page, it is the pages' addresses that say which rows share a set: any do. Rows of
    several loops crowd where each loop's do."""
    if not cache.ways or not lines.pitch_bytes:
        return 0.0
    way_bytes = cache.size_bytes // cache.ways
    page_bytes = gcd(way_bytes, stream.page_bytes)
    crowded = lines.rows * gcd(lines.pitch_bytes, page_bytes) / way_bytes
    if len(lines.apart) > 1:
        crowded = max(crowded, _crowded_rows(lines, way_bytes, page_bytes))
    return max(crowded, lines.count * lines.line_bytes / way_bytes)


def _crowded_rows(lines: Lines, way_bytes: int, page_bytes: int) -> float:
    """Rows in one set, where some loop's do not go round evenly; 0 where no two do."""
    found = prod(ceil(n * gcd(stride, page_bytes) / way_bytes) for stride, n in lines.apart)
    return found if found > 1 else 0.0


def is_crowded(cache: Memory, stream: Stream, lines: Lines) -> bool:
    """Would the lines fit by size, if they did not share so few sets?"""
    ways = ways_taken(cache, stream, lines)
    return lines.count * lines.line_bytes < cache.size_bytes and ways > cache.ways


def conflict_cycles(cache: Memory, nest: list[NestLoop], stream: Stream, block: Lines) -> float:
    """What all calls wait whose rows share too few sets, or are stored to the same one."""
    if not cache.ways:
        return 0.0
    is_written = stream.times > 1
    each = cache.conflict_cycles if is_written else cache.read_conflict_cycles
    crowded = each * conflicting_lines(cache, nest, stream, block)
    if is_written and cache.same_set_cycles:
        return max(crowded, cache.same_set_cycles * lines_in_set(cache, nest, stream, block))
    return crowded


def lines_in_set(cache: Memory, nest: list[NestLoop], stream: Stream, block: Lines) -> float:
    """Lines of all calls that lie in the set of the line before, in the next row."""
    if block.rows <= 1 or not block.pitch_bytes:
        return 0.0
    way_bytes = cache.size_bytes // cache.ways
    off = block.pitch_bytes % way_bytes
    apart = min(off, way_bytes - off) / block.line_bytes
    return max(0.0, 1.0 - apart) * (block.rows - 1) * _num_calls(nest, stream)


def conflicting_lines(cache: Memory, nest: list[NestLoop], stream: Stream, block: Lines) -> float:
    """Lines of all calls that touch a block whose rows drive each other out."""
    ways = ways_taken(cache, stream, block)
    if ways <= cache.ways:
        return 0.0
    share = missing_share(ways / cache.ways) if cache.replaces_at_random else 1.0
    return share * block.rows * _num_calls(nest, stream)


def _num_calls(nest: list[NestLoop], stream: Stream) -> float:
    return prod(loop.count for loop, still in zip(nest, stream.still, strict=True) if not still)
