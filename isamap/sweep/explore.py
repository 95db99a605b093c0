"""One call from kernels, a machine and settings to a comparison of its variants.

In: kernels, machines, values of places of their descriptions. Out: a Comparison. Not its job:
progress (`visit` hands out points as they come), printing.
"""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

from isamap.compile import build_kernel, cost_model, kernel_sizes
from isamap.costmodels import Aim, CostModel, Metric
from isamap.errors import IsamapError, closest, expect_folder, expect_mapping, expect_whole
from isamap.scheduler import Wishes
from isamap.verify import Check

from .ask import Asking
from .compare import Comparison, check_cost, compare
from .find_machines import find_machines
from .keep import Kept
from .measure_machine import MANAGED
from .variant import Axis, Workload, combine
from .visit import visit

NO_SETTINGS: Mapping[str, Iterable[object]] = {}
NO_SIZES: Mapping[str, int] = {}
SETTINGS = {"parameters.dim": [8, 16]}  # as an example
MOST_JOBS = 10_000
Name = str | PathLike[str]


def explore(
    kernels: Name | Sequence[Name],
    hw: Name | Sequence[Name],
    settings: Mapping[str, Iterable[object]] = NO_SETTINGS,
    *,
    sizes: Mapping[str, int] = NO_SIZES,
    zipped: bool = False,
    objective: Metric | str = Metric.CYCLES,
    cost_of: str = MANAGED,
    cost: str | CostModel = "analytical",
    layouts: str = "natural",
    verify: Check | str = Check.QUICK,
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
        IsamapError: the user's mistake in an argument, a kernel, a cost model or an expression.
            That a variant is no machine, or has no mapping, stands in the comparison.
    """
    expect_mapping("settings", settings, SETTINGS)
    expect_mapping("sizes", sizes, {"m": 512})
    expect_whole("jobs", jobs, 1, MOST_JOBS)
    metric = Metric(objective)
    wishes = Wishes(cost_model(cost), layouts, time_limit_s, may_reassociate=may_reassociate)
    wishes.within(effort)  # is all of that right?
    asking = Asking(
        cost, layouts, Check(verify).value, time_limit_s, may_reassociate, Aim.least(metric),
        effort=effort,
    )  # fmt: skip
    workloads = _workloads(_names("kernels", kernels, "gemm"), sizes)
    machines = find_machines(map(str, _names("hw", hw, "gemmini")))
    variants = combine(machines, [_axis(*pair) for pair in settings.items()], zipped=zipped)
    check_cost(cost_of, variants)
    kept = Kept(None if cache is None else expect_folder("cache", cache))
    points = visit(workloads, variants, asking, kept, jobs=jobs)
    return compare(points, len(workloads), metric, cost_of)


def _names(what: str, given: Name | Sequence[Name], example: str) -> list[Name]:
    """One or several; that a function is no kernel is said by who looks for its file."""
    names = list(given) if isinstance(given, list | tuple) else [given]
    if not names:
        raise IsamapError(f"{what}={given!r}, expected at least one", hint=f"[{example!r}]")
    found: list[Name] = []
    for name in names:
        if not isinstance(name, str | PathLike) and not callable(name):
            kind = type(name).__name__
            raise IsamapError(f"{what}: {kind}, expected a path or a bundled name", hint=example)
        found.append(name)
    return found


def _workloads(kernels: Sequence[Name], sizes: Mapping[str, int]) -> list[Workload]:
    """Each kernel with those sizes that it has."""
    known = {kernel: kernel_sizes(kernel, None) for kernel in kernels}
    every = {size for own in known.values() for size in own}
    for name in sizes:
        if name not in every:
            hint = closest(str(name), sorted(every)) or f"sizes are {', '.join(sorted(every))}"
            raise IsamapError(f"sizes: no kernel has a size {name!r}", hint=hint)
    found = []
    for kernel, own in known.items():
        _, file = build_kernel(kernel, {k: n for k, n in sizes.items() if k in own}, None)
        assert file is not None, "it is read from a file"
        found.append(Workload(str(kernel), file.sizes))
    return found


def _axis(path: str, values: Iterable[object]) -> Axis:
    if not isinstance(path, str) or not all(path.split(".")):
        raise IsamapError(f"settings: {path!r} is no place", hint=f"{SETTINGS}")
    is_list = isinstance(values, Iterable) and not isinstance(values, str | Mapping)
    listed = list(values) if is_list else []
    if not listed:
        message = f"settings of {path!r}: {values!r}, expected one or several values"
        raise IsamapError(message, hint=f"{SETTINGS}")
    return Axis.of(path, listed)
