"""What a schedule shall be good at, and what it may cost at most.

In: costs. Out: one number to minimise, and whether limits hold. Not its job: counting costs
(`analytical`), searching.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Never, assert_never

from isamap.errors import IsamapError, closest


class Metric(Enum):
    """What can be minimised; the value is its name on the command line."""

    CYCLES = "cycles"
    ENERGY = "energy"  # picojoules
    EDP = "edp"  # energy-delay product: picojoules x cycles
    DRAM_BYTES = "dram-bytes"  # read from and written to the external memory

    @classmethod
    def _missing_(cls, value: object) -> Never:
        known = [metric.value for metric in cls]
        hint = closest(str(value), known) or f"objectives are {', '.join(known)}"
        raise IsamapError(f"no objective {value!r}", hint=hint)


@dataclass(frozen=True, slots=True)
class Costs:
    """What a schedule costs; the parts of a program that run one after the other add up."""

    cycles: float
    energy_pj: float
    dram_bytes: float

    def of(self, metric: Metric) -> float:
        """One of the costs, or the product of two."""
        match metric:
            case Metric.CYCLES:
                return self.cycles
            case Metric.ENERGY:
                return self.energy_pj
            case Metric.EDP:
                return self.energy_pj * self.cycles
            case Metric.DRAM_BYTES:
                return self.dram_bytes
            case _:
                assert_never(metric)

    def __add__(self, other: "Costs") -> "Costs":
        return Costs(
            self.cycles + other.cycles,
            self.energy_pj + other.energy_pj,
            self.dram_bytes + other.dram_bytes,
        )

    def at_least(self, other: "Costs") -> "Costs":
        """The larger of each cost."""
        return Costs(
            max(self.cycles, other.cycles),
            max(self.energy_pj, other.energy_pj),
            max(self.dram_bytes, other.dram_bytes),
        )

    def times(self, count: float) -> "Costs":
        """So many of them, one after the other."""
        return Costs(count * self.cycles, count * self.energy_pj, count * self.dram_bytes)


@dataclass(frozen=True, slots=True)
class Aim:
    """Minimise a weighted sum of metrics under limits, each of which may just be reached."""

    weights: tuple[tuple[Metric, float], ...] = ((Metric.CYCLES, 1.0),)
    limits: tuple[tuple[Metric, float], ...] = ()

    @staticmethod
    def least(metric: Metric, limits: tuple[tuple[Metric, float], ...] = ()) -> "Aim":
        """Minimise one metric."""
        return Aim(((metric, 1.0),), limits)

    @property
    def is_fastest(self) -> bool:
        """Is it about cycles alone?"""
        return self.weights == ((Metric.CYCLES, 1.0),)

    @property
    def is_separable(self) -> bool:
        """Is the best of a sum the sum of the bests?"""
        return not self.limits and all(metric is not Metric.EDP for metric, _ in self.weights)

    def uses(self, metric: Metric) -> bool:
        """Does the metric matter?"""
        return any(metric is used for used, _ in (*self.weights, *self.limits))

    def value(self, costs: Costs) -> float:
        """The number to minimise."""
        return sum(weight * costs.of(metric) for metric, weight in self.weights)

    def excess(self, costs: Costs) -> float:
        """How far limits are exceeded, as shares of them added up; 0 when all hold."""
        return sum(max(0.0, costs.of(m) - most) / max(most, 1e-9) for m, most in self.limits)

    def allows(self, costs: Costs) -> bool:
        """Do all limits hold?"""
        return all(costs.of(metric) <= most for metric, most in self.limits)

    def rank(self, costs: Costs) -> tuple[float, float]:
        """Least for the best; limits come first."""
        return self.excess(costs), self.value(costs)


FASTEST = Aim()
