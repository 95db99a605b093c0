"""Does a statement write all of its target's buffer?

In: a statement, the buffer. Out: a claim. Not its job: reads, several statements together.
"""

from .kernel import Buffer, Statement


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
