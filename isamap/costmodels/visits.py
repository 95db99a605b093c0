"""Rows that a program reads side by side, a few lines of each at a time.

In: a nest, what moves one of its arrays. Out: the lines of other rows that are touched between two
visits to a row. Not its job: what that costs (`caches`).
"""

from bisect import insort
from math import ceil, prod

from .lines import NestLoop, Stream


def lines_between(line_bytes: int, nest: list[NestLoop], stream: Stream) -> float:
    """The most lines of other rows between two visits to a row: none where rows are read one after
    the other, each to its end.

    Source: derived here: from the innermost loop outwards, one that jumps over more than was
    touched so far begins rows, one that goes on behind it visits each of them again.
    """
    run, between = float(stream.element_bytes), 0.0
    apart: list[tuple[int, float]] = []  # (stride, count) of rows that do not touch
    walked = ((float(loop.count), step) for loop, step in zip(nest, stream.strides, strict=True))
    for count, stride in (*((float(n), step) for n, step in stream.inside), *walked):
        if stride == 0 or count <= 1:
            continue
        num_lines = ceil(run / line_bytes)
        if stride > num_lines * line_bytes:
            insort(apart, (stride, count))
            continue
        between = max(between, num_lines * (prod(number for _, number in apart) - 1))
        run += stride * (count - 1)
        while apart and ceil(run / line_bytes) * line_bytes >= apart[0][0]:
            pitch, number = apart.pop(0)  # each row goes on where the next one began
            run += pitch * (number - 1)
    return between
