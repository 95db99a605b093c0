"""The closed-form cost of a tiling: what the solver minimises.

In: a covering, its work, a tiling, the machine. Out: cycles and where they go. Not its job:
executing anything.

Model (contract: docs/timing.md). Every unit and every port is busy for the sum of its calls; with
double buffering they overlap, so one of them sets the pace. On top of computing come what cannot
overlap: the first blocks on their way to the first call, the last block on its way out, stays with
one slot whose exchange stops the compute unit, and bursts: fetches that happen only every few tiles
and are longer than the slack of the one tile that hides them. Around everything else comes what
precedes its own first call and follows its last one (`ends`). Refills of caches are added
(`caches`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .aim import Costs
from .block_waits import shared_cycles
from .caches import NO_REFILLS, Refills, each_refill, refill_cycles
from .chains import compute_path_cycles
from .crowded import count_inner_tiles, crowded_cycles, inner_tile_cycles
from .ends import STARVED_ENDS, port_ends, unit_ends
from .exchange_waits import exchange_cycles, token_cycles
from .handover import copies_left_away, handover_cycles
from .in_order import find_held_up, idle_cycles
from .passes import flow_passes, packs, paid_cycles
from .rounds import round_cycles, swept_cycles
from .startup import finish_cycles, startup_cycles
from .tiling import Tiling
from .traffic import Moved, Port, add_up_moved
from .waiting import (
    resumed_cycles,
    stall_cycles,
    starved_cycles,
    uneven_cycles,
)
from .work import Ends, Work

# Of the work that other units hide, one part in so many is charged: the emulator shows no delay,
# but of two schedules that differ by a few cycles of startup the one that moves less is taken.
OVERLAP_LOSS = 2**18


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cycles of a tiling and their parts; `moved`: bytes and energy of all its calls."""

    cycles: int
    unit_cycles: tuple[tuple[str, int], ...]
    port_cycles: tuple[tuple[Port, int], ...]
    startup_cycles: int
    finish_cycles: int
    stall_cycles: int
    refill_cycles: int  # of caches
    moved: Moved

    def costs(self, hw: Hardware) -> Costs:
        """What can be minimised."""
        return Costs(self.cycles, self.moved.energy_pj, self.moved.external_bytes(hw))


@dataclass(frozen=True, slots=True)
class Rest:
    """What an estimate counts beside calls, copies and refills.

    `least_cycles`: of computing, for a short last tile, or where units share calls.
    `pace_cycles`: of the whole run, at the pace of what else is busy. `packing_cycles`: of copies
    into packed stays. `lost_cycles`: what is hidden by nothing, these among them.
    """

    startup_cycles: float
    finish_cycles: float
    stall_cycles: float
    least_cycles: float
    pace_cycles: float
    packing_cycles: float
    lost_cycles: float
    moved: Moved


class Begun:
    """An estimate in the making: of units and ports first, then of refills of caches, and of the
    rest only where somebody asks: most tilings are known to be worse before.

    `unfinished_cycles`: of waiting for unfinished sums. `serving_cycles`: of the nearest cache, for
    units that copy and calls that read in place.
    """

    def __init__(self, covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> None:
        self.covering, self.work, self.tiling, self.hw = covering, work, tiling, hw
        counts = {unit.name: unit.count for unit in hw.units}
        units: dict[str, float] = {work.compute_unit: 0.0}
        ports: dict[Port, float] = dict(work.ports)
        away = copies_left_away(covering, tiling, hw)
        self.passes = [
            flow_passes(covering, tiling, flow) / away.get((flow.operand, flow.residence), 1)
            for flow in work.flows
        ]
        for flow, times in zip(work.flows, self.passes, strict=True):
            busy = times * paid_cycles(covering, tiling, flow) / counts[flow.unit]
            units[flow.unit] = units.get(flow.unit, 0.0) + busy
            for port, cycles in flow.ports:
                ports[port] = ports.get(port, 0.0) + times * cycles
        for unit, carried in token_cycles(covering, work, tiling, hw).items():
            if unit in units:  # else all that it moves lies there from before
                units[unit] += carried
        fetched = max((units[unit] for unit in work.fill_units), default=0.0)
        units[work.compute_unit] += compute_path_cycles(covering, work, tiling, hw, fetched)
        self.unit_cycles, self.port_cycles = units, ports
        self.unfinished_cycles = resumed_sum_cycles(covering, work, tiling, hw)
        self.serving_cycles = serving_cycles(work, units) if hw.caches else 0.0

    @cached_property
    def rest(self) -> Rest:
        """All else that is counted."""
        covering, work, tiling, hw = self.covering, self.work, self.tiling, self.hw
        units = self.unit_cycles
        stall = sum(stall_cycles(covering, work, tiling, stay, hw) for stay in tiling.stays)
        stall += exchange_cycles(covering, work, tiling, hw)
        stall += resumed_cycles(covering, work, tiling)
        stall += crowded_cycles(covering, work, tiling, hw)
        startup = startup_cycles(covering, work, tiling, hw, work.issue_cycles)
        finish = finish_cycles(covering, work, tiling, hw, work.issue_cycles)
        least = uneven_cycles(covering, work, tiling, hw, self.passes, units)
        shared = shared_cycles(covering, work, tiling, hw)
        least = max(least, units[work.compute_unit] + shared if shared else 0.0)
        hasty = self._hasty_cycles() if work.shares_calls else 0.0
        paces = _paces(covering, work, tiling, hw, units, self.port_cycles)
        hidden = sum(cycles for unit, cycles in units.items() if unit != work.compute_unit)
        packing = packing_cycles(covering, work, tiling)
        losses = hidden / OVERLAP_LOSS + packing
        losses += inner_tile_cycles(work, hw) * count_inner_tiles(covering, tiling)
        return Rest(
            startup,
            finish,
            stall,
            least,
            max([hasty, *(ends.around(busy, finish) for busy, ends in paces)]),
            packing,
            losses + handover_cycles(covering, tiling, hw),
            moved_by(covering, work, tiling),
        )

    def _hasty_cycles(self) -> float:
        """Where all units compute without a pause: first and last blocks move while calls follow
        each other sooner than on one unit."""
        edges = self.covering, self.work, self.tiling, self.hw, self.work.call_cycles
        return (
            startup_cycles(*edges)
            + self.unit_cycles[self.work.compute_unit]
            + finish_cycles(*edges)
        )

    def rising(self) -> Iterator[Costs]:
        """What the estimate is not below: with what is quickly known, then with what one, two, ...
        caches take in; at last its costs."""
        taken = [NO_REFILLS] * len(self.hw.caches)
        finish = min(0, self.work.latency_cycles - self.work.issue_cycles)
        least = Rest(0.0, finish, 0.0, 0.0, 0.0, 0.0, 0.0, Moved())
        yield self._costs(taken, least)
        known, there = self.work.streams, self.work.there
        for number, refills in each_refill(self.covering, self.tiling, self.hw, known, there):
            taken[number] = refills
            yield self._costs(taken, least)
        yield self._costs(taken, self.rest)

    def _costs(self, caches: Sequence[Refills], rest: Rest) -> Costs:
        cycles = ceil(self._cycles(caches, rest))
        return Costs(cycles, rest.moved.energy_pj, rest.moved.external_bytes(self.hw))

    def finished(self) -> Estimate:
        """The estimate."""
        known, there = self.work.streams, self.work.there
        caches = refill_cycles(self.covering, self.tiling, self.hw, known, there)
        return Estimate(
            ceil(self._cycles(caches, self.rest)),
            tuple((name, ceil(cycles)) for name, cycles in self.unit_cycles.items()),
            tuple((port, ceil(cycles)) for port, cycles in self.port_cycles.items()),
            ceil(self.rest.startup_cycles),
            ceil(self.rest.finish_cycles),
            ceil(self.rest.stall_cycles),
            ceil(sum(cache.busy_cycles for cache in caches)),
            self.rest.moved,
        )

    def _cycles(self, caches: Sequence[Refills], rest: Rest) -> float:
        """Those that grow with what each of the caches takes in: the nearest one serves the units
        that copy, and beside what they fetch the calls that read in place, or is refilled, and
        nobody while calls wait for unfinished sums; the others work beside it. (The ECM model adds
        all levels, which measures too slow on Zen 4.)"""
        # what is packed on its way is waited for, beside nothing
        refills = [cache.busy_cycles - cache.packed_cycles for cache in caches]
        waiting = sum([cache.waiting_cycles for cache in caches]) + _packed_beyond(caches, rest)
        calls = self.unit_cycles[self.work.compute_unit]
        computing = max(calls + rest.stall_cycles + self.unfinished_cycles, rest.least_cycles)
        hidden = 0.0
        if refills:
            near = self.hw.caches[0]
            shown = near.shown_share * self.serving_cycles
            nearest = self.serving_cycles + refills[0] + self.unfinished_cycles
            computing = max(computing + shown, nearest, *refills[1:])
            calls += self.unfinished_cycles + shown
            beside = sum([calls, *refills]) - max(calls, *refills)
            hidden = near.refills_shown_share * beside
        total = max(rest.startup_cycles + computing + rest.finish_cycles, rest.pace_cycles)
        return total + rest.lost_cycles + hidden + waiting


def _packed_beyond(caches: Sequence[Refills], rest: Rest) -> float:
    """Cycles in which what is packed enters the slowest cache on its way, beyond those of its
    copies: it enters while it is copied, in the first round of a loop, and no other round hides
    it."""
    entering = max((cache.packed_cycles for cache in caches), default=0.0)
    return max(0.0, entering - rest.packing_cycles)


def estimate(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> Estimate:
    """Cycles of one tiling under the closed-form model."""
    return Begun(covering, work, tiling, hw).finished()


def _paces(
    covering: Covering,
    work: Work,
    tiling: Tiling,
    hw: Hardware,
    units: dict[str, float],
    ports: dict[Port, float],
) -> Iterator[tuple[float, Ends]]:
    """Everything beside computing that may set the pace."""
    for unit, cycles in units.items():
        if unit != work.compute_unit:
            yield cycles, unit_ends(work, unit)
    for flow in work.flows:
        if flow.unit != work.compute_unit:
            swept = swept_cycles(covering, work, tiling, flow, hw)
            if swept > 0.0:
                yield units[flow.unit] + swept, unit_ends(work, flow.unit)
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        held_up = find_held_up(work, plan, stay.residence, hw)
        if held_up is not None:
            unit = held_up.drain.unit
            idle = idle_cycles(covering, work, tiling, stay, held_up, hw)
            yield units[unit] + idle, unit_ends(work, unit)
    for port, cycles in ports.items():
        yield cycles, port_ends(work, port)
    yield from round_cycles(covering, work, tiling, hw)
    yield starved_cycles(covering, work, tiling, hw), STARVED_ENDS


def serving_cycles(work: Work, units: dict[str, float]) -> float:
    """In which the nearest cache serves the units that copy, and beside what they fetch the calls
    that read in place."""
    copying = (cycles for unit, cycles in units.items() if unit != work.compute_unit)
    fetching = max((units[unit] for unit in work.fill_units), default=0.0)
    return max((fetching + work.served_cycles, *copying))


def packing_cycles(covering: Covering, work: Work, tiling: Tiling) -> float:
    """Cycles of copies into packed stays, which are taken to be hidden by nothing: all of them
    happen in the first round of a loop, beside the calls that read what they write, not spread over
    the run."""
    flows = (flow for flow in work.flows if packs(covering, flow))
    return sum(flow_passes(covering, tiling, flow) * flow.pass_cycles for flow in flows)


def resumed_sum_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Cycles of copies of unfinished sums, there and back, which the calls on them wait for: not
    those that clear sums and that bring finished ones home, nor those on the calls' own unit, which
    are among its cycles; of sums that never begin with zeros, what shows of their way back. What
    refills caches goes on beside."""
    shown = hw.caches[0].stores_shown_share if hw.caches else 0.0
    copying = 0.0
    for flow in work.flows:
        residence = covering.operand(flow.operand).residences[flow.residence]
        if flow.unit == work.compute_unit:
            continue
        if residence.again is not None:
            others = flow.is_drain or not flow.is_again
            passes = flow_passes(covering, tiling, flow) - others
            copying += passes * flow.pass_cycles / hw.num_units(flow.unit)
        elif shown and flow.is_drain and residence.fill is not None:
            passes = shown * flow_passes(covering, tiling, flow)
            copying += passes * flow.pass_cycles / hw.num_units(flow.unit)
    return copying


def moved_by(covering: Covering, work: Work, tiling: Tiling) -> Moved:
    """Bytes and energy of all calls of a tiling; what the emulator counts."""
    flows = ((flow_passes(covering, tiling, flow), flow.moved) for flow in work.flows)
    return add_up_moved([(1.0, work.moved), *flows])
