"""Does a loop come back to elements of the result that its other iterations have written?

In: a covering, a loop. Out: yes or no. Not its job: what follows for tiles, cores.
"""

from .covering import Covering


def meets_itself(covering: Covering, name: str) -> bool:
    """Is the loop one of several that lead to the same element of the target (`y[2*p + u]`)?"""
    target = covering.kernel.statements[covering.statement].target
    extents = {loop.name: loop.total_extent for loop in covering.loops}
    for index in target.indices:
        reach = 0  # of the loops with smaller steps
        steps = sorted((abs(step), other) for other, step in index.terms if extents[other] > 1)
        is_unique = True
        for step, other in steps:
            is_unique = is_unique and step > reach
            reach += step * (extents[other] - 1)
        if not is_unique and name in index.names:
            return True
    return False
