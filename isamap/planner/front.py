"""The Pareto front of a kernel's schedules: what cannot be better in one cost without another.

In: a kernel, a machine, wishes, two or more metrics. Out: the points, and whether they are all. Not
its job: one schedule by one aim (`schedule`, `search`), printing.

Zones (after Klamroth, Lacour and Vanderpooten, 2015): where further points may be is a set of upper
bounds. A schedule that minimises a positively weighted sum of the metrics below one of them is on
the front; it splits every zone that it lies in. A zone without any schedule is closed.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, prod

from isamap.costmodels import Aim, Costs, Metric
from isamap.errors import LimitError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.scheduler import Answer, Status, Wishes, find_schedule, rank_of

from .plan import Plan, is_single
from .search import costs_of, search

CLOSER = 1 - 1e-6  # two energies or products that differ by less are one
MIXES = (0.25, 0.5, 0.75)  # weightings between two metrics for a kernel of several tasks

Vector = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Front:
    """Points that no other schedule beats in every metric, in the order of the first metric.

    `is_complete`: there is no other point, under the closed form and among the layouts that were
    looked at, up to a few cycles; `cut` says what was not looked at.
    """

    metrics: tuple[Metric, ...]
    points: tuple[Answer | Plan, ...]
    costs: tuple[Costs, ...]
    is_complete: bool
    cut: str
    seconds: float


def find_front(kernel: Kernel, hw: Hardware, wishes: Wishes, metrics: tuple[Metric, ...]) -> Front:
    """All points within the time limit; the layouts are those of the fastest schedule or more
    natural ones, unless the wishes say "packed".

    Raises:
        MappingError: nothing computes the kernel.
    """
    begin, until = time.perf_counter(), wishes.clock.now() + wishes.time_limit_s
    found: list[Answer | Plan]
    if is_single(kernel) and isinstance(search(kernel, hw, wishes), Answer):
        zones = _Zones(kernel, hw, wishes, metrics, until)
        cut = zones.run()
        found = list(zones.found)
    else:
        found = _weighted(kernel, hw, wishes, metrics)
        cut = "only points that some weighting of the metrics prefers, of several tasks"
    points = _best(found, hw, metrics)
    costs = tuple(costs_of(point, hw) for point in points)
    return Front(metrics, points, costs, not cut, cut, time.perf_counter() - begin)


def _vector(found: Answer | Plan, hw: Hardware, metrics: Sequence[Metric]) -> Vector:
    costs = costs_of(found, hw)
    return tuple(costs.of(metric) for metric in metrics)


def _best(
    found: Sequence[Answer | Plan], hw: Hardware, metrics: Sequence[Metric]
) -> tuple[Answer | Plan, ...]:
    """Those that no other one beats or equals, each once, in the order of the first metric."""
    rated = {_vector(one, hw, metrics): one for one in reversed(found)}
    kept = [
        vector
        for vector in rated
        if not any(
            other != vector and all(a <= b for a, b in zip(other, vector, strict=True))
            for other in rated
        )
    ]
    return tuple(rated[vector] for vector in sorted(kept))


class _Zones:
    """The search zones of a front of one statement."""

    def __init__(
        self,
        kernel: Kernel,
        hw: Hardware,
        wishes: Wishes,
        metrics: tuple[Metric, ...],
        deadline: float,
    ) -> None:
        self.kernel = kernel
        self.hw = hw
        self.wishes = wishes
        self.metrics = metrics
        self.deadline = deadline
        self.max_rank: int | None = None
        self.found: list[Answer] = []

    def run(self) -> str:
        """Close all zones; what is left open, if anything."""
        first = self._find(Aim())
        if self.wishes.layouts != "packed":
            self.max_rank = rank_of(first.best.covering, self.wishes.ahead)
        ends = [self._find(Aim.least(metric)) for metric in self.metrics]
        self.found.extend(ends)  # points of the front, or beaten by those found later
        vectors = [_vector(end, self.hw, self.metrics) for end in ends]
        least = tuple(end.bound for end in ends)
        most = tuple(map(max, zip(*vectors, strict=True)))
        weights = tuple(1 / max(b - a, 1e-3 * b, 1e-9) for a, b in zip(least, most, strict=True))
        zones: list[Vector] = [(inf,) * len(self.metrics)]
        is_proven = True
        while zones:
            if self._is_late() or self.wishes.watch.is_stopped:
                return f"stopped by a limit with {len(zones)} gaps left"
            zone = max(zones, key=lambda u: self._size(u, least, most))
            zones.remove(zone)
            limits = tuple(
                (metric, _below(metric, most))
                for metric, most in zip(self.metrics, zone, strict=True)
                if most < inf
            )
            if any(most < bound for (_, most), bound in self._with_bounds(limits, least)):
                continue
            aim = Aim(tuple(zip(self.metrics, weights, strict=True)), limits)
            try:
                answer = self._find(aim)
            except LimitError:
                if self._is_late():
                    zones.append(zone)  # not closed: its search had no time
                continue
            is_proven = is_proven and answer.status is Status.OPTIMAL
            self.found.append(answer)
            vector = _vector(answer, self.hw, self.metrics)
            zones = _split([zone, *zones], vector)
        return "" if is_proven else "a gap was not searched to the end"

    def _with_bounds(
        self, limits: tuple[tuple[Metric, float], ...], least: Vector
    ) -> list[tuple[tuple[Metric, float], float]]:
        bounds = dict(zip(self.metrics, least, strict=True))
        return [(limit, bounds[limit[0]]) for limit in limits]

    def _size(self, zone: Vector, least: Vector, most: Vector) -> float:
        """How much of the front the zone may hold."""
        rows = zip(zone, least, most, strict=True)
        return prod(max(0.0, min(u, b) - a) / max(b - a, 1e-9) for u, a, b in rows)

    def _is_late(self) -> bool:
        return self.wishes.clock.now() >= self.deadline

    def _find(self, aim: Aim) -> Answer:
        wishes = replace(
            self.wishes,
            layouts="packed" if self.max_rank is not None else self.wishes.layouts,
            time_limit_s=max(0.1, self.deadline - self.wishes.clock.now()),
            aim=aim,
        )
        return find_schedule(self.kernel, self.hw, wishes, max_rank=self.max_rank)


def _below(metric: Metric, value: float) -> float:
    """The largest value that is told apart from this one, and below it."""
    return value - 1 if metric in (Metric.CYCLES, Metric.DRAM_BYTES) else value * CLOSER


def _split(zones: list[Vector], point: Vector) -> list[Vector]:
    """The zones without what the point beats; those inside another one are dropped."""
    split: list[Vector] = []
    for zone in zones:
        if not all(a < b for a, b in zip(point, zone, strict=True)):
            split.append(zone)
            continue
        for number, value in enumerate(point):
            split.append((*zone[:number], value, *zone[number + 1 :]))
    return [
        zone
        for number, zone in enumerate(split)
        if not any(
            all(a <= b for a, b in zip(zone, other, strict=True)) and (zone != other or n < number)
            for n, other in enumerate(split)
            if n != number
        )
    ]


def _weighted(
    kernel: Kernel, hw: Hardware, wishes: Wishes, metrics: tuple[Metric, ...]
) -> list[Answer | Plan]:
    """The best by each metric and by weightings of two."""
    pairs = list(combinations(range(len(metrics)), 2))
    share = wishes.time_limit_s / (len(metrics) + len(pairs) * len(MIXES))
    soon = replace(wishes, time_limit_s=share)
    found = [search(kernel, hw, replace(soon, aim=Aim.least(metric))) for metric in metrics]
    ends = [_vector(one, hw, metrics) for one in found]
    for a, b in pairs:
        gain, price = ends[b][a] - ends[a][a], ends[a][b] - ends[b][b]
        for mix in MIXES if gain > 0 and price > 0 else ():
            aim = Aim(((metrics[a], (1 - mix) / gain), (metrics[b], mix / price)))
            found.append(search(kernel, hw, replace(soon, aim=aim)))
    return found
