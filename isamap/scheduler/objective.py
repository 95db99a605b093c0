"""The closed-form cycles of a tiling as a CP-SAT objective (formulas: costmodels/analytical).

In: the variables, a covering's work, the machine. Out: total cycles to minimise, and what each flow
moves. Not its job: waiting (`stalls`), solving.
"""

from math import ceil, prod

from ortools.sat.python import cp_model

from isamap.costmodels import (
    OVERLAP_LOSS,
    STARVED_ENDS,
    Flow,
    Stay,
    Work,
    excess_cycles,
    fill_paths,
    fills_beside,
    first_call_cycles,
    inner_tile_cycles,
    is_inner_fill,
    moves_blocks,
    needs_one_slot,
    onward_cycles,
    onward_tiles,
    path_latency_cycles,
    port_ends,
    slowest_block_cycles,
    unit_ends,
)
from isamap.hwdesc import Hardware
from isamap.mapper import TileAxis

from .algebra import LIMIT, SCALE, Bool, Linear, Number, add_up, high, negated
from .exchanges import Exchanges
from .pace import Pace
from .stalls import Stalls, independent, tile_cycles
from .turns import Turns
from .variables import StayVars, Variables


class Objective:
    """What sets the pace, with startup, finish and stalls, in `SCALE`ths of a cycle."""

    def __init__(self, variables: Variables, work: Work, hw: Hardware) -> None:
        self.vars = variables
        self.cp = variables.cp
        self.work = work
        self.hw = hw
        self.moved: dict[int, Linear] = {}
        self.passes: dict[int, Number] = {}
        self.late_sums = self._late_sums()
        self.cycles = self._add_total()

    def _add_total(self) -> cp_model.IntVar:
        """Minimise what sets the pace with what lies around it, and what overlap loses."""
        units: dict[str, list[Linear]] = {}
        ports: dict[tuple[str, str], list[Linear]] = {
            port: [_scaled(cycles)] for port, cycles in self.work.ports
        }
        for number, flow in enumerate(self.work.flows):
            passes = self.passes[number] = self._passes(flow, number, {})
            paid = self._passes(flow, number, dict(flow.short)) if flow.short else passes
            self.moved[number] = _scaled(flow.pass_cycles) * paid
            units.setdefault(flow.unit, []).append(self.moved[number])
            for port, cycles in flow.ports:
                ports.setdefault(port, []).append(_scaled(cycles) * passes)
        exchanges = Exchanges(self.vars, self.work, self.hw, self.moved, self.passes)
        for unit, carried in exchanges.token_loads():
            if unit in units or unit == self.work.compute_unit:
                units.setdefault(unit, []).append(carried)
        num_units = self.hw.num_units(self.work.compute_unit)
        compute = self._compute_path(num_units)
        horizon = self._horizon()
        stalls = Stalls(self.vars, self.work, self.hw, self.moved, self.passes, horizon)
        waiting = [stalls.stall(stay) for stay in self.vars.stays]
        pace = Pace(self.cp, horizon)
        for stay, wait in zip(self.vars.stays, waiting, strict=True):
            stalls.add_starving(stay, pace.behind(STARVED_ENDS), wait)
        waiting.append(exchanges.waiting(horizon))
        waiting += [self._resumed(stay, horizon) for stay in self.vars.stays]
        waiting += [self._crowded(stay, horizon) for stay in self.vars.stays if stay.is_inner]
        compute_load = add_up(units.pop(self.work.compute_unit, [])) + num_units * compute
        for wait in (add_up(waiting), *stalls.shared):
            self.cp.model.add(num_units * pace.computing >= compute_load + num_units * wait)
        losses: list[Linear] = []
        for unit, loads in units.items():
            pace.add(self.hw.num_units(unit), add_up(loads), unit_ends(self.work, unit))
            loss = self.cp.model.new_int_var(0, horizon // OVERLAP_LOSS + 1, f"loss_{unit}")
            self.cp.model.add(OVERLAP_LOSS * self.hw.num_units(unit) * loss >= add_up(loads))
            losses.append(loss)
        inner = _scaled(inner_tile_cycles(self.work, self.hw))
        losses += [inner * (1 - stay.is_low) for stay in self.vars.stays if stay.is_inner]
        for port, loads in ports.items():
            pace.add(1, add_up(loads), port_ends(self.work, port))
        turns = Turns(self.vars, self.work, self.hw, self.moved, self.passes)
        turns.add_all(pace)
        exchanges.add_fed(pace)
        for flow in self.work.flows:
            if flow.unit in units:
                turns.add_swept(flow, self._stay(flow), add_up(units[flow.unit]), pace)
        for stay in self.vars.stays:
            turns.add_held_up(stay, units, pace)
        for name in self.vars.loops:
            stalls.add_uneven(name, pace.computing, self.passes)
        issue, call = self.work.issue_cycles, self.work.call_cycles
        ends = self._startup(horizon, issue), self._finish(horizon, issue)
        total = pace.total(*ends, add_up(losses))
        if self.work.shares_calls:  # see analytical.Begun
            around = add_up([self._startup(horizon, call), self._finish(horizon, call), *losses])
            self.cp.model.add(num_units * total >= compute_load + num_units * around)
        self.cp.model.minimize(total)
        return total

    def _crowded(self, stay: StayVars, horizon: int) -> Linear:
        """Waiting for a tile in an inner memory beside single blocks (see costmodels/crowded)."""
        covering, work = self.vars.covering, self.work
        fill = next(
            (n for n, f in enumerate(work.flows)
             if self._stay(f) is stay and is_inner_fill(covering, work, f)), None,
        )  # fmt: skip
        if fill is None:
            return 0
        beside = fills_beside(covering, work, work.flows[fill], self.hw)
        lows = [self._stay(flow).is_low for flow in beside]
        excess = _scaled(excess_cycles(covering, work, work.flows[fill], self.hw))
        if not excess or all(isinstance(low, int) and not low for low in lows):
            return 0
        label = f"crowded_{stay.label}"
        conditions = [] if isinstance(stay.is_low, int) else [negated(stay.is_low)]
        if not any(isinstance(low, int) and low for low in lows):
            literals = [low for low in lows if not isinstance(low, int)]
            conditions.append(self.cp.any_of(literals, f"{label}_beside"))
        waiting = self.cp.model.new_int_var(0, horizon, label)
        self.cp.model.add(waiting >= excess * self.passes[fill]).only_enforce_if(conditions)
        return waiting

    def _resumed(self, stay: StayVars, horizon: int) -> Linear:
        """Waiting where sums that were written are fetched again (see waiting.resumed_cycles)."""
        mine = [f for f in self.work.flows if self._stay(f) is stay]
        fills = (f for f in mine if not f.is_drain and f.unit != self.work.compute_unit)
        fill = next(fills, None)
        if not stay.plan.is_output or fill is None or isinstance(stay.factor, int):
            return 0
        fetches = [
            (_scaled(flow.first_cycles), self._blocks(self._stay(flow)))
            for flow in self.work.flows
            if flow.unit == fill.unit and not flow.is_drain
        ]
        latency = sum(f.latency_cycles for f in mine) + self.work.latency_cycles
        calls = self.cp.product(list(self.vars.tile.values()), f"calls_{stay.label}")
        top = SCALE * latency + sum(cycles * high(blocks) for cycles, blocks in fetches)
        excess = self.cp.model.new_int_var(0, min(top, LIMIT), f"excess_{stay.label}")
        fetched = add_up(cycles * blocks for cycles, blocks in fetches)
        hidden = SCALE * self.work.call_cycles * calls
        self.cp.model.add(excess >= fetched + SCALE * latency - hidden)
        times = self.cp.model.new_int_var(0, high(stay.factor) - 1, f"times_{stay.label}")
        self.cp.model.add(times == stay.factor - 1)
        waiting = self.cp.model.new_int_var(0, horizon, f"resumed_{stay.label}")
        self.cp.model.add_multiplication_equality(waiting, [excess, times])
        return waiting

    def _blocks(self, stay: StayVars) -> Number:
        """Blocks that a fetch of the stay brings (see waiting.tile_blocks)."""
        names = [axis.loops[0] for axis in stay.plan.axes if not axis.is_window]
        if not stay.plan.has_window or stay.is_always_low:
            return stay.volume
        tiles: list[Number] = [self.vars.tile[name] for name in names if name in self.vars.loops]
        return self.cp.product(tiles, f"blocks_{stay.label}")

    def _passes(self, flow: Flow, number: int, short: dict[str, tuple[int, ...]]) -> Number:
        """Passes of a flow, with what `short` calls cost beyond their share (see
        passes.flow_cycles)."""
        stay = self._stay(flow)
        factors: list[Number] = [stay.factor]
        for name in flow.windows:
            factors.append(self._window_total(flow, name, number, short.get(name, ())))
        return self.cp.product(factors, f"paid_{number}" if short else f"passes_{number}")

    def _window_total(self, flow: Flow, name: str, number: int, short: tuple[int, ...]) -> Number:
        """Positions of a window axis over all tiles, overlaps counted every time."""
        axis = self.vars.covering.operand(flow.operand).axis(name)
        active = [
            (n, s) for n, s in zip(axis.loops, axis.spans, strict=True) if n in self.vars.loops
        ]
        resting = sum(
            s * (self.vars.covering.loop(n).extent - 1)
            for n, s in zip(axis.loops, axis.spans, strict=True)
            if n not in self.vars.loops
        )
        trips: list[Number] = [self.vars.trips[n] for n, _ in active]
        all_trips = self.cp.product(trips, f"t_{number}_{name}")
        total: Linear = (1 + resting - sum(s for _, s in active)) * all_trips
        for position, (loop, span) in enumerate(active):
            others = self.cp.product(
                trips[:position] + trips[position + 1 :], f"o_{number}_{name}_{loop}"
            )
            total += span * self.vars.covering.loop(loop).extent * others
        if short:
            tile = self._stay(flow).positions[name]
            table = [short[count % len(short)] for count in range(high(tile) + 1)]
            lost = self.cp.look_up(table, tile, f"lost_{number}_{name}")
            total += self.cp.product([lost, all_trips], f"all_lost_{number}_{name}")
            if axis.is_ribbon and active:
                total += self._last_lost(axis, number, short) - lost
        top = (
            (1 + max(short, default=0))
            * prod(high(t) for t in trips)
            * (1 + resting + sum(s * self.vars.covering.loop(n).extent for n, s in active))
        )
        result = self.cp.model.new_int_var(1, top, f"positions_{number}_{name}")
        self.cp.model.add(result == total)
        return result

    def _last_lost(self, axis: TileAxis, number: int, short: tuple[int, ...]) -> Number:
        """What short calls cost in the last tile of a ribbon."""
        loop = self.vars.covering.loop(axis.loops[0])
        missing = loop.units * loop.block - loop.extent
        ends = [max(0, units * loop.block - missing) for units in range(loop.units + 1)]
        table = [short[count % len(short)] for count in ends]
        return self.cp.look_up(table, self.vars.last[loop.name], f"last_{number}_{axis.name}")

    def _compute_path(self, num_units: int) -> Linear:
        work = self.work
        least = ceil(SCALE * work.compute_cycles / num_units)
        if work.accumulate_cycles * num_units <= work.issue_cycles:
            return least
        chained_total = SCALE * work.calls * work.accumulate_cycles
        path = self.cp.model.new_int_var(least, max(least, chained_total) + SCALE, "compute_path")
        sums: dict[str, tuple[Number, Bool]] = {}
        for name, loop in self.vars.loops.items():
            if loop.is_reduction:
                continue
            sums[name] = independent(self.vars, name)
        together = self.cp.product([own for own, _ in sums.values()], "independent")
        self._add_chain(path, together, chained_total, "chain")
        for name, (_, broken) in sums.items():
            units, last = self.vars.loops[name].units, self.vars.last[name]
            others = [own for other, (own, _) in sums.items() if other != name]
            label = f"short_{name}"
            short = self.cp.model.new_int_var(0, units * high(path), label)
            rest = ceil(SCALE * work.compute_cycles / num_units)
            self.cp.model.add(short == units * path - rest * (units - last))
            chain = self.cp.either(chained_total, 0, broken, f"total_{label}")
            self._add_chain(short, self.cp.product(others, f"others_{label}"), chain, label)
        return path

    def _add_chain(self, path: cp_model.IntVar, sums: Number, total: Linear, label: str) -> None:
        """So many cycles in all, one after the other for each of the independent sums."""
        if isinstance(sums, int):
            self.cp.model.add(sums * path >= total)
            return
        together = self.cp.model.new_int_var(0, min(high(path) * high(sums), LIMIT), label)
        self.cp.model.add_multiplication_equality(together, [path, sums])
        self.cp.model.add(together >= total)

    def _startup(self, horizon: int, every: int) -> Linear:
        """First fetches, on each unit one after another, where calls follow each other so soon (see
        startup.startup_cycles)."""
        startup = self.cp.model.new_int_var(0, horizon, f"startup_{every}")
        for path in fill_paths(self.vars.covering, self.work, self.hw):
            fetched = add_up(
                self._fetch(flow) + self._edge(flow, every)
                for flow in self.work.flows
                if flow.unit in path and not flow.is_drain
            )
            around = path_latency_cycles(self.work, path)
            if not self.hw.has_tokens:
                around = first_call_cycles(self.work, path[-1])
            self.cp.model.add(startup >= fetched + ceil(SCALE * around))
        total: Linear = startup
        block = _scaled(slowest_block_cycles(self.vars.covering, self.work, self.hw))
        for name, late in self.late_sums.items():
            once = self.cp.either(0, self.vars.tile[name], late, f"late_once_{name}")
            total += block * self._late_rounds(name, once)
        return total

    def first_tiles(self) -> Linear:
        """Fetches of the first tiles of outputs, beside those of inputs in the first round."""
        return add_up(
            _scaled(flow.first_cycles) * self._stay(flow).volume
            for flow in self.work.flows
            if not flow.is_drain and self._stay(flow).plan.is_output
        )

    def _late_rounds(self, name: str, once: cp_model.IntVar) -> cp_model.IntVar:
        """`once` for every set of tiles kept along a late sum (see analytical.late_rounds)."""
        all_rounds: list[cp_model.IntVar] = [once]
        for stay in self.vars.stays:
            if stay.plan.is_output or name not in stay.kept:
                continue
            label = f"{name}_{stay.label}"
            sets: list[Number] = [once]
            for other, trips in self.vars.trips.items():
                if other in stay.kept:
                    sets.append(self.cp.either(trips, 1, stay.kept[other], f"s_{label}_{other}"))
                elif other in stay.plan.loops:
                    sets.append(trips)
                else:
                    again = stay.refetch[other]
                    sets.append(self.cp.either(1, trips, again, f"s_{label}_{other}"))
            rounds = self.cp.product(sets, f"late_sets_{label}")
            all_rounds.append(self.cp.either(once, rounds, stay.kept[name], f"late_{label}"))
        most = self.cp.model.new_int_var(0, max(map(high, all_rounds)), f"late_rounds_{name}")
        for rounds in all_rounds:
            self.cp.model.add(most >= rounds)
        return most

    def _late_sums(self) -> dict[str, Bool]:
        """Per sum: does its unit loop run inside another one (see analytical.late_sums)?"""
        late = {}
        for name, loop in self.vars.loops.items():
            if loop.is_reduction:
                outside = [
                    self.cp.both(
                        self.vars.many_units[other],
                        self.vars.outside_inner[other, name],
                        f"late_{name}_{other}",
                    )
                    for other, candidate in self.vars.loops.items()
                    if not candidate.is_reduction
                ]
                inside = self.cp.any_of(outside, f"inside_{name}")
                late[name] = self.cp.both(inside, self.vars.many_units[name], f"late_{name}")
        return late

    def _finish(self, horizon: int, every: int) -> Linear:
        """Where calls follow each other so soon (see startup.finish_cycles)."""
        finish = self.cp.model.new_int_var(0, horizon, f"finish_{every}")
        for flow in self.work.flows:
            if flow.is_drain and not needs_one_slot(self._stay(flow).plan, self.hw):
                last = self._fetch(flow) + SCALE * flow.latency_cycles + self._edge(flow, every)
                onward: Linear = _scaled(onward_cycles(self.work, flow))
                for further in onward_tiles(self.work, flow, self.hw):
                    onward = self._fetch(further) + SCALE * further.latency_cycles
                last += onward
                self.cp.model.add(finish >= last)
                self._add_kept_drain(flow, finish, every)
        return finish + SCALE * (self.work.latency_cycles - self.work.issue_cycles)

    def _add_kept_drain(self, flow: Flow, finish: cp_model.IntVar, every: int) -> None:
        """Tiles kept side by side all drain in the last round of sums (see
        startup.edge_cycles)."""
        stay = self._stay(flow)
        moves = moves_blocks(self.vars.covering, Stay(flow.operand, flow.residence, 1, 1), self.hw)
        if stay.is_always_low or not moves or not stay.kept:
            return
        sums = [last for name, last in self.vars.last.items() if name not in stay.plan.loops]
        rounds = self.cp.product([stay.kept_volume, *sums], f"rounds_{stay.label}")
        last = self.cp.product([*sums], f"last_round_{stay.label}")
        drained = _scaled(flow.first_cycles) * (stay.kept_volume - 1)
        drained -= SCALE * every * (rounds - last)
        edge = self._fetch(flow) + SCALE * flow.latency_cycles + drained
        constraint = self.cp.model.add(finish >= edge)
        if not isinstance(stay.is_low, int):
            constraint.only_enforce_if(negated(stay.is_low))

    def _fetch(self, flow: Flow) -> Linear:
        stay = self._stay(flow)
        if moves_blocks(self.vars.covering, Stay(flow.operand, flow.residence, 1, 1), self.hw):
            return _scaled(flow.first_cycles - flow.overlap_cycles)
        return tile_cycles(self.vars, flow, stay.volume)

    def _edge(self, flow: Flow, every: int) -> Linear:
        stay = self._stay(flow)
        excess = flow.first_cycles - every
        blocks = moves_blocks(self.vars.covering, Stay(flow.operand, flow.residence, 1, 1), self.hw)
        if not stay.plan.is_output or not blocks or excess <= 0:
            return 0
        return _scaled(excess) * (stay.volume - 1)

    def _stay(self, flow: Flow) -> StayVars:
        return self.vars.stay(flow.operand, flow.residence)

    def _horizon(self) -> int:
        """More cycles than any tiling takes."""
        total = self.work.compute_cycles + self.work.calls * self.work.accumulate_cycles
        for flow in self.work.flows:
            windows = 1
            plan = self.vars.covering.operand(flow.operand)
            for name in flow.windows:
                windows *= 1 + max(dict(flow.short).get(name, ()), default=0)
                for loop, span in zip(plan.axis(name).loops, plan.axis(name).spans, strict=True):
                    windows *= 1 + span * self.vars.covering.loop(loop).extent
            others = prod(loop.units for n, loop in self.vars.loops.items() if n not in plan.loops)
            most = max(flow.pass_cycles, *(c for _, c in flow.ports), 1.0)
            total += ceil(most * windows * others)
            total += self.work.calls * (flow.latency_cycles + ceil(flow.first_cycles))
        total += self.work.calls * self.work.latency_cycles * (1 + len(self.work.flows))
        return min(4 * SCALE * total, LIMIT // 4)


def _scaled(cycles: float) -> int:
    return ceil(cycles * SCALE)
