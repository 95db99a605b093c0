"""One call from kernels, a machine and settings to a comparison of its variants.

In: kernels, machines, values of places of their descriptions. Out: a Comparison. Not its job:
progress (`visit` hands out points as they come), printing.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from isamap.compile import kernel_sizes
from isamap.costmodels import Aim, CostModel, Metric
from isamap.errors import expect_mapping

from .ask import Asking
from .compare import Comparison, compare
from .keep import Kept
from .measure_machine import MANAGED
from .variant import Axis, Workload, combine
from .visit import visit

NO_SETTINGS: Mapping[str, Sequence[object]] = {}
NO_SIZES: Mapping[str, int] = {}
Name = str | PathLike[str]


def explore(
    kernels: Name | Sequence[Name],
    hw: Name | Sequence[Name],
    settings: Mapping[str, Sequence[object]] = NO_SETTINGS,
    *,
    sizes: Mapping[str, int] = NO_SIZES,
    zipped: bool = False,
    objective: Metric | str = Metric.CYCLES,
    cost_of: str = MANAGED,
    cost: str | CostModel = "analytical",
    layouts: str = "natural",
    verify: str = "quick",
    time_limit_s: float = 10.0,
    effort: float | None = None,
    may_reassociate: bool = False,
    jobs: int = 1,
    cache: Name | None = None,
) -> Comparison:
    """Map kernels onto every variant of machines: `settings` has values by place.

    `rows` of `isamap.sweep` makes a table of it: `pandas.DataFrame(rows(explore(..)))`.

    Args:
        sizes: of all kernels.
        zipped: the settings' first values together, then the second ones ..
        objective: what is best, of the sum over all kernels.
        cost_of: what a machine costs, an expression over `machine_numbers`.
        cost, layouts, verify, time_limit_s, effort, may_reassociate: as for `map`.
        jobs: processes.
        cache: folder where answers are kept; the user's own if None.

    Raises:
        IsamapError: the user's mistake in a kernel, a cost model or an expression. That a variant
            is no machine, or has no mapping, stands in the comparison.
    """
    expect_mapping("settings", settings, {"parameters.dim": [8, 16]})
    expect_mapping("sizes", sizes, {"m": 512})
    metric = Metric(objective)
    asking = Asking(
        cost, layouts, verify, time_limit_s, may_reassociate, Aim.least(metric), effort=effort
    )
    workloads = [
        Workload(name, None, tuple({**kernel_sizes(name, None), **sizes}.items()))
        for name in _texts(kernels)
    ]
    variants = combine(_texts(hw), [Axis.of(*pair) for pair in settings.items()], zipped=zipped)
    kept = Kept(None if cache is None else Path(cache))
    points = visit(workloads, variants, asking, kept, jobs=jobs)
    return compare(points, len(workloads), metric, cost_of)


def _texts(names: Name | Sequence[Name]) -> list[str]:
    if isinstance(names, str | PathLike):
        return [str(names)]
    return [str(name) for name in names]
