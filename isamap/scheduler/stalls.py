"""Waiting that overlap cannot hide, as CP-SAT constraints (formulas: costmodels/waiting).

In: the variables, the work, what every flow moves. Out: per stay a stall in `SCALE`ths of a
cycle. Not its job: the busy times themselves, places that take `turns`, tokens (`exchanges`).
"""

from collections.abc import Iterator
from math import ceil, prod

from ortools.sat.python import cp_model

from isamap.costmodels import (
    Flow,
    HeldUp,
    Stay,
    Work,
    drain_latency_cycles,
    find_held_up,
    find_sum_ring,
    has_one_credit,
    is_handed_on,
    is_renamed,
    moves_blocks,
    needs_one_slot,
    swap_limits,
    waits_for_port,
)
from isamap.hwdesc import Hardware

from .algebra import LIMIT, SCALE, Bool, Linear, Number, add_up, high, negated
from .block_stalls import BlockStalls
from .in_order import gathered, stays_in_turn, times_held_up
from .model_part import ModelPart
from .options import tile_options
from .variables import StayVars, Variables


def tile_cycles(variables: Variables, flow: Flow, volume: Number) -> Linear:
    """Moving so many blocks of a flow as a tile (see passes.tile_cycles)."""
    plan = variables.covering.operand(flow.operand)
    axes = (axis for axis in plan.axes if not axis.is_window)
    units = prod(variables.covering.loop(axis.loops[0]).units for axis in axes)
    return ceil(SCALE * flow.pass_cycles / units) * volume


def independent(variables: Variables, name: str) -> tuple[Number, Bool]:
    """Units of a loop's tile that stand for sums of their own between which calls change (see
    chains.independent_loops), 1 where a sum's unit loop runs inside; and whether one does."""
    cp, label = variables.cp, f"chain_{name}"
    inner = [
        cp.both(
            variables.outside_inner[name, other], variables.many_units[other], f"{label}_{other}"
        )
        for other, loop in variables.loops.items()
        if loop.is_reduction
    ]
    broken = cp.any_of(inner, f"broken_{name}")
    return cp.either(variables.tile[name], 1, broken, f"independent_{name}"), broken


class Stalls(ModelPart):
    """Stalls of one tiling model."""

    def __init__(
        self,
        variables: Variables,
        work: Work,
        hw: Hardware,
        moved: dict[int, Linear],
        passes: dict[int, Number],
        horizon: int,
    ) -> None:
        super().__init__(variables, work, hw, moved, passes)
        self.horizon = horizon
        self.blocks = BlockStalls(variables, work, hw)
        self.shared: list[cp_model.IntVar] = []  # least waiting where units share the calls

    def add_uneven(self, name: str, busiest: cp_model.IntVar, passes: dict[int, Number]) -> None:
        """Fill units that set the pace in the last tiles of a loop of several (see
        waiting.uneven_cycles)."""
        units, last = self.vars.loops[name].units, self.vars.last[name]
        for unit in self.work.fill_units:
            terms = [
                (ceil(SCALE * flow.pass_cycles), self._last_passes(number, flow, name, passes))
                for number, flow in enumerate(self.work.flows)
                if flow.unit == unit and not flow.windows
            ]
            whole = self.hw.num_units(unit) * units
            if whole * high(busiest) + sum(c * high(p) for c, p in terms) > LIMIT:
                continue  # too large to compare exactly: the bound stays valid without it
            rest = self.hw.num_units(unit) * SCALE * self.work.shared_cycles * (units - last)
            uneven = self.cp.model.add(whole * busiest >= rest + add_up(c * p for c, p in terms))
            uneven.only_enforce_if(self.vars.many_tiles[name])

    def _last_passes(self, number: int, flow: Flow, name: str, passes: dict[int, Number]) -> Number:
        """`units` times the passes during the last tiles of a loop (see waiting.last_passes)."""
        units, last = self.vars.loops[name].units, self.vars.last[name]
        stay = next(
            s for s in self.vars.stays if (s.plan.name, s.number) == (flow.operand, flow.residence)
        )
        label = f"last_{name}_{number}"
        if name in stay.plan.loops:
            return self.cp.product([passes[number], last], label)
        others = self.cp.product([f for n, f in stay.factors.items() if n != name], f"o_{label}")
        again = self.cp.either(0, others, stay.refetch[name], f"again_{label}")
        if name in stay.refetch_inner:
            parts = self.cp.product([others, last], f"parts_{label}")
            again = self.cp.either(again, parts, stay.refetch_inner[name], f"some_{label}")
        return self.cp.product([units, again], label)

    def stall(self, stay: StayVars) -> Linear:
        """Waiting for a stay that cannot be prefetched (see waiting.stall_cycles)."""
        mine = [
            (n, f)
            for n, f in enumerate(self.work.flows)
            if (f.operand, f.residence) == (stay.plan.name, stay.number)
        ]
        if is_renamed(stay.plan, stay.number, self.hw):
            return 0
        flows = [(n, f) for n, f in mine if f.unit != self.work.compute_unit]
        label = stay.label
        own = SCALE * sum(f.latency_cycles for _, f in mine if f.unit == self.work.compute_unit)
        waiting: Linear = 0
        if own and not stay.is_always_low:
            waiting = own * self.vars.fetches(stay, f"own_{label}")
        if not flows:
            return waiting
        stall = self.cp.model.new_int_var(0, self.horizon, f"stall_{label}")
        if needs_one_slot(stay.plan, self.hw):
            self._add_plane_stall(stay, stall, mine, label)
            return stall + waiting
        held_up = find_held_up(self.work, stay.plan, stay.number, self.hw)
        if held_up is not None:
            passes = self.passes[self.work.flows.index(held_up.drain)]
            every = ceil(SCALE * held_up.waiting_cycles)
            for times, literals in times_held_up(self.vars, stay, held_up, passes, self.hw):
                held = self.cp.model.add(stall + waiting >= every * times)
                held.only_enforce_if(literals)
            self._add_each_held_up(stay, held_up, stall, waiting)
        changes = (*stay.changes.values(), *stay.changes_inner.values())
        refetch = (*stay.refetch.values(), *stay.refetch_inner.values())
        replaced = self.cp.any_of([*changes, *refetch], f"replaced_{label}")
        if not stay.is_never_low:
            blocks = [f for _, f in flows]
            self.blocks.add(stay, blocks, stall, replaced, self.work.call_cycles)
            if self.work.shares_calls:
                shared = self.cp.model.new_int_var(0, self.horizon, f"shared_{label}")
                self.blocks.add(stay, blocks, shared, replaced, self.work.issue_cycles)
                self.shared.append(shared)
        if stay.is_always_low:
            return stall
        rotates = self._rotates(stay, label)
        exposed = [replaced, negated(rotates)]
        if not isinstance(stay.is_low, int):
            exposed.append(negated(stay.is_low))
        fetches = self.vars.fetches(stay, label)
        swap = swap_limits(self.vars.covering, self.work, stay.plan, stay.number, self.hw)
        if swap is not None:
            in_turn = [*exposed[2:], *stays_in_turn(self.vars, stay, f"swap_{label}")]
            in_turn += map(negated, gathered(self.vars, stay, label))
            for waits, conditions in ((swap.waits, exposed), (swap.in_order, in_turn)):
                for once, each in waits:
                    swapped = self._swapped(stay, swap.drain, once, each, fetches)
                    self.cp.model.add(stall >= swapped).only_enforce_if(conditions)
        else:
            for moved in self._moved_alone(stay, flows, fetches):
                self.cp.model.add(stall >= moved).only_enforce_if(exposed)
        self._add_burst(stay, flows, stall, label)
        return stall + waiting

    def _moved_alone(
        self, stay: StayVars, flows: list[tuple[int, Flow]], fetches: Number
    ) -> Iterator[Linear]:
        """What is moved while nothing is computed, where a tile has one place (see
        waiting.stall_cycles)."""
        ring = find_sum_ring(self.work, stay.plan, stay.number, self.hw)
        if ring is not None:
            numbers = [self.work.flows.index(flow) for flow in ring.flows]
            once = add_up(tile_cycles(self.vars, flow, stay.volume) for flow in ring.flows)
            moved = add_up(self.moved[number] for number in numbers)
            yield moved - once + SCALE * ring.latency_cycles * (fetches - 1)
        elif not is_handed_on(stay.number, self.hw):
            latency = sum(f.latency_cycles for _, f in flows) + self.work.latency_cycles
            for number, _ in flows:
                yield self.moved[number] + SCALE * latency * fetches

    def _add_each_held_up(
        self, stay: StayVars, held_up: HeldUp, stall: cp_model.IntVar, waiting: Linear
    ) -> None:
        """What stands behind all blocks of a tile (see in_order.waiting_behind)."""
        if not held_up.each_cycles or stay.is_always_low:
            return
        label = f"each_{stay.label}"
        fetches = self.vars.fetches(stay, label)
        sums = (name for name, loop in self.vars.loops.items() if not loop.is_reduction)
        together = self.cp.product([independent(self.vars, n)[0] for n in sums], label)
        moved = self.cp.product([together, fetches], f"{label}_all")
        once, each = ceil(SCALE * held_up.waiting_cycles), ceil(SCALE * held_up.each_cycles)
        others = moved - together - fetches + 1
        held = self.cp.model.add(stall + waiting >= once * (fetches - 1) + each * others)
        literals = [*stay.kept.values()]
        if not isinstance(stay.is_low, int):
            literals.append(stay.is_low)
        held.only_enforce_if([negated(literal) for literal in literals])

    def _swapped(
        self, stay: StayVars, drain: Flow, once: float, each: float, fetches: Number
    ) -> Linear:
        """Waiting while a written tile makes room for the next (see waiting.swap_cycles)."""
        blocks = prod(loop.units for n, loop in self.vars.loops.items() if n in stay.plan.loops)
        passes = self.passes[self.work.flows.index(drain)]
        old = blocks * passes - stay.volume
        return ceil(SCALE * once) * (fetches - 1) + ceil(SCALE * each) * old

    def _add_plane_stall(
        self, stay: StayVars, stall: cp_model.IntVar, mine: list[tuple[int, Flow]], label: str
    ) -> None:
        """Waiting while byte planes drain (see waiting.plane_cycles)."""
        unit = self.work.compute_unit
        number, drain = next((n, f) for n, f in mine if f.is_drain and f.unit != unit)
        moved = self.moved[number]
        shifted = add_up(self.moved[n] for n, f in mine if f.is_drain and f.unit == unit)
        fetches = self.vars.fetches(stay, label)
        every = SCALE * (drain.latency_cycles + self.work.latency_cycles) * fetches
        latency = drain_latency_cycles(stay.plan, drain) + self.work.latency_cycles
        once = ceil(SCALE * latency) * fetches
        halves = self.cp.any_of(
            [self._has_halves(n, label) for n in stay.plan.loops if n in self.vars.loops],
            f"halves_{label}",
        )
        self.cp.model.add(stall >= moved + every).only_enforce_if(negated(halves))
        self.cp.model.add(stall >= moved - shifted + once).only_enforce_if(halves)
        self.cp.model.add(2 * stall >= moved - shifted + 2 * every).only_enforce_if(halves)

    def add_starving(self, stay: StayVars, busiest: cp_model.IntVar, waiting: Linear) -> None:
        """A fill unit that idles while byte planes drain (see waiting.starved_cycles)."""
        if not needs_one_slot(stay.plan, self.hw):
            return
        label = f"starved_{stay.label}"
        factors: list[Number] = []
        for name in self.vars.loops:
            if name not in stay.plan.loops:
                again = stay.refetch[name]
                factors.append(self.cp.either(self.vars.trips[name], 1, again, f"{label}_{name}"))
        rounds = self.cp.product(factors, label)
        key = (stay.plan.name, stay.number)
        own = add_up(
            self.moved[n]
            for n, f in enumerate(self.work.flows)
            if f.unit == self.work.compute_unit and (f.operand, f.residence) == key
        )
        for unit in self.work.fill_units:
            moved = add_up(self.moved[n] for n, f in enumerate(self.work.flows) if f.unit == unit)
            if waits_for_port(self.work, unit, stay.plan):
                self.cp.model.add(busiest >= moved + waiting + own)
                continue
            # no unit moves for longer than the horizon: wider domains make presolve overflow
            idle = self.cp.model.new_int_var(-self.horizon, self.horizon, f"{label}_{unit}")
            self.cp.model.add(idle == busiest - moved - waiting - own)
            if isinstance(rounds, int):
                self.cp.model.add(rounds * idle >= -moved)
                continue
            most = min(self.horizon * high(rounds), LIMIT)
            scaled = self.cp.model.new_int_var(-self.horizon, most, f"{label}_{unit}_rounds")
            self.cp.model.add_multiplication_equality(scaled, [idle, rounds])
            self.cp.model.add(scaled >= -moved)

    def _has_halves(self, name: str, label: str) -> Bool:
        """Are all tiles of the loop equal and of at least two units?"""
        loop = self.vars.loops[name]
        even = self.cp.model.new_bool_var(f"even_{label}_{name}")
        rows = [
            (tile, int(tile >= 2 and loop.units % tile == 0))
            for tile, _ in tile_options(self.vars.covering, loop, self.hw)
        ]
        self.cp.model.add_allowed_assignments([self.vars.tile[name], even], rows)
        return even

    def _add_burst(
        self,
        stay: StayVars,
        flows: list[tuple[int, Flow]],
        stall: cp_model.IntVar,
        label: str,
    ) -> None:
        fill = next(((n, f) for n, f in flows if not f.is_drain), None)
        resting = [n for n in self.vars.loops if n not in stay.plan.loops]
        if fill is None or not resting:
            return
        factors: list[Number] = []
        for name in resting:
            rests = self.cp.both(
                self.vars.many_tiles[name], negated(stay.refetch[name]), f"rests_{label}_{name}"
            )
            factors.append(self.cp.either(1, self.vars.trips[name], rests, f"rest_{label}_{name}"))
        kept = self.cp.product(factors, f"kept_{label}")
        number, flow = fill
        others = add_up(
            self.moved[n]
            for n, f in enumerate(self.work.flows)
            if f.unit == flow.unit and n != number
        )
        count = self.hw.num_units(flow.unit)
        bursts = self.cp.model.new_bool_var(f"bursts_{label}")
        conditions = [bursts] if isinstance(stay.is_low, int) else [bursts, negated(stay.is_low)]
        compute = count * SCALE * self.work.shared_cycles
        spare = self.cp.model.new_int_var(0, compute, f"spare_{label}")
        self.cp.model.add_max_equality(spare, [0, compute - others])
        # what is not waited for is hidden, in all tiles together at most what there is to spare:
        # wider domains make presolve slow, and overflow
        over = self.cp.model.new_int_var(0, self.horizon, f"over_{label}")
        self.cp.model.add_max_equality(over, [0, self.moved[number] - count * stall])
        unwaited = self.cp.model.new_int_var(0, compute, f"unwaited_{label}")
        self.cp.model.add(unwaited == over).only_enforce_if(conditions)
        for condition in conditions:
            self.cp.model.add(unwaited == 0).only_enforce_if(negated(condition))
        hidden = self.cp.model.new_int_var(0, compute, f"hidden_{label}")
        self.cp.model.add_multiplication_equality(hidden, [unwaited, kept])
        self.cp.model.add(hidden <= spare)
        several = self.cp.any_of(
            [
                self.cp.both(self.vars.many_tiles[n], negated(stay.refetch[n]), f"s_{label}_{n}")
                for n in resting
            ],
            f"several_{label}",
        )
        self.cp.model.add_bool_or(bursts, negated(several))

    def _rotates(self, stay: StayVars, label: str) -> Bool:
        """Two slots, kept tiles, or parts of the tile serve as each other's buffers."""
        ways: list[Bool] = [] if isinstance(stay.is_double, int) else [stay.is_double]
        place = stay.plan.name, stay.number
        has_one = has_one_credit(self.vars.covering, place, self.hw)
        if self.vars.is_token and not stay.plan.is_output and not has_one:
            ways.extend(stay.kept.values())
        if not stay.plan.is_output and moves_blocks(
            self.vars.covering, Stay(stay.plan.name, 0, 1, 1), self.hw
        ):
            ways.extend(stay.kept.values())
            for name in stay.plan.loops:
                if name in self.vars.loops:
                    ways.append(self._is_outermost_unit_loop(name, label))
        return self.cp.any_of(ways, f"rotates_{label}")

    def _is_outermost_unit_loop(self, name: str, label: str) -> Bool:
        outermost = self.cp.model.new_bool_var(f"first_{label}_{name}")
        self.cp.model.add_implication(outermost, self.vars.many_units[name])
        for other in self.vars.loops:
            if other != name:
                self.cp.model.add_bool_or(
                    negated(outermost),
                    negated(self.vars.many_units[other]),
                    self.vars.outside_inner[name, other],
                )
        return outermost
