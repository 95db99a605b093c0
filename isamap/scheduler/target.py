"""An aim as the objective and the limits of a tiling model.

In: a model, an aim, the costs of some tiling as a measure of size. Out: one expression to minimise
and how it is scaled. Not its job: what each cost consists of (`costmodels`), solving.

CP-SAT counts in integers: every cost is scaled so that the known tiling's comes to about
`PRECISION`, and rounded down flow by flow, so that a bound on the expression is one on the cost.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, log2

from isamap.costmodels import Aim, Costs, Metric, Moved, Work, least_costs
from isamap.hwdesc import Hardware

from .algebra import LIMIT, SCALE, Linear, Number, add_up, high
from .model import TilingModel

PRECISION = 2**40
FACTOR_PRECISION = 2**20  # of each factor of a product
MOST_FACTOR = 2**29
MOST_WEIGHT = 2**30
LINEAR_ERROR = 2.0**-30  # what rounding may hide of a sum over flows, as a share of it
PRODUCT_ERROR = 2.0**-15  # of a product


@dataclass(frozen=True, slots=True)
class Scaled:
    """A cost times `scale`, as an expression that is never above `most`."""

    expression: Linear
    scale: float
    most: int


@dataclass(frozen=True, slots=True)
class Target:
    """`expression` is at most `scale` times what the aim minimises; a solution whose value is its
    bound plus at most `slack` is proven, as far as numbers are told apart. `limited`: the costs
    that the aim limits, in its order."""

    expression: Linear
    scale: float
    slack: float
    limited: tuple[Scaled, ...] = ()


def set_target(
    built: TilingModel, work: Work, hw: Hardware, aim: Aim, known: Costs, *, is_allowed: bool
) -> Target:
    """Make the model minimise the aim under its limits.

    Args:
        known: costs of a tiling of the same covering.
        is_allowed: the known tiling keeps the limits, so that nothing worse need be looked at.
    """
    costs = _Expressions(built, work, hw, known, is_allowed)
    limited = tuple(costs.of(metric) for metric, _ in aim.limits)
    for scaled, (metric, most) in zip(limited, aim.limits, strict=True):
        spare = (1 + len(work.flows)) * SCALE if metric is Metric.CYCLES else 0  # it rounds up
        built.model.add(scaled.expression <= min(LIMIT, floor(most * scaled.scale)) + spare)
    if aim.is_fastest:
        return Target(built.cycles, SCALE, 1.0, limited)
    terms = [(metric, weight, costs.of(metric)) for metric, weight in aim.weights]
    if len(terms) == 1:
        metric, weight, only = terms[0]
        built.model.minimize(only.expression)
        slack = weight * costs.error(metric)
        return Target(only.expression, only.scale / weight, slack, limited)
    scale = min(
        term.scale / weight * min(MOST_WEIGHT, LIMIT / (4 * len(terms) * max(1, term.most)))
        for _, weight, term in terms
    )
    total: Linear = 0
    slack = 0.0
    for metric, weight, term in terms:
        factor = max(1, floor(weight * scale / term.scale))
        total += factor * term.expression
        slack += weight * (costs.error(metric) + known.of(metric) / factor)
    built.model.minimize(total)
    return Target(total, scale, slack, limited)


class _Expressions:
    """Every cost of a model as an expression."""

    def __init__(
        self, built: TilingModel, work: Work, hw: Hardware, known: Costs, is_allowed: bool
    ) -> None:
        self.built = built
        self.cp = built.vars.cp
        self.work = work
        self.hw = hw
        self.known = known
        self.least = least_costs(built.covering, work, hw)
        self.is_allowed = is_allowed
        self.made: dict[Metric, Scaled] = {}

    def of(self, metric: Metric) -> Scaled:
        """The cost's expression."""
        if metric not in self.made:
            self.made[metric] = self._make(metric)
        return self.made[metric]

    def error(self, metric: Metric) -> float:
        """What rounding may hide of a cost of the known tiling's size; of cycles, one."""
        match metric:
            case Metric.CYCLES:
                return 1.0
            case Metric.EDP:
                return self.known.energy_pj + PRODUCT_ERROR * self.known.of(metric)
            case _:
                return LINEAR_ERROR * self.known.of(metric)

    def _make(self, metric: Metric) -> Scaled:
        hw = self.hw
        match metric:
            case Metric.CYCLES:
                return Scaled(self.built.cycles, SCALE, high(self.built.cycles))
            case Metric.ENERGY:
                return self._moved("energy", self.known.energy_pj, lambda part: part.energy_pj)
            case Metric.DRAM_BYTES:
                known = self.known.dram_bytes
                return self._moved("dram_bytes", known, lambda part: part.external_bytes(hw))
            case Metric.EDP:
                return self._product()

    def _moved(self, name: str, known: float, count: Callable[[Moved], float]) -> Scaled:
        """Something that every pass of a flow adds the same amount to."""
        fixed = count(self.work.moved)
        flows = [(count(f.moved), self.built.passes[n]) for n, f in enumerate(self.work.flows)]
        most = fixed + sum(each * high(passes) for each, passes in flows)
        wanted = min(PRECISION / max(known, 1.0), LIMIT / max(most, 1.0))
        scale = 2.0 ** floor(log2(wanted))
        total = self.cp.model.new_int_var(0, floor(most * scale), name)
        parts = add_up(floor(each * scale) * passes for each, passes in flows)
        self.cp.model.add(total == floor(fixed * scale) + parts)
        return Scaled(total, scale, floor(most * scale))

    def _product(self) -> Scaled:
        """Energy times cycles, each cut down to its leading binary digits."""
        known, least = self.known, self.least
        energy, energy_scale = self._factor(Metric.ENERGY, known.energy_pj, least.cycles)
        cycles, cycles_scale = self._factor(Metric.CYCLES, known.cycles, least.energy_pj)
        most = high(energy) * high(cycles)
        product = self.cp.product([energy, cycles], "energy_delay")
        return Scaled(product, energy_scale * cycles_scale, most)

    def _factor(self, metric: Metric, known: float, other_least: float) -> tuple[Number, float]:
        """A cost without its last binary digits, and its scale; what makes the product larger than
        the known one is left out."""
        term = self.of(metric)
        shift = max(0, floor(log2(max(1.0, known * term.scale) / FACTOR_PRECISION)))
        most = min(term.most >> shift, MOST_FACTOR)
        if self.is_allowed and other_least > 0:
            limit = self.known.of(Metric.EDP) / other_least
            most = min(most, floor(limit * term.scale) >> shift)
        factor = self.cp.model.new_int_var(0, most, f"{metric.value}_factor")
        rest = term.expression - 2**shift * factor
        self.cp.model.add(rest >= 0)
        self.cp.model.add(rest < 2**shift)
        return factor, term.scale / 2**shift
