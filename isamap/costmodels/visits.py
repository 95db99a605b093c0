"""Rows that a program reads side by side, a few lines of each at a time.

In: a nest, what moves one of its arrays. Out: how many they are, the lines of other rows that are
touched between two visits to a row. Not its job: what that costs (`caches`).
"""

from bisect import insort
from math import ceil, prod

from .lines import PAGE_BYTES, NestLoop, Stream


def lines_between(line_bytes: int, nest: list[NestLoop], stream: Stream) -> float:
    """The most lines of other rows between two visits to a row: none where rows are read one after
    the other, each to its end.

    Source: derived here: from the innermost loop outwards, one that jumps over more than was
    touched so far begins rows, one that goes on behind it visits each of them again; the next one
    that goes on does that as the one before did, unless more rows were begun in between.
    """
    run, most = float(stream.element_bytes), 0.0
    between, visited = 0.0, 1.0  # by the innermost loops so far, and the rows that they walk along
    apart: list[tuple[int, float]] = []  # (stride, count) of rows that do not touch
    walked = ((float(loop.count), step) for loop, step in zip(nest, stream.strides, strict=True))
    for count, stride in (*((float(n), step) for n, step in stream.inside), *walked):
        if stride == 0 or count <= 1:
            continue
        num_lines = ceil(run / line_bytes)
        if stride > num_lines * line_bytes:
            insort(apart, (stride, count))
            continue
        rows = prod(number for _, number in apart)
        between, visited = between + num_lines * (rows - visited), rows
        most = max(most, between)
        run += stride * (count - 1)
        while apart and ceil(run / line_bytes) * line_bytes >= apart[0][0]:
            pitch, number = apart.pop(0)  # each row goes on where the next one began
            run += pitch * (number - 1)
            between, visited = 0.0, prod(number for _, number in apart)
    return most


def rows_abreast(line_bytes: int, nest: list[NestLoop], stream: Stream) -> float:
    """Rows of neighbouring lines that the loops walk along together, a page of each or more."""
    run, whole = float(stream.element_bytes), line_bytes  # of a row, and in whole lines
    apart: list[tuple[int, float]] = []  # (stride, count) of rows that do not touch
    walked = ((float(loop.count), step) for loop, step in zip(nest, stream.strides, strict=True))
    for count, stride in (*((float(n), step) for n, step in stream.inside), *walked):
        if stride == 0 or count <= 1:
            continue
        if stride > whole:
            insort(apart, (stride, count))
            continue
        run += stride * (count - 1)
        whole = ceil(run / line_bytes) * line_bytes
        if whole >= PAGE_BYTES:
            break
        while apart and whole >= apart[0][0]:
            pitch, number = apart.pop(0)  # each row goes on where the next one began
            run += pitch * (number - 1)
            whole = ceil(run / line_bytes) * line_bytes
    return prod(number for _, number in apart)
