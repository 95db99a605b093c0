"""Does a statement, or do several, write all of a buffer?

In: statements, the buffer. Out: a claim. Not its job: reads, in which order they write.
"""

from collections.abc import Iterable
from itertools import pairwise, product

from .kernel import Buffer, Role, Statement


def covers(statement: Statement, buffer: Buffer) -> bool:
    """Is every index of the target a loop of its own that runs over the whole dimension? (Other
    targets may reach every element too.)"""
    indices = statement.target.indices
    names = [name for index in indices for name in index.names]
    if len(set(names)) < len(names):
        return False
    for index, size in zip(indices, buffer.shape, strict=True):
        is_loop = len(index.terms) == 1 and index.terms[0][1] == 1 and index.constant == 0
        is_single = not index.terms and index.constant == 0 and size == 1
        if not is_single and not (is_loop and statement.extent(index.names[0]) == size):
            return False
    return True


def leaves_elements(statement: Statement, buffer: Buffer) -> bool:
    """Are there elements of an InOut that the statement does not write, and that must stay?"""
    return buffer.role is Role.INOUT and not covers(statement, buffer)


def covers_together(statements: Iterable[Statement], buffer: Buffer) -> bool:
    """Is every element a target of one of the statements? (Others may reach every element too.)"""
    boxes = [box for box in map(_box, statements) if box is not None]
    cells = []
    for dim, size in enumerate(buffer.shape):
        ends = {0, size, *(end for box in boxes for end in box[dim] if 0 < end < size)}
        cells.append(list(pairwise(sorted(ends))))
    return all(
        any(
            all(low <= a and b <= high for (low, high), (a, b) in zip(box, cell, strict=True))
            for box in boxes
        )
        for cell in product(*cells)
    )


def _box(statement: Statement) -> tuple[tuple[int, int], ...] | None:
    """First element of each dimension that the target reaches, and the one after the last; None
    where it may leave some out."""
    indices = statement.target.indices
    names = [name for index in indices for name in index.names]
    if len(set(names)) < len(names):
        return None
    box = []
    for index in indices:
        size = 1
        for name, step in sorted(index.terms, key=lambda term: term[1]):
            if not 1 <= step <= size:
                return None
            size += step * (statement.extent(name) - 1)
        box.append((index.constant, index.constant + size))
    return tuple(box)
