"""The closed-form cost of a covering as a CP-SAT model.

In: a covering, its work, the machine. Out: a model whose objective is `estimate(...)`'s cycles, its variables, and
how to read a tiling from a solution. Not its job: solving, the formulas' reasons (see costmodels/analytical).

Variables: per loop one (tile, trips) pair of those worth trying; both loop orders as pairwise booleans; per stay its level,
slots and kept loops. Factors of reuse are R when some inner loop changes the operand, 1 otherwise.
"""

from dataclasses import dataclass, field
from math import ceil, prod

from ortools.sat.python import cp_model

from isamap.costmodels import (
    Flow,
    Stay,
    Tiling,
    Work,
    drain_latency_cycles,
    fill_units,
    moves_blocks,
    needs_one_slot,
    operand_plan,
    round_trip_cycles,
)

from isamap.hwdesc import Hardware, Synchronisation
from isamap.mapper import Covering, OperandPlan, Residence

from .options import level_options, must_stay_whole, tile_options

Bool = cp_model.IntVar
SCALE = 16  # sixteenths of a cycle: the finest share of a copy per window position


@dataclass
class StayVars:
    """The variables of one stay."""

    plan: OperandPlan
    residence: Residence
    number: int
    is_low: cp_model.IntVar | int  # 1: a single block (level 0)
    is_double: cp_model.IntVar | int  # 1: two slots
    kept: dict[str, cp_model.IntVar] = field(default_factory=dict)
    changes: dict[str, cp_model.IntVar] = field(default_factory=dict)  # tile loops that replace data
    changes_inner: dict[str, cp_model.IntVar] = field(default_factory=dict)
    refetch: dict[str, cp_model.IntVar] = field(default_factory=dict)
    refetch_inner: dict[str, cp_model.IntVar] = field(default_factory=dict)
    factor: cp_model.IntVar | int = 1
    volume: cp_model.IntVar | int = 1  # blocks (or window positions) of a tile


class TilingModel:
    """Builds the model; `tiling(solver)` reads a solution."""

    def __init__(self, covering: Covering, work: Work, hw: Hardware) -> None:
        self.covering = covering
        self.work = work
        self.hw = hw
        self.is_token = hw.synchronisation is Synchronisation.TOKENS
        self.model = cp_model.CpModel()
        self.loops = {loop.name: loop for loop in covering.loops if loop.units > 1}
        self.tile: dict[str, cp_model.IntVar] = {}
        self.trips: dict[str, cp_model.IntVar] = {}
        self.iterations: dict[str, cp_model.IntVar] = {}
        self.many_tiles: dict[str, Bool] = {}
        self.many_units: dict[str, Bool] = {}
        self.outside: dict[tuple[str, str], Bool] = {}
        self.outside_inner: dict[tuple[str, str], Bool] = {}
        for name in self.loops:
            self._add_loop(name)
        self.outside = self._add_order("outer")
        self.outside_inner = self._add_order("inner")
        self.stays = [
            self._add_stay(plan, number)
            for plan in covering.operands
            for number in range(len(plan.residences))
        ]
        self._add_capacity()
        self.cycles = self._add_objective()

    # ----------------------------------------------------------- primitives

    def _product(self, factors: list[cp_model.IntVar | int], name: str) -> cp_model.IntVar | int:
        """Product of variables and constants, two at a time (propagates best)."""
        constant = prod(f for f in factors if isinstance(f, int))
        variables = sorted((f for f in factors if not isinstance(f, int)), key=lambda v: v.name)
        if not variables:
            return constant
        result = variables[0]
        for number, factor in enumerate(variables[1:]):
            high = _high(result) * _high(factor)
            product = self.model.new_int_var(_low(result) * _low(factor), high, f"{name}_{number}")
            self.model.add_multiplication_equality(product, [result, factor])
            result = product
        if constant == 1:
            return result
        scaled = self.model.new_int_var(constant * _low(result), constant * _high(result), name)
        self.model.add(scaled == constant * result)
        return scaled

    def _either(self, low: cp_model.IntVar | int, high: cp_model.IntVar | int, choose_high: Bool, name: str) -> cp_model.IntVar:
        """A variable equal to `high` if `choose_high` else `low`."""
        top = max(_high(low), _high(high))
        chosen = self.model.new_int_var(min(_low(low), _low(high)), top, name)
        self.model.add(chosen == high).only_enforce_if(choose_high)
        self.model.add(chosen == low).only_enforce_if(~choose_high)
        return chosen

    def _any(self, literals: list[Bool], name: str) -> Bool:
        """True exactly when one of the literals is."""
        result = self.model.new_bool_var(name)
        self.model.add_max_equality(result, literals) if literals else self.model.add(result == 0)
        return result

    def _both(self, one: Bool, other: Bool, name: str) -> Bool:
        result = self.model.new_bool_var(name)
        self.model.add_bool_and(one, other).only_enforce_if(result)
        self.model.add_bool_or(~one, ~other).only_enforce_if(~result)
        return result

    # ---------------------------------------------------------------- loops

    def _add_loop(self, name: str) -> None:
        loop = self.loops[name]
        pairs = tile_options(self.covering, loop, self.hw)
        rows = [(t, r, min(t * loop.block, loop.extent)) for t, r in pairs]
        columns = []
        for label, values in zip("trn", zip(*rows, strict=True), strict=True):
            domain = cp_model.Domain.from_values(list(values))
            columns.append(self.model.new_int_var_from_domain(domain, f"{label}_{name}"))
        self.model.add_allowed_assignments(columns, rows)
        self.tile[name], self.trips[name], self.iterations[name] = columns
        for store, column, label in (
            (self.many_tiles, columns[1], "tiles"),
            (self.many_units, columns[0], "units"),
        ):
            many = self.model.new_bool_var(f"many_{label}_{name}")
            self.model.add(column >= 2).only_enforce_if(many)
            self.model.add(column == 1).only_enforce_if(~many)
            store[name] = many

    def _add_order(self, label: str) -> dict[tuple[str, str], Bool]:
        names = list(self.loops)
        position = {
            n: self.model.new_int_var(0, len(names) - 1, f"{label}_at_{n}") for n in names
        }
        if len(names) > 1:
            self.model.add_all_different(list(position.values()))
        order = {}
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                before = self.model.new_bool_var(f"{label}_{a}_{b}")
                self.model.add(position[a] < position[b]).only_enforce_if(before)
                self.model.add(position[a] > position[b]).only_enforce_if(~before)
                order[a, b] = before
                order[b, a] = ~before
        return order

    # ---------------------------------------------------------------- stays

    def _add_stay(self, plan: OperandPlan, number: int) -> StayVars:
        residence = plan.residences[number]
        label = f"{plan.name}{number}"
        levels = sorted({choice[number] for choice in self._levels(plan)})
        is_low: cp_model.IntVar | int = int(levels == [0])
        if levels == [0, 1]:
            is_low = self.model.new_bool_var(f"low_{label}")
        is_double: cp_model.IntVar | int = 0
        if not needs_one_slot(plan, self.hw):
            is_double = self.model.new_bool_var(f"double_{label}")
        stay = StayVars(plan, residence, number, is_low, is_double)
        moving = [name for name in plan.loops if name in self.loops]
        for name in moving:
            self._add_changes(stay, name, label)
        self._keep_inside(stay, moving)
        changed_inside = self._any(list(stay.changes_inner.values()), f"changed_{label}")
        for name in self.loops:
            if name not in moving:
                self._add_refetch(stay, name, changed_inside, label)
        self._add_volume(stay, label)
        if must_stay_whole(self.covering, plan):
            for literal in (*stay.refetch.values(), *stay.refetch_inner.values()):
                self.model.add(literal == 0)
        return stay

    def _levels(self, plan: OperandPlan) -> tuple[tuple[int, ...], ...]:
        from_options = level_options(plan)
        if not moves_blocks(self.covering, Stay(plan.name, 0, 1, 1), self.hw):
            from_options = tuple(choice for choice in from_options if 0 not in choice)
        return from_options

    def _add_changes(self, stay: StayVars, name: str, label: str) -> None:
        """Does the tile loop `name` replace the stay's data? Does the unit loop?"""
        low = stay.is_low
        stay.changes[name] = self.many_tiles[name]
        is_window = any(axis.is_window and name in axis.loops for axis in stay.plan.axes)
        may_keep = not is_window and not (self.is_token and stay.plan.is_output)
        if may_keep and not (isinstance(low, int) and low):
            kept = self.model.new_bool_var(f"kept_{label}_{name}")
            if not isinstance(low, int):
                self.model.add_implication(kept, ~low)
            self.model.add_implication(kept, self.many_tiles[name])
            stay.kept[name] = kept
            stay.changes[name] = self._both(self.many_tiles[name], ~kept, f"changes_{label}_{name}")
        if isinstance(low, int):
            if low:
                stay.changes_inner[name] = self.many_units[name]
        else:
            stay.changes_inner[name] = self._both(low, self.many_units[name], f"inner_{label}_{name}")

    def _keep_inside(self, stay: StayVars, moving: list[str]) -> None:
        """Kept loops lie inside the loops that replace the data (elsewhere keeping gains nothing)."""
        for name, kept in stay.kept.items():
            for other in moving:
                if other != name:
                    self.model.add_bool_or(~kept, ~stay.changes[other], self.outside[other, name])

    def _add_refetch(self, stay: StayVars, name: str, changed_inside: Bool, label: str) -> None:
        """A loop the operand ignores fetches again when some loop inside it replaces the data."""
        causes = [changed_inside]
        for other, changes in stay.changes.items():
            causes.append(self._both(self.outside[name, other], changes, f"c_{label}_{name}_{other}"))
        cause = self._any(causes, f"cause_{label}_{name}")
        stay.refetch[name] = self._both(self.many_tiles[name], cause, f"refetch_{label}_{name}")
        factor = self._either(1, self.trips[name], stay.refetch[name], f"f_{label}_{name}")
        if stay.changes_inner:
            inner_causes = [
                self._both(self.outside_inner[name, other], changes, f"ci_{label}_{name}_{other}")
                for other, changes in stay.changes_inner.items()
            ]
            inner = self._any(inner_causes, f"causei_{label}_{name}")
            again = self._both(self.many_units[name], inner, f"refetchi_{label}_{name}")
            stay.refetch_inner[name] = again
            both = self._product([self.trips[name], self.tile[name]], f"all_{label}_{name}")
            units = self.loops[name].units
            whole = self.model.new_int_var(1, units, f"whole_{label}_{name}")
            self.model.add_min_equality(whole, [both, units])
            factor = self._either(factor, whole, again, f"g_{label}_{name}")
        stay.factor = self._product([stay.factor, factor], f"factor_{label}_{name}")

    def _add_volume(self, stay: StayVars, label: str) -> None:
        """Blocks (window positions) of a tile."""
        factors: list[cp_model.IntVar | int] = []
        for axis in stay.plan.axes:
            if axis.is_window:
                factors.append(self._window_extent(axis.loops, axis.spans, f"{label}_{axis.name}"))
                continue
            name = axis.loops[0]
            if name not in self.loops or (isinstance(stay.is_low, int) and stay.is_low):
                continue
            size: cp_model.IntVar = self.tile[name]
            if not isinstance(stay.is_low, int):
                size = self._either(size, 1, stay.is_low, f"held_{label}_{name}")
            factors.append(size)
        stay.volume = self._product(factors, f"volume_{label}")

    def _window_extent(
        self, loops: tuple[str, ...], spans: tuple[int, ...], label: str
    ) -> cp_model.IntVar | int:
        constant = 1
        terms = []
        for loop, span in zip(loops, spans, strict=True):
            if loop in self.loops:
                terms.append(span * (self.iterations[loop] - 1))
            else:
                constant += span * (self.covering.loop(loop).extent - 1)
        if not terms:
            return constant
        top = 1 + sum(s * (self.covering.loop(n).extent - 1) for n, s in zip(loops, spans, strict=True))
        extent = self.model.new_int_var(1, top, f"extent_{label}")
        self.model.add(extent == constant + sum(terms))
        return extent

    def _add_capacity(self) -> None:
        used: dict[str, list[cp_model.LinearExprT]] = {}
        for stay in self.stays:
            label = f"{stay.plan.name}{stay.number}"
            unit = stay.residence.window_stride_bytes or stay.residence.block_bytes
            factors: list[cp_model.IntVar | int] = [stay.volume]
            for name, kept in stay.kept.items():
                factors.append(self._either(1, self.trips[name], kept, f"places_{label}_{name}"))
            if not isinstance(stay.is_double, int):
                factors.append(self._either(1, 2, stay.is_double, f"slots_{label}"))
            count = self._product(factors, f"room_{label}")
            used.setdefault(stay.residence.memory, []).append(unit * count)
        for memory, sizes in used.items():
            self.model.add(sum(sizes) <= self.hw.memory(memory).size_bytes)

    # ------------------------------------------------------------ objective

    def _add_objective(self) -> cp_model.IntVar:
        """Minimise the busiest unit or port plus startup, finish and stalls, in `SCALE`ths of a cycle."""
        units: dict[str, list[cp_model.LinearExprT]] = {}
        ports: dict[tuple[str, str], list[cp_model.LinearExprT]] = {}
        self.moved: dict[int, cp_model.LinearExprT] = {}
        for number, flow in enumerate(self.work.flows):
            passes = self._passes(flow, number)
            self.moved[number] = _scaled(flow.pass_cycles) * passes
            units.setdefault(flow.unit, []).append(self.moved[number])
            for port, cycles in flow.ports:
                ports.setdefault(port, []).append(_scaled(cycles) * passes)
        compute = self._compute_path()
        horizon = self._horizon()
        busiest = self.model.new_int_var(0, horizon, "busiest")
        waiting = [self._stall(stay, horizon) for stay in self.stays]
        waiting.append(self._exchange(horizon))
        compute_load = sum(units.pop(self.work.compute_unit, [])) + compute
        self.model.add(busiest >= compute_load + sum(waiting))
        counts = {unit.name: unit.count for unit in self.hw.units}
        for unit, loads in units.items():
            self.model.add(counts[unit] * busiest >= sum(loads))
        for loads in ports.values():
            self.model.add(busiest >= sum(loads))
        for stay in self.stays:
            self._add_ring(stay, busiest)
        total = self.model.new_int_var(0, 2 * horizon, "total")
        self.model.add(total == busiest + self._startup() + self._finish(horizon))
        self.model.minimize(total)
        return total

    def _passes(self, flow: Flow, number: int) -> cp_model.LinearExprT:
        stay = self._stay(flow)
        factors: list[cp_model.IntVar | int] = [stay.factor]
        for name in flow.windows:
            factors.append(self._window_total(flow, name, number))
        return self._product(factors, f"passes_{number}")

    def _window_total(self, flow: Flow, name: str, number: int) -> cp_model.IntVar | int:
        """Positions of a window axis over all tiles, overlaps counted every time."""
        axis = operand_plan(self.covering, flow.operand).axis(name)
        active = [(n, s) for n, s in zip(axis.loops, axis.spans, strict=True) if n in self.loops]
        resting = sum(
            s * (self.covering.loop(n).extent - 1)
            for n, s in zip(axis.loops, axis.spans, strict=True)
            if n not in self.loops
        )
        trips: list[cp_model.IntVar | int] = [self.trips[n] for n, _ in active]
        all_trips = self._product(trips, f"t_{number}_{name}")
        total: cp_model.LinearExprT = (1 + resting - sum(s for _, s in active)) * all_trips
        for position, (loop, span) in enumerate(active):
            others = self._product(trips[:position] + trips[position + 1 :], f"o_{number}_{name}_{loop}")
            total += span * self.covering.loop(loop).extent * others
        top = prod(_high(t) for t in trips) * (
            1 + resting + sum(s * self.covering.loop(n).extent for n, s in active)
        )
        result = self.model.new_int_var(1, top, f"positions_{number}_{name}")
        self.model.add(result == total)
        return result

    def _compute_path(self) -> cp_model.LinearExprT:
        work = self.work
        least = SCALE * work.compute_cycles
        if work.accumulate_cycles <= work.issue_cycles:
            return least
        chained_total = SCALE * work.calls * work.accumulate_cycles
        path = self.model.new_int_var(least, max(least, chained_total) + SCALE, "compute_path")
        factors: list[cp_model.IntVar | int] = []
        for name, loop in self.loops.items():
            if loop.is_reduction:
                continue
            inner = [
                self._both(self.outside_inner[name, other], self.many_units[other], f"chain_{name}_{other}")
                for other, candidate in self.loops.items()
                if candidate.is_reduction
            ]
            broken = self._any(inner, f"broken_{name}")
            factors.append(self._either(self.tile[name], 1, broken, f"independent_{name}"))
        independent = self._product(factors, "independent")
        if isinstance(independent, int):
            self.model.add(path >= chained_total)
            return path
        together = self.model.new_int_var(0, _high(path) * _high(independent), "together")
        self.model.add_multiplication_equality(together, [path, independent])
        self.model.add(together >= chained_total)
        return path

    def _exchange(self, horizon: int) -> cp_model.LinearExprT:
        """Waiting for tokens (see analytical.exchange_cycles)."""
        if self.hw.synchronisation is not Synchronisation.TOKENS:
            return 0
        worst = self.model.new_int_var(0, horizon, "exchange")
        steps = self._product(list(self.trips.values()), "steps")
        for unit in fill_units(self.work):
            flows = [
                (n, f)
                for n, f in enumerate(self.work.flows)
                if f.unit == unit and not f.is_drain
            ]
            latency = max(f.latency_cycles for _, f in flows) + self.work.latency_cycles
            moved = sum(self.moved[n] for n, _ in flows)
            self.model.add(
                2 * worst >= SCALE * latency * steps + moved - SCALE * self.work.compute_cycles
            )
        return worst

    def _stall(self, stay: StayVars, horizon: int) -> cp_model.LinearExprT:
        """Waiting for a stay that cannot be prefetched (see analytical.stall_cycles)."""
        mine = [(n, f) for n, f in enumerate(self.work.flows) if self._stay(f) is stay]
        flows = [(n, f) for n, f in mine if f.unit != self.work.compute_unit]
        label = f"{stay.plan.name}{stay.number}"
        own = SCALE * sum(f.latency_cycles for _, f in mine if f.unit == self.work.compute_unit)
        waiting: cp_model.LinearExprT = 0
        if own and not (isinstance(stay.is_low, int) and stay.is_low):
            waiting = own * self._fetches(stay, f"own_{label}")
        if not flows:
            return waiting
        stall = self.model.new_int_var(0, horizon, f"stall_{label}")
        if needs_one_slot(stay.plan, self.hw):
            self._add_plane_stall(stay, stall, mine, label)
            return stall + waiting
        changes = (*stay.changes.values(), *stay.changes_inner.values())
        refetch = (*stay.refetch.values(), *stay.refetch_inner.values())
        replaced = self._any([*changes, *refetch], f"replaced_{label}")
        if not (isinstance(stay.is_low, int) and not stay.is_low):
            self._add_block_stall(stay, [f for _, f in flows], stall, replaced, label)
        if isinstance(stay.is_low, int) and stay.is_low:
            return stall
        rotates = self._rotates(stay, label)
        exposed = self._both(replaced, ~rotates, f"exposed_{label}")
        if not isinstance(stay.is_low, int):
            exposed = self._both(exposed, ~stay.is_low, f"exposed_high_{label}")
        latency = sum(f.latency_cycles for _, f in flows) + self.work.latency_cycles
        fetches = self._fetches(stay, label)
        for number, _ in flows:
            moved = self.moved[number] + SCALE * latency * fetches
            self.model.add(stall >= moved).only_enforce_if(exposed)
        self._add_burst(stay, flows, stall, label)
        return stall + waiting

    def _add_plane_stall(
        self, stay: StayVars, stall: cp_model.IntVar, mine: list[tuple[int, Flow]], label: str
    ) -> None:
        """Waiting while byte planes drain (see analytical.plane_cycles)."""
        unit = self.work.compute_unit
        number, drain = next((n, f) for n, f in mine if f.is_drain and f.unit != unit)
        moved = self.moved[number]
        shifted = sum(self.moved[n] for n, f in mine if f.is_drain and f.unit == unit)
        fetches = self._fetches(stay, label)
        every = SCALE * (drain.latency_cycles + self.work.latency_cycles) * fetches
        latency = drain_latency_cycles(stay.plan, drain) + self.work.latency_cycles
        once = ceil(SCALE * latency) * fetches
        halves = self._any(
            [self._has_halves(n, label) for n in stay.plan.loops if n in self.loops], f"halves_{label}"
        )
        self.model.add(stall >= moved + every).only_enforce_if(~halves)
        self.model.add(stall >= moved - shifted + once).only_enforce_if(halves)
        self.model.add(2 * stall >= moved - shifted + 2 * every).only_enforce_if(halves)

    def _has_halves(self, name: str, label: str) -> Bool:
        """Are all tiles of the loop equal and of at least two units?"""
        loop = self.loops[name]
        even = self.model.new_bool_var(f"even_{label}_{name}")
        rows = [
            (tile, int(tile >= 2 and loop.units % tile == 0))
            for tile, _ in tile_options(self.covering, loop, self.hw)
        ]
        self.model.add_allowed_assignments([self.tile[name], even], rows)
        return even

    def _fetches(self, stay: StayVars, label: str) -> cp_model.IntVar | int:
        """How often the tile is replaced."""
        factors: list[cp_model.IntVar | int] = []
        for name in self.loops:
            if name in stay.plan.loops:
                factors.append(self.trips[name])
            else:
                factors.append(
                    self._either(1, self.trips[name], stay.refetch[name], f"again_{label}_{name}")
                )
        return self._product(factors, f"fetches_{label}")

    def _add_block_stall(
        self, stay: StayVars, flows: list[Flow], stall: cp_model.IntVar, replaced: Bool, label: str
    ) -> None:
        """Waiting for single blocks (see analytical.block_stall_cycles)."""
        low = [] if isinstance(stay.is_low, int) else [stay.is_low]
        latency = ceil(SCALE * sum(f.first_cycles + f.latency_cycles for f in flows))
        issue = SCALE * self.work.issue_cycles
        resting = [name for name in self.loops if name not in stay.plan.loops]
        for slots, literal in self._slot_literals(stay):
            hiding = (slots - 1) * issue
            conditions = [replaced, *low, *literal]
            if len(resting) == 1:
                self._add_single_reuse(stay, stall, resting[0], (latency, hiding), conditions)
            else:
                self._add_product_reuse(stay, stall, resting, (latency, hiding), conditions)

    def _slot_literals(self, stay: StayVars) -> list[tuple[int, list[Bool]]]:
        if isinstance(stay.is_double, int):
            return [(1 + stay.is_double, [])]
        return [(1, [~stay.is_double]), (2, [stay.is_double])]

    def _add_single_reuse(
        self,
        stay: StayVars,
        stall: cp_model.IntVar,
        name: str,
        times: tuple[int, int],
        conditions: list[Bool],
    ) -> None:
        """One reusing loop: waiting per sweep over it, from a table over its tiles."""
        latency, hiding = times
        loop = self.loops[name]
        rows = []
        for tile, count in tile_options(self.covering, loop, self.hw):
            last = loop.units - (count - 1) * tile
            sweep = (count - 1) * max(0, latency - hiding * tile) + max(0, latency - hiding * last)
            rows.append((tile, sweep))
        label = f"sweep_{stay.plan.name}{stay.number}_{name}_{hiding}"
        domain = cp_model.Domain.from_values([sweep for _, sweep in rows])
        sweep = self.model.new_int_var_from_domain(domain, label)
        self.model.add_allowed_assignments([self.tile[name], sweep], rows)
        sweeps = self.work.calls // loop.units
        again = stay.refetch_inner.get(name)
        kept = [] if again is None else [~again]
        self.model.add(stall >= sweeps * sweep).only_enforce_if([*conditions, *kept])
        if again is not None:
            worst = self.work.calls * max(0, latency - hiding)
            self.model.add(stall >= worst).only_enforce_if([*conditions, again])

    def _add_product_reuse(
        self,
        stay: StayVars,
        stall: cp_model.IntVar,
        resting: list[str],
        times: tuple[int, int],
        conditions: list[Bool],
    ) -> None:
        """Several reusing loops: stall * uses >= calls * (latency - hiding * uses)."""
        latency, hiding = times
        label = f"uses_{stay.plan.name}{stay.number}_{hiding}"
        factors: list[cp_model.IntVar | int] = []
        for name in resting:
            again = stay.refetch_inner.get(name)
            uses = self.tile[name]
            if again is not None:
                uses = self._either(uses, 1, again, f"{label}_{name}")
            factors.append(uses)
        together = self._product(factors, label)
        calls = self.work.calls
        shared: cp_model.LinearExprT = stall * together if isinstance(together, int) else stall
        if not isinstance(together, int):
            top = _high(stall) * _high(together)
            shared = self.model.new_int_var(0, top, f"shared_{label}")
            self.model.add_multiplication_equality(shared, [stall, together])
        needed = calls * latency - calls * hiding * together
        self.model.add(shared >= needed).only_enforce_if(conditions)

    def _add_ring(self, stay: StayVars, busiest: cp_model.IntVar) -> None:
        """Round trips of a tile's slots (see analytical.ring_cycles)."""
        if self.is_token or (isinstance(stay.is_low, int) and stay.is_low):
            return
        label = f"ring_{stay.plan.name}{stay.number}"
        trip = ceil(SCALE * round_trip_cycles(self.work, stay.plan.name, stay.number))
        factors: list[cp_model.IntVar | int] = []
        for name, replaces in (*stay.changes.items(), *stay.refetch.items()):
            factors.append(self._either(1, self.trips[name], replaces, f"{label}_{name}"))
        fetches = self._product(factors, label)
        conditions: list[Bool] = []
        if not isinstance(stay.is_low, int):
            conditions.append(~stay.is_low)
        for slots, literal in self._slot_literals(stay):
            ring = self.model.add(slots * busiest >= trip * fetches)
            ring.only_enforce_if([*conditions, *literal])

    def _add_burst(
        self,
        stay: StayVars,
        flows: list[tuple[int, Flow]],
        stall: cp_model.IntVar,
        label: str,
    ) -> None:
        fill = next(((n, f) for n, f in flows if not f.is_drain), None)
        resting = [n for n in self.loops if n not in stay.plan.loops]
        if fill is None or not resting:
            return
        factors: list[cp_model.IntVar | int] = []
        for name in resting:
            rests = self._both(self.many_tiles[name], ~stay.refetch[name], f"rests_{label}_{name}")
            factors.append(self._either(1, self.trips[name], rests, f"rest_{label}_{name}"))
        kept = self._product(factors, f"kept_{label}")
        number, flow = fill
        others = sum(
            self.moved[n]
            for n, f in enumerate(self.work.flows)
            if f.unit == flow.unit and n != number
        )
        moved = self.model.new_int_var(0, _high(stall), f"moved_{label}")
        self.model.add(moved == self.moved[number])
        slack = self.model.new_int_var(-_high(stall), _high(stall), f"slack_{label}")
        self.model.add(slack == moved - stall)
        hidden = self.model.new_int_var(
            -_high(stall) * _high(kept), _high(stall) * _high(kept), f"hidden_{label}"
        )
        self.model.add_multiplication_equality(hidden, [slack, kept])
        bursts = self.model.new_bool_var(f"bursts_{label}")
        conditions = [bursts] if isinstance(stay.is_low, int) else [bursts, ~stay.is_low]
        self.model.add(hidden <= SCALE * self.work.compute_cycles - others).only_enforce_if(conditions)
        several = self._any(
            [self._both(self.many_tiles[n], ~stay.refetch[n], f"s_{label}_{n}") for n in resting],
            f"several_{label}",
        )
        self.model.add_bool_or(bursts, ~several)

    def _rotates(self, stay: StayVars, label: str) -> Bool:
        """Two slots, kept tiles, or parts of the tile serve as each other's buffers."""
        ways: list[Bool] = [] if isinstance(stay.is_double, int) else [stay.is_double]
        if self.is_token and not stay.plan.is_output:
            ways.extend(stay.kept.values())
        if not stay.plan.is_output and moves_blocks(self.covering, Stay(stay.plan.name, 0, 1, 1), self.hw):
            ways.extend(stay.kept.values())
            for name in stay.plan.loops:
                if name in self.loops:
                    ways.append(self._is_outermost_unit_loop(name, label))
        return self._any(ways, f"rotates_{label}")

    def _is_outermost_unit_loop(self, name: str, label: str) -> Bool:
        outermost = self.model.new_bool_var(f"first_{label}_{name}")
        self.model.add_implication(outermost, self.many_units[name])
        for other in self.loops:
            if other != name:
                self.model.add_bool_or(
                    ~outermost, ~self.many_units[other], self.outside_inner[name, other]
                )
        return outermost

    def _startup(self) -> cp_model.LinearExprT:
        """First fetches, one after another per unit, level by level (upper bound of the closed form)."""
        total: cp_model.LinearExprT = 0
        latency = 0
        for flow in self.work.flows:
            if not flow.is_drain and flow.unit != self.work.compute_unit:
                total += self._fetch(flow) + self._edge(flow)
                latency = max(latency, flow.latency_cycles)
        return total + SCALE * latency

    def _finish(self, horizon: int) -> cp_model.LinearExprT:
        finish = self.model.new_int_var(0, horizon, "finish")
        for flow in self.work.flows:
            if flow.is_drain and not needs_one_slot(self._stay(flow).plan, self.hw):
                last = self._fetch(flow) + SCALE * flow.latency_cycles + self._edge(flow)
                self.model.add(finish >= last)
        return finish + SCALE * (self.work.latency_cycles - self.work.issue_cycles)

    def _fetch(self, flow: Flow) -> cp_model.LinearExprT:
        stay = self._stay(flow)
        if moves_blocks(self.covering, Stay(flow.operand, flow.residence, 1, 1), self.hw):
            return _scaled(flow.first_cycles)
        units = prod(
            self.covering.loop(axis.loops[0]).units for axis in stay.plan.axes if not axis.is_window
        )
        return ceil(SCALE * flow.pass_cycles / units) * stay.volume

    def _edge(self, flow: Flow) -> cp_model.LinearExprT:
        stay = self._stay(flow)
        excess = flow.first_cycles - self.work.issue_cycles
        blocks = moves_blocks(self.covering, Stay(flow.operand, flow.residence, 1, 1), self.hw)
        if not stay.plan.is_output or not blocks or excess <= 0:
            return 0
        return _scaled(excess) * (stay.volume - 1)

    def _stay(self, flow: Flow) -> StayVars:
        return next(
            s for s in self.stays if (s.plan.name, s.number) == (flow.operand, flow.residence)
        )

    def _horizon(self) -> int:
        """More cycles than any tiling takes."""
        total = self.work.compute_cycles + self.work.calls * self.work.accumulate_cycles
        for flow in self.work.flows:
            windows = 1
            plan = operand_plan(self.covering, flow.operand)
            for name in flow.windows:
                for loop, span in zip(plan.axis(name).loops, plan.axis(name).spans, strict=True):
                    windows *= 1 + span * self.covering.loop(loop).extent
            others = prod(loop.units for n, loop in self.loops.items() if n not in plan.loops)
            most = max(flow.pass_cycles, *(c for _, c in flow.ports), 1.0)
            total += ceil(most * windows * others)
        return min(4 * SCALE * total, 2**58)

    # --------------------------------------------------------------- result

    def tiling(self, solver: cp_model.CpSolver) -> Tiling:
        """The tiling of the solver's current solution."""
        resting = tuple(loop.name for loop in self.covering.loops if loop.name not in self.loops)
        tiles = tuple(
            (loop.name, solver.value(self.tile[loop.name]) if loop.name in self.loops else 1)
            for loop in self.covering.loops
        )
        return Tiling(
            tiles,
            (*self._order(solver, self.outside), *resting),
            (*self._order(solver, self.outside_inner), *resting),
            tuple(self._read_stay(solver, stay) for stay in self.stays),
        )

    def _order(
        self, solver: cp_model.CpSolver, outside: dict[tuple[str, str], Bool]
    ) -> tuple[str, ...]:
        def inside_count(name: str) -> int:
            return sum(
                solver.boolean_value(literal) for (a, _), literal in outside.items() if a == name
            )

        return tuple(sorted(self.loops, key=lambda name: -inside_count(name)))

    def _read_stay(self, solver: cp_model.CpSolver, stay: StayVars) -> Stay:
        is_low = solver.value(stay.is_low)
        return Stay(
            stay.plan.name,
            stay.number,
            0 if is_low else 1,
            1 + solver.value(stay.is_double),
            tuple(name for name, kept in stay.kept.items() if solver.boolean_value(kept)),
        )

    def hint(self, tiling: Tiling) -> None:
        """Start the solver from a known tiling."""
        for name in self.loops:
            self.model.add_hint(self.tile[name], tiling.tile(name))
        for order, outside in ((tiling.outer, self.outside), (tiling.inner, self.outside_inner)):
            for i, a in enumerate(order):
                for b in order[i + 1 :]:
                    if (a, b) in outside and outside[a, b].index >= 0:
                        self.model.add_hint(outside[a, b], True)
                    elif (b, a) in outside:
                        self.model.add_hint(outside[b, a], False)
        by_key = {(s.operand, s.residence): s for s in tiling.stays}
        for stay in self.stays:
            known = by_key[stay.plan.name, stay.number]
            if not isinstance(stay.is_low, int):
                self.model.add_hint(stay.is_low, known.level == 0)
            if not isinstance(stay.is_double, int):
                self.model.add_hint(stay.is_double, known.slots == 2)
            for name, kept in stay.kept.items():
                self.model.add_hint(kept, name in known.kept)


def _scaled(cycles: float) -> int:
    return ceil(cycles * SCALE)


def _low(value: cp_model.IntVar | int) -> int:
    return value if isinstance(value, int) else min(value.proto.domain)


def _high(value: cp_model.IntVar | int) -> int:
    return value if isinstance(value, int) else max(value.proto.domain)
