"""One call from a kernel and a machine to a Pareto front.

In: a kernel and a machine (values, paths or bundled names), metrics, limits. Out: a FrontResult.
Not its job: one schedule (`compile`), printing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

from isamap.costmodels import ANALYTICAL, Aim, Metric
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.planner import Front, Wishes, find_front
from isamap.scheduler import NOBODY, Watch, check_aim, limit_machine

from .compile import build_kernel, load_machine


@dataclass(frozen=True, slots=True)
class FrontResult:
    """The answer of `pareto`."""

    kernel: Kernel
    hardware: Hardware
    front: Front


def pareto(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    metrics: tuple[Metric, ...],
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    layouts: str = "natural",
    time_limit_s: float = 20.0,
    effort: float | None = None,
    workers: int = 1,
    seed: int = 0,
    may_reassociate: bool = False,
    max_bytes: Mapping[str, int] | None = None,
    watch: Watch = NOBODY,
) -> FrontResult:
    """Schedules that nothing beats in all of two or more metrics at once; arguments as for `map`.

    Raises:
        KernelError, SpecErrors, MappingError: as `map`.
    """
    built, _ = build_kernel(kernel, sizes or {}, name, may_reassociate)
    machine = load_machine(hw)
    for metric in metrics:
        check_aim(Aim.least(metric), machine)
    wishes = Wishes(ANALYTICAL, layouts, time_limit_s, workers, seed, may_reassociate, watch=watch)
    roomy = limit_machine(machine, max_bytes or {})
    front = find_front(built, roomy, wishes.within(effort), metrics)
    return FrontResult(built, machine, front)
