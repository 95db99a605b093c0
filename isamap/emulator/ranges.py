"""Spans and affine expressions: what they can be over all iterations.

In: Span, Affine, Address. Out: integers and intervals. Not its job: C text (`c_text`), legality.
"""

from collections.abc import Mapping
from math import gcd

from isamap.ir import index_range
from isamap.program import Address, Span

Interval = tuple[int, int]  # both ends included


def fixed_count(span: Span) -> int | None:
    """The count if it is the same in all iterations."""
    return None if span.total is not None and span.offset.terms else span.value({})


def span_interval(span: Span, loops: Mapping[str, int]) -> Interval:
    """Bounds on the count."""
    if span.total is None:
        return span.limit, span.limit
    low, high = index_range(span.offset, loops)
    first, last = -((high - span.total) // span.unit), -((low - span.total) // span.unit)
    return min(span.limit, first), min(span.limit, last)


def span_divisor(span: Span) -> int:
    """A number that divides every count the span can give."""
    fixed = fixed_count(span)
    if fixed is not None:
        return max(fixed, 1)
    assert span.total is not None, "a span without total is fixed"
    if any(coefficient % span.unit for _, coefficient in span.offset.terms):
        return 1
    steps = [coefficient // span.unit for _, coefficient in span.offset.terms]
    rest = -((span.offset.constant - span.total) // span.unit)
    return gcd(span.limit, rest, *steps)


def address_interval(address: Address, loops: Mapping[str, int]) -> Interval:
    """Bounds on the byte address."""
    return address.interval({name: (0, count - 1) for name, count in loops.items()})


def address_divisor(address: Address) -> int:
    """A number that divides every address (0: the address is always 0)."""
    steps = [coefficient for _, coefficient in address.offset.terms]
    turns = [rotation.stride_bytes for rotation in address.rotations]
    return gcd(address.offset.constant, *steps, *turns)
