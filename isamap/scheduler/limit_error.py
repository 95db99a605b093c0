"""Say which limits cannot be kept, and what comes nearest.

In: a kernel, a machine, an aim that nothing satisfies, a way to search again. Out: the error. Not
its job: searching.
"""

from collections.abc import Callable

from isamap.costmodels import Aim, Costs, Metric, pretty_cost
from isamap.errors import LimitError, MappingError

Least = tuple[Costs, bool]  # of the best found, and whether it is proven best


def limit_error(kernel: str, hw: str, aim: Aim) -> LimitError:
    """No schedule of the kernel keeps the aim's limits."""
    limits = [f"{m.value} of at most {pretty_cost(m, most)}" for m, most in aim.limits]
    return LimitError(f"no schedule of {kernel} on {hw} has {' and '.join(limits)}")


def with_nearest(error: LimitError, aim: Aim, find: Callable[[Aim], Least]) -> LimitError:
    """The error with the least value of every limited cost.

    Args:
        find: the best by another aim; raises MappingError when there is none.
    """
    nearest = [_nearest(aim, metric, find) for metric, _ in aim.limits]
    return LimitError(error.message, loc=error.loc, hint="; ".join(nearest))


def _nearest(aim: Aim, metric: Metric, find: Callable[[Aim], Least]) -> str:
    """How low one cost goes, under the other limits if they can be kept."""
    others = tuple(limit for limit in aim.limits if limit[0] is not metric)
    condition = " under the other limits" if others else ""
    try:
        costs, is_proven = find(Aim.least(metric, others))
    except MappingError:
        condition = " even without the other limits"
        costs, is_proven = find(Aim.least(metric))
    word = "the least" if is_proven else "the least found"
    least = pretty_cost(metric, costs.of(metric))
    when = pretty_cost(Metric.CYCLES, costs.cycles)
    return f"{word} {metric.value}{condition}: {least}, in {when}"
