"""Places that are filled and freed in turn, as CP-SAT constraints (formulas: costmodels/rounds).

In: the variables, the work, what every flow moves. Out: busy times given to `Pace`. Not its job:
waiting of the compute unit (`stalls`).
"""

from math import ceil, lcm

from ortools.sat.python import cp_model

from isamap.costmodels import (
    Flow,
    Stay,
    find_held_up,
    find_turn,
    inputs_beside,
    is_renamed,
    may_occupy,
    may_sweep,
    occupying,
    passage_rounds,
    ring_ends,
    round_trip_cycles,
    shared_ports,
    unit_ends,
)

from .algebra import SCALE, Bool, Linear, Number, add_up, negated
from .in_order import times_held_up
from .model_part import ModelPart
from .pace import Pace
from .stalls import tile_cycles
from .variables import StayVars


class Turns(ModelPart):
    """The turns of one tiling model."""

    def add_all(self, pace: Pace) -> None:
        """Slots of tiles, and places of passages (see rounds.round_cycles)."""
        for stay in self.vars.stays:
            if not is_renamed(stay.plan, stay.number, self.hw):
                self._add_turnaround(stay, pace)
                self._add_ring(stay, pace)
        for passing in passage_rounds(self.vars.covering, self.work):
            times = self.passes[self.work.flows.index(passing.flow)]
            pace.add(1, ceil(SCALE * passing.cycles) * times, passing.ends)

    def add_swept(self, flow: Flow, stay: StayVars, load: Linear, pace: Pace) -> None:
        """What is left to compute behind the last sums' way in, `load` on the unit (see
        rounds.swept_cycles)."""
        if not may_sweep(self.vars.covering, flow, self.hw) or stay.is_always_low:
            return
        count = self.hw.num_units(flow.unit)
        others = add_up(
            self._last_moved(f, f"{stay.label}_{n}")
            for n, f in enumerate(self.work.flows)
            if f.unit == flow.unit and f != flow
        )
        last = self.vars.last
        calls = self.cp.product(list(last.values()), f"last_calls_{stay.label}")
        busy = pace.behind(unit_ends(self.work, flow.unit))
        for name in last:
            if name in stay.plan.loops:
                continue
            label = f"swept_{stay.label}_{name}"
            inside = [
                self.cp.both(
                    self.vars.many_units[other],
                    self.vars.outside_inner[other, name],
                    f"{label}_{other}",
                )
                for other in last
                if other != name
            ]
            sweep = self.cp.product([units for n, units in last.items() if n != name], label)
            left = SCALE * self.work.call_cycles * (calls - sweep) - others
            conditions = [
                self.vars.many_units[name],
                negated(self.cp.any_of(inside, f"{label}_inside")),
            ]
            if not isinstance(stay.is_low, int):
                conditions.append(negated(stay.is_low))
            swept = self.cp.model.add(count * busy >= load + count * left)
            swept.only_enforce_if(conditions)

    def add_held_up(self, stay: StayVars, units: dict[str, list[Linear]], pace: Pace) -> None:
        """A queue that idles until a result is there that it takes out (see analytical._paces)."""
        held_up = find_held_up(self.work, stay.plan, stay.number, self.hw)
        if held_up is None:
            return
        unit = held_up.drain.unit
        count = self.hw.num_units(unit)
        busy = pace.behind(unit_ends(self.work, unit))
        load, every = add_up(units[unit]), count * ceil(SCALE * held_up.idle_cycles)
        drained = self.passes[self.work.flows.index(held_up.drain)]
        for times, literals in times_held_up(self.vars, stay, held_up, drained, self.hw):
            idle = self.cp.model.add(count * busy >= load + every * times)
            idle.only_enforce_if(literals)
        if not held_up.is_own:
            fetches = self.vars.fetches(stay, f"idle_{stay.label}")
            self.cp.model.add(count * busy >= every * fetches)

    def _last_moved(self, flow: Flow, label: str) -> Linear:
        """What the last tile moves of a flow: it fetches nothing where the data rest."""
        stay = self.vars.stay(flow.operand, flow.residence)
        if flow.is_drain:
            return tile_cycles(self.vars, flow, stay.volume)
        resting = [
            self.cp.both(
                self.vars.many_tiles[name], negated(stay.refetch[name]), f"last_{label}_{name}"
            )
            for name in self.vars.loops
            if name not in stay.plan.loops
        ]
        rests = self.cp.any_of(resting, f"last_{label}")
        volume = self.cp.either(stay.volume, 0, rests, f"last_volume_{label}")
        return tile_cycles(self.vars, flow, volume)

    def _add_turnaround(self, stay: StayVars, pace: Pace) -> None:
        """Two slots of a written tile (see rounds.turnaround_cycles)."""
        turn = find_turn(self.work, stay.plan.name, stay.number)
        is_alone = isinstance(stay.is_double, int) or stay.is_always_low
        if turn is None or is_alone or self.hw.has_tokens:
            return
        changes = (*stay.changes.values(), *stay.changes_inner.values())
        refetch = (*stay.refetch.values(), *stay.refetch_inner.values())
        replaced = self.cp.any_of([*changes, *refetch], f"turns_{stay.label}")
        queued = add_up(
            self.moved[n]
            for n, f in enumerate(self.work.flows)
            if f.unit == turn.fill.unit and not f.is_drain
        )
        own = [self.work.flows.index(flow) for flow in (turn.drain, turn.fill)]
        moved = [self.moved[number] for number in own]
        for port in shared_ports(turn):
            each = {n: ceil(SCALE * dict(self.work.flows[n].ports)[port]) for n in own}
            moved.append(add_up(cycles * self.passes[n] for n, cycles in each.items()))
        fetches = self.vars.fetches(stay, f"turn_{stay.label}")
        waits = ceil(SCALE * turn.latency_cycles) * fetches + SCALE * self.work.shared_cycles
        conditions = [stay.is_double, replaced]
        if not isinstance(stay.is_low, int):
            conditions.append(negated(stay.is_low))
        busy = pace.behind(turn.ends)
        for cycles in (*moved, queued):
            self.cp.model.add(2 * busy >= cycles + waits).only_enforce_if(conditions)
        bursts = {
            number: self.vars.stay(flow.operand, flow.residence)
            for number, flow in enumerate(self.work.flows)
            if flow in inputs_beside(self.vars.covering, self.work, turn)
        }
        if not bursts:
            return
        label = f"turn_{stay.label}"
        alone = self.cp.model.new_int_var(0, pace.horizon, f"alone_{label}")
        for cycles in moved:
            self.cp.model.add(2 * alone >= cycles + waits).only_enforce_if(conditions)
        excesses = [self._excess(n, s, alone, f"{label}_{n}") for n, s in bursts.items()]
        held = self.cp.model.add(busy >= alone + add_up(excesses))
        held.only_enforce_if(conditions)

    def _excess(self, number: int, stay: StayVars, alone: cp_model.IntVar, label: str) -> Linear:
        """What fetches that happen only once in several turns exceed the slack of one by, in all
        (see bursts.excess_of_bursts)."""
        many = self.vars.many_tiles
        rests = {
            name: self.cp.both(many[name], negated(again), f"rests_{label}_{name}")
            for name, again in stay.refetch.items()
        }
        if stay.is_always_low or not rests:
            return 0
        factors: list[Number] = [
            self.cp.either(1, self.vars.trips[name], rest, f"rest_{label}_{name}")
            for name, rest in rests.items()
        ]
        unit = self.work.flows[number].unit
        count = self.hw.num_units(unit)
        flows = enumerate(self.work.flows)
        others = add_up(self.moved[n] for n, f in flows if f.unit == unit and n != number)
        most = count * alone.domain.max()
        spare = self.cp.model.new_int_var(0, most, f"spare_{label}")
        self.cp.model.add_max_equality(spare, [0, count * alone - others])
        unwaited = self.cp.model.new_int_var(0, most, f"unwaited_{label}")
        hidden = self.cp.model.new_int_var(0, most, f"hidden_{label}")
        kept = self.cp.product(factors, f"kept_{label}")
        self.cp.model.add_multiplication_equality(hidden, [unwaited, kept])
        self.cp.model.add(hidden <= spare)
        conditions = [self.cp.any_of(list(rests.values()), f"several_{label}")]
        if not isinstance(stay.is_low, int):
            conditions.append(negated(stay.is_low))
        excess = self.cp.model.new_int_var(0, alone.domain.max(), f"excess_{label}")
        waiting = self.cp.model.add(count * excess >= self.moved[number] - unwaited)
        waiting.only_enforce_if(conditions)
        return excess

    def _add_ring(self, stay: StayVars, pace: Pace) -> None:
        """Round trips of a tile's slots (see rounds.round_cycles)."""
        if stay.is_always_low:
            return
        key = stay.plan.name, stay.number
        conditions: list[Bool] = []
        if not isinstance(stay.is_low, int):
            conditions.append(negated(stay.is_low))
        busy = pace.behind(ring_ends(self.work, *key))
        if not self.vars.is_token:
            label = f"ring_{stay.label}"
            trip = ceil(SCALE * round_trip_cycles(self.work, *key))
            factors: list[Number] = []
            for name, replaces in (*stay.changes.items(), *stay.refetch.items()):
                trips = self.vars.trips[name]
                factors.append(self.cp.either(1, trips, replaces, f"{label}_{name}"))
            around = trip * self.cp.product(factors, label)
            self._add_turns(stay, busy, around, conditions)
        if may_occupy(self.vars.covering, Stay(*key, 1, 1), self.hw):
            conditions += [negated(kept) for kept in stay.kept.values()]
            share, occupied = self._occupied(stay)
            self._add_turns(stay, share * busy, occupied, conditions)

    def _add_turns(
        self, stay: StayVars, busy: Linear, held: Linear, conditions: list[Bool]
    ) -> None:
        """So long all slots together are held."""
        for slots, literal in self.vars.slot_literals(stay):
            turns = self.cp.model.add(slots * busy >= held)
            turns.only_enforce_if([*conditions, *literal])

    def _occupied(self, stay: StayVars) -> tuple[int, Linear]:
        """So many times the cycles that slots hold tiles (see rounds.occupied_cycles)."""
        flows, latency = occupying(self.work, stay.plan, stay.number, self.hw)
        mine = [(self.work.flows.index(flow), flow) for flow in flows]
        share = lcm(*(self.hw.num_units(flow.unit) for _, flow in mine))
        moved = add_up(self.moved[n] * (share // self.hw.num_units(f.unit)) for n, f in mine)
        fetches = self.vars.fetches(stay, f"occupied_{stay.label}")
        return share, moved + SCALE * share * (latency * fetches + self.work.shared_cycles)
