"""Exchanges of tokens as CP-SAT constraints (formulas: costmodels/exchange_waits).

In: the variables, the work, what every flow moves. Out: what the compute unit waits for tokens,
busy times given to `Pace`, what calls that only carry tokens take. Not its job: the tokens
themselves (`tokens`), tiles in one slot (`stalls`).
"""

from collections.abc import Iterator
from math import ceil

from ortools.sat.python import cp_model

from isamap.costmodels import (
    Flow,
    RoundTrip,
    Work,
    carrier_cycles,
    find_exchanges,
    find_round_trips,
    met_by,
    most_credits,
    queued_with,
    trip_ends,
)
from isamap.hwdesc import Hardware

from .algebra import SCALE, Linear, Number, add_up, high, negated
from .model_part import ModelPart
from .pace import Pace
from .variables import StayVars, Variables


class Exchanges(ModelPart):
    """The exchanges of one tiling model."""

    def __init__(
        self,
        variables: Variables,
        work: Work,
        hw: Hardware,
        moved: dict[int, Linear],
        passes: dict[int, Number],
    ) -> None:
        super().__init__(variables, work, hw, moved, passes)
        self.round_trips = find_round_trips(variables.covering, work, hw)

    def waiting(self, horizon: int) -> Linear:
        """Of the compute unit (see exchange_waits.exchange_cycles)."""
        if not self.round_trips:
            return 0
        worst = self.cp.model.new_int_var(0, horizon, "exchange")
        steps = self.cp.product(list(self.vars.trips.values()), "steps")
        for trip in self.round_trips:
            if not trip.is_fed:
                waits = SCALE * (trip.latency_cycles * (steps - 1) - self.work.shared_cycles)
                self.cp.model.add(2 * worst >= waits + self._moved(trip.written))
        return worst

    def add_fed(self, pace: Pace) -> None:
        """Round trips between two units that only move data (see exchange_waits.fed_cycles)."""
        for trip in self.round_trips:
            if trip.is_fed:
                busy = pace.behind(trip_ends(self.work, trip))
                self._add_round_trips(trip, busy, pace.horizon)

    def _add_round_trips(self, trip: RoundTrip, busy: cp_model.IntVar, horizon: int) -> None:
        moved = self._moved((*trip.written, *trip.taken))
        for flow, port in met_by(self.vars.covering, self.work, trip, self.hw):
            number = self.work.flows.index(flow)
            each = ceil(SCALE * dict(flow.ports)[port]) if port else 0
            moved = moved + (each * self.passes[number] if port else self.moved[number])
        for place in trip.exchange.places:
            stay = self.vars.stay(*place)
            label = f"trip_{trip.exchange.writer}_{stay.label}"
            times = self.vars.fetches(stay, label) - 1
            around = moved + SCALE * trip.latency_cycles * times
            beside = self._beside(trip, stay, horizon)
            self.cp.model.add(most_credits(self.hw, trip.exchange) * (busy - beside) >= around)
            if not trip.exchange.is_passage:
                changes = [*stay.changes.values(), *stay.refetch.values()]
                several = [*stay.kept.values()]
                if not isinstance(stay.is_double, int):
                    several.append(stay.is_double)
                alone = [self.cp.any_of(changes, label), *map(negated, several)]
                self.cp.model.add(busy >= around).only_enforce_if(alone)

    def _beside(self, trip: RoundTrip, stay: StayVars, horizon: int) -> Linear:
        """What a unit brings more rarely than sums (see exchange_waits.queued_with)."""
        found: list[Linear] = []
        for flow in queued_with(self.vars.covering, self.work, trip, self.hw):
            number = self.work.flows.index(flow)
            label = f"beside_{stay.label}_{number}"
            other = self.vars.stay(flow.operand, flow.residence)
            pair = self.vars.fetches(other, label), self.vars.fetches(stay, f"{label}_sums")
            is_often = self.cp.model.new_bool_var(f"{label}_often")
            self.cp.model.add(pair[0] >= pair[1]).only_enforce_if(is_often)
            cycles = self.cp.model.new_int_var(0, horizon, label)
            rarely = self.cp.model.add(cycles >= self.moved[number])
            rarely.only_enforce_if(negated(is_often))
            found.append(cycles)
        return add_up(found)

    def token_loads(self) -> Iterator[tuple[str, Linear]]:
        """Of each unit, calls that only carry tokens (see exchange_waits.token_cycles)."""
        several = self.cp.any_of(list(self.vars.many_units.values()), "several_calls")
        for exchange in find_exchanges(self.vars.covering, self.hw):
            label = f"tokens_{exchange.writer}_{exchange.reader}_{exchange.is_outward}"
            stays = [self.vars.stay(*place) for place in exchange.places]
            fetches = [self.vars.fetches(stay, f"{label}_{stay.label}") for stay in stays]
            runs = self.cp.model.new_int_var(0, max(map(high, fetches)), label)
            for times in fetches:
                self.cp.model.add(runs >= times)
            for unit, calls in exchange.calls.items():
                is_computing = unit == self.work.compute_unit
                times = self.cp.either(0, runs, several, f"{label}_runs") if is_computing else runs
                yield unit, calls * SCALE * carrier_cycles(self.hw, unit) * times

    def _moved(self, flows: tuple[Flow, ...]) -> Linear:
        return add_up(self.moved[self.work.flows.index(flow)] for flow in flows)
