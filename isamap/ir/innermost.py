"""Which loop of a statement goes innermost.

In: a statement, how far apart neighbours lie. Out: a loop. Not its job: how the loop runs.
"""

from collections.abc import Mapping, Sequence

from .kernel import Loop, Statement


def may_reorder(statement: Statement) -> bool:
    """Do loops change places without changing any target's order of updates, as long as those that
    are not in the target keep theirs?

    So if the target's loops each name one dimension and the statement does not read its target.
    """
    target = statement.target
    names = [name for index in target.indices for name in index.names]
    is_injective = all(len(index.terms) <= 1 for index in target.indices)
    is_read = any(access.buffer == target.buffer for access in statement.reads)
    return is_injective and len(set(names)) == len(names) and not is_read


def innermost(
    statement: Statement,
    loops: tuple[Loop, ...],
    strides: Mapping[str, Sequence[int]],
    *,
    may_sum: bool = True,
) -> Loop:
    """The one of `loops` (the statement's last ones, not none) along which most accesses lie side
    by side, if it may be innermost without changing any target's order of updates.

    `strides`: elements between neighbours, by buffer and dimension. `may_sum`: may it be one that
    is summed? Of these, which keep their order, only the last may.
    """
    if not may_reorder(statement):
        return loops[-1]
    candidates = [loop for loop in loops if statement.target.moves_with(loop.name)]
    if may_sum:
        candidates += [loop for loop in loops if loop not in candidates][-1:]
    if not candidates:
        return loops[-1]

    def score(loop: Loop) -> int:
        steps = [a.step(loop.name, strides[a.buffer]) for a in statement.accesses]
        return sum(abs(step) <= 1 for step in steps)

    return max(candidates, key=score)  # of equals the first
