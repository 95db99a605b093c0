"""What was minimised, and under which limits.

In: an aim, costs, a bound. Out: lines of text. Not its job: cycles in detail (`show_result`).
"""

from isamap.costmodels import Aim, Costs, pretty_cost, pretty_value
from isamap.scheduler import Status

from .units import align, show_share


def aim_lines(aim: Aim, costs: Costs, bound: float | None, status: Status) -> list[str]:
    """The objective's value, bound and gap, then a line per limit; nothing for cycles alone.

    `bound`: None where nothing is proven for the whole.
    """
    if aim.is_fastest and not aim.limits:
        return []
    value = aim.value(costs)
    name = " + ".join(metric.value for metric, _ in aim.weights)
    proof = "optimal" if status is Status.OPTIMAL else "not proven optimal"
    if bound is not None and value:
        proof = f"bound {pretty_value(aim, bound)}, gap {show_share(1 - bound / value)}, {proof}"
    rows = [(name, pretty_value(aim, value), f"least found (closed form); {proof}")]
    for metric, most in aim.limits:
        limit = f"of at most {pretty_cost(metric, most)}"
        rows.append((metric.value, pretty_cost(metric, costs.of(metric)), limit))
    return align(rows, right=(1,))
