"""All calls that a program makes, one by one."""

from collections.abc import Iterator, Mapping

from isamap.program import Address, Edge, For, Issue, Node, Span, When

Made = tuple[str, tuple[int, ...], tuple[int, ...]]  # instruction, addresses, extents


def value_of(span: Span, at: Mapping[str, int]) -> int:
    """The count at one iteration."""
    if span.total is None:
        return span.limit
    return min(span.limit, -(-(span.total - span.offset.evaluate(at)) // span.unit))


def place_of(address: Address, at: Mapping[str, int]) -> int:
    """The address at one iteration."""
    turns = sum(r.counter.evaluate(at) % r.modulo * r.stride_bytes for r in address.rotations)
    return address.offset.evaluate(at) + turns


def made_by(issue: Issue, at: Mapping[str, int]) -> Iterator[Made]:
    """The calls of an issue: one per round of its hardware loops."""
    rounds: list[tuple[int, ...]] = [(0,) * len(issue.operands)]
    for repeat in issue.repeats:
        rounds = [
            tuple(base + turn * step for base, step in zip(bases, repeat.strides_bytes))
            for bases in rounds
            for turn in range(value_of(repeat.span, at))
        ]
    extents = tuple(value_of(span, at) for _, span in issue.extents)
    for bases in rounds:
        places = (place_of(o.address, at) + b for o, b in zip(issue.operands, bases))
        yield issue.instruction, tuple(places), extents


def walk(body: tuple[Node, ...], at: dict[str, int], spans: dict[str, int]) -> Iterator[Made]:
    """All calls of a program."""
    for node in body:
        match node:
            case For(loop, span, inner):
                count = value_of(span, at)
                for value in range(count):
                    yield from walk(inner, {**at, loop: value}, {**spans, loop: count})
            case When(conditions, inner):
                if all(at[n] == (0 if e is Edge.FIRST else spans[n] - 1) for n, e in conditions):
                    yield from walk(inner, at, spans)
            case Issue():
                yield from made_by(node, at)
