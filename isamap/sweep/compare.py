"""Variants of a machine against each other: totals over workloads, the best, the Pareto front.

In: points. Out: a Comparison. Not its job: finding points, printing.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from isamap.costmodels import Metric
from isamap.errors import SpecErrors
from isamap.hwdesc import load_hardware
from isamap.resources import find_hardware

from .measure_machine import cost_of
from .outcome import Standing
from .variant import Variant
from .visit import Point

PICO = 1e-12


@dataclass(frozen=True, slots=True)
class Total:
    """A variant over all workloads. Sums are None unless every workload has a schedule.

    `cycles`, `energy_pj` and `external_bytes` are the emulator's; `gap` is the largest one, of the
    closed form. `value`: of the objective (seconds for cycles, as clocks may differ), `cost`: of
    the machine.
    """

    variant: Variant
    points: tuple[Point, ...]
    cost: float | None
    cycles: int | None = None
    seconds: float | None = None
    energy_pj: float | None = None
    external_bytes: int | None = None
    gap: float | None = None
    value: float | None = None

    @property
    def standing(self) -> Standing:
        """The worst one."""
        order = list(Standing)
        return max((p.outcome.standing for p in self.points), key=order.index)

    @property
    def is_verified(self) -> bool:
        """Was every program executed, and right?"""
        return all(point.outcome.is_verified for point in self.points)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All variants in their order; those on the front, and the best, by number.

    Nothing on the front is beaten in value and cost at once. Best: of least value, of those the
    cheapest; None without any.
    """

    metric: Metric
    cost_text: str
    totals: tuple[Total, ...]
    front: tuple[int, ...]
    best: int | None

    def total(self, number: int) -> Total:
        """Of a variant."""
        return next(total for total in self.totals if total.variant.number == number)


def check_cost(cost_text: str, variants: Sequence[Variant]) -> None:
    """Read what a machine costs, of each file's first variant, before anything is swept.

    Raises:
        IsamapError: it cannot be read, or names what the machine does not have.
    """
    first = {variant.hardware: variant for variant in reversed(variants)}
    for variant in first.values():
        with suppress(SpecErrors):  # one that is no machine: the comparison says why
            hw = load_hardware(find_hardware(variant.hardware), variant.settings)
            cost_of(cost_text, hw)


def compare(points: Iterable[Point], count: int, metric: Metric, cost_text: str) -> Comparison:
    """Variants with points for all of `count` workloads are compared, others listed.

    Raises:
        IsamapError: the cost cannot be read, or names what a machine does not have.
    """
    by_variant: dict[int, list[Point]] = {}
    for point in sorted(points, key=lambda point: point.variant.number):
        by_variant.setdefault(point.variant.number, []).append(point)
    totals = tuple(_total(row, count, metric, cost_text) for row in by_variant.values())
    rated = [t for t in totals if t.value is not None and t.cost is not None]
    front = tuple(t.variant.number for t in rated if not any(_beats(o, t) for o in rated))
    best = min(rated, key=_order, default=None)
    return Comparison(metric, cost_text, totals, front, best.variant.number if best else None)


def _total(points: Sequence[Point], count: int, metric: Metric, cost_text: str) -> Total:
    first = points[0]
    if first.hardware is None:
        return Total(first.variant, tuple(points), None)
    cost = cost_of(cost_text, first.hardware)
    found = [point.outcome for point in points]
    if len(found) < count or not all(outcome.is_found for outcome in found):
        return Total(first.variant, tuple(points), cost)
    cycles = sum(outcome.emulated_cycles or 0 for outcome in found)
    seconds = cycles / first.hardware.clock_hz
    energy_pj = sum(outcome.energy_pj or 0.0 for outcome in found)
    external_bytes = sum(outcome.external_bytes or 0 for outcome in found)
    gaps = [outcome.gap for outcome in found if outcome.gap is not None]
    gap = max(gaps) if len(gaps) == len(found) else None
    value = {
        Metric.CYCLES: seconds,
        Metric.ENERGY: energy_pj,
        Metric.EDP: energy_pj * PICO * seconds,
        Metric.DRAM_BYTES: float(external_bytes),
    }[metric]
    return Total(
        first.variant, tuple(points), cost, cycles, seconds, energy_pj, external_bytes, gap, value
    )


def _order(total: Total) -> tuple[float, float]:
    assert total.value is not None and total.cost is not None
    return total.value, total.cost


def _beats(one: Total, other: Total) -> bool:
    """Is it better in one of both and worse in neither?"""
    mine, theirs = _order(one), _order(other)
    return mine != theirs and mine[0] <= theirs[0] and mine[1] <= theirs[1]
