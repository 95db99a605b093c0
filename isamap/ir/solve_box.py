"""Integer solutions of linear equations inside a box.

In: affine expressions that must be zero, and a range per name. Out: whether a solution exists.
Not its job: finding all solutions, inequalities (bring a slack variable).
"""

import math

from .affine import Affine

Equation = Affine
MAX_NODES = 2000


def has_solution(equations: tuple[Equation, ...], bounds: dict[str, tuple[int, int]]) -> bool:
    """Is there an integer point in the box where every equation is zero?

    Exact unless the search needs more than 2000 nodes; then True ("cannot exclude it").

    Source: interval propagation and the GCD test inside bisection; derived here.
    """
    return search(list(equations), dict(bounds), [MAX_NODES])


def search(
    equations: list[Equation], bounds: dict[str, tuple[int, int]], nodes_left: list[int]
) -> bool:
    """Tighten, then bisect the narrowest open range. `nodes_left` is shared by the whole search."""
    nodes_left[0] -= 1
    if nodes_left[0] < 0:
        return True
    if not tighten(equations, bounds):
        return False
    used = {name for equation in equations for name, _ in equation.terms}
    opened = sorted((bounds[n][1] - bounds[n][0], n) for n in used if bounds[n][0] < bounds[n][1])
    if not opened:
        return True  # all fixed, and tighten found every equation to be zero
    name = opened[0][1]
    low, high = bounds[name]
    middle = (low + high) // 2
    halves = ((low, middle), (middle + 1, high))
    return any(search(equations, {**bounds, name: half}, nodes_left) for half in halves)


def tighten(equations: list[Equation], bounds: dict[str, tuple[int, int]]) -> bool:
    """Shrink ranges until nothing changes; False when some equation cannot be zero."""
    changed = True
    while changed:
        changed = False
        for equation in equations:
            if not passes_gcd(equation, bounds):
                return False
            ends = {n: sorted((c * bounds[n][0], c * bounds[n][1])) for n, c in equation.terms}
            low = equation.constant + sum(end[0] for end in ends.values())
            high = equation.constant + sum(end[1] for end in ends.values())
            if low > 0 or high < 0:
                return False
            for name, factor in equation.terms:
                # factor * value lies in [-(high of the rest), -(low of the rest)]
                least, most = -(high - ends[name][1]), -(low - ends[name][0])
                if factor < 0:
                    least, most = -most, -least
                old = bounds[name]
                size = abs(factor)
                new = (max(old[0], -(-least // size)), min(old[1], most // size))
                if new[0] > new[1]:
                    return False
                if new != old:
                    bounds[name] = new
                    changed = True
                    break
            if changed:
                break
    return True


def passes_gcd(equation: Equation, bounds: dict[str, tuple[int, int]]) -> bool:
    """Does the greatest common divisor of the open terms divide the rest?"""
    rest, divisor = equation.constant, 0
    for name, factor in equation.terms:
        low, high = bounds[name]
        if low == high:
            rest += factor * low
        else:
            divisor = math.gcd(divisor, factor)
    return rest == 0 if divisor == 0 else rest % divisor == 0
