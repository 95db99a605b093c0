"""Which of a statement's loops goes innermost.

In: a statement, how far apart neighbours along a loop lie. Out: its loops. Not its job: text.
"""

from collections.abc import Callable

from isamap.ir import Access, Kernel, Loop, Statement, accesses, is_integer


def vector_order(
    kernel: Kernel, statement: Statement, depth: int, stride: Callable[[Access, str], int]
) -> tuple[Loop, ...]:
    """The statement's loops from `depth` on, with the one innermost that the compiler vectorises
    best; `stride`: elements between neighbours along a loop.

    Legal because every target element keeps its order of updates: the target's loops each name one
    dimension, the statement does not read its target, and loops that are not in the target stay in
    order among themselves.
    """
    loops = statement.loops[depth:]
    target = statement.target
    names = [name for index in target.indices for name in index.names]
    is_injective = all(len(index.terms) <= 1 for index in target.indices)
    reads = accesses(statement.value)
    if not is_injective or len(set(names)) != len(names):
        return loops
    if any(access.buffer == target.buffer for access in reads):
        return loops
    summed = [loop for loop in loops if loop.name not in names]
    may_sum_inside = is_integer(kernel.buffer(target.buffer).dtype)
    candidates = [loop for loop in loops if loop.name in names]
    candidates += summed[-1:] if may_sum_inside else []
    if not candidates:
        return loops
    scores = [
        sum(abs(stride(access, loop.name)) <= 1 for access in (target, *reads))
        for loop in candidates
    ]
    best = candidates[scores.index(max(scores))]
    return (*(loop for loop in loops if loop != best), best)
