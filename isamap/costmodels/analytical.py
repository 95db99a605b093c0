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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .aim import Costs
from .caches import NO_REFILLS, Refills, each_refill, refill_cycles
from .chains import compute_path_cycles
from .crowded import count_inner_tiles, crowded_cycles, inner_tile_cycles
from .direct_ports import Port
from .ends import STARVED_ENDS, first_call_cycles, onward_cycles, port_ends, unit_ends
from .flow import Flow
from .handover import copies_left_away, handover_cycles
from .in_order import find_held_up, idle_cycles
from .passes import (
    fetches,
    flow_passes,
    moves_blocks,
    needs_one_slot,
    packs,
    paid_cycles,
    stay_of,
    tile_cycles,
)
from .rounds import round_cycles, swept_cycles
from .tiling import Stay, Tiling, last_units, tile_units, trips
from .traffic import Moved, add_up_moved
from .waiting import (
    exchange_cycles,
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
class Unrefilled:
    """An estimate before refills of caches are counted, which takes most of the time.

    `unfinished_cycles`: of waiting for unfinished sums. `computing_cycles`: what computing takes at
    least, whatever caches do. `serving_cycles`: of the nearest cache, for units that copy and calls
    that read in place. `pace_cycles`: of the whole run, at the pace of what else is busy.
    `packing_cycles`: of copies into packed stays. `lost_cycles`: what is hidden by nothing, these
    among them.
    """

    covering: Covering
    work: Work
    tiling: Tiling
    hw: Hardware
    unit_cycles: dict[str, float]
    port_cycles: dict[Port, float]
    startup_cycles: float
    finish_cycles: float
    stall_cycles: float
    unfinished_cycles: float
    computing_cycles: float
    serving_cycles: float
    pace_cycles: float
    packing_cycles: float
    lost_cycles: float
    moved: Moved

    @property
    def least(self) -> Costs:
        """What the estimate is not below: it with caches that take in nothing."""
        return self._costs([NO_REFILLS] * len(self.hw.caches))

    def rising(self) -> Iterator[Costs]:
        """What the estimate is not below: its costs with what one, two, ... caches take in; at last
        they are its own."""
        taken = [NO_REFILLS] * len(self.hw.caches)
        if not taken:
            yield self.least
        known, there = self.work.streams, self.work.there
        for number, refills in each_refill(self.covering, self.tiling, self.hw, known, there):
            taken[number] = refills
            yield self._costs(taken)

    def _costs(self, caches: Sequence[Refills]) -> Costs:
        cycles = ceil(self._with(caches))
        return Costs(cycles, self.moved.energy_pj, self.moved.external_bytes(self.hw))

    def refilled(self) -> "Estimate":
        """The estimate."""
        known, there = self.work.streams, self.work.there
        caches = refill_cycles(self.covering, self.tiling, self.hw, known, there)
        cycles = self._with(caches)
        return Estimate(
            ceil(cycles),
            tuple((name, ceil(cycles)) for name, cycles in self.unit_cycles.items()),
            tuple((port, ceil(cycles)) for port, cycles in self.port_cycles.items()),
            ceil(self.startup_cycles),
            ceil(self.finish_cycles),
            ceil(self.stall_cycles),
            ceil(sum(cache.busy_cycles for cache in caches)),
            self.moved,
        )

    def _with(self, caches: Sequence[Refills]) -> float:
        """Cycles; they grow with what each of the caches takes in: the nearest one serves the units
        that copy, and beside what they fetch the calls that read in place, or is refilled, and
        nobody while calls wait for unfinished sums; the others work beside it. (The ECM model adds
        all levels, which measures too slow on Zen 4.)"""
        refills = [cache.busy_cycles for cache in caches]
        waiting = sum([cache.waiting_cycles for cache in caches]) + self._packed_beyond(caches)
        computing, hidden = self.computing_cycles, 0.0
        if refills:
            near = self.hw.caches[0]
            shown = near.shown_share * self.serving_cycles
            nearest = self.serving_cycles + refills[0] + self.unfinished_cycles
            computing = max(computing + shown, nearest, *refills[1:])
            calls = self.unit_cycles[self.work.compute_unit] + self.unfinished_cycles + shown
            beside = sum([calls, *refills]) - max(calls, *refills)
            hidden = near.refills_shown_share * beside
        total = max(self.startup_cycles + computing + self.finish_cycles, self.pace_cycles)
        return total + self.lost_cycles + hidden + waiting

    def _packed_beyond(self, caches: Sequence[Refills]) -> float:
        """Cycles in which what is packed enters the slowest cache on its way, beyond those of its
        copies: it enters while it is copied, in the first round of a loop, and no other round hides
        it."""
        entering = max((cache.packed_cycles for cache in caches), default=0.0)
        return max(0.0, entering - self.packing_cycles)


def estimate(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> Estimate:
    """Cycles of one tiling under the closed-form model."""
    return begin_estimate(covering, work, tiling, hw).refilled()


def begin_estimate(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> Unrefilled:
    """`estimate` before refills of caches are counted."""
    counts = {unit.name: unit.count for unit in hw.units}
    units: dict[str, float] = {work.compute_unit: 0.0}
    ports: dict[Port, float] = dict(work.ports)
    away = copies_left_away(covering, tiling, hw)
    passes = [
        flow_passes(covering, tiling, flow) / away.get((flow.operand, flow.residence), 1)
        for flow in work.flows
    ]
    for flow, times in zip(work.flows, passes, strict=True):
        busy = times * paid_cycles(covering, tiling, flow) / counts[flow.unit]
        units[flow.unit] = units.get(flow.unit, 0.0) + busy
        for port, cycles in flow.ports:
            ports[port] = ports.get(port, 0.0) + times * cycles
    fetched = max((units[unit] for unit in work.fill_units), default=0.0)
    units[work.compute_unit] += compute_path_cycles(covering, work, tiling, hw, fetched)
    stall = sum(stall_cycles(covering, work, tiling, stay, hw) for stay in tiling.stays)
    stall += exchange_cycles(covering, work, tiling, hw) + resumed_cycles(covering, work, tiling)
    stall += crowded_cycles(covering, work, tiling, hw)
    finish = finish_cycles(covering, work, tiling, hw)
    unfinished = resumed_sum_cycles(covering, work, tiling, counts)
    paces = _paces(covering, work, tiling, hw, units, ports)
    hidden = sum(cycles for unit, cycles in units.items() if unit != work.compute_unit)
    packing = packing_cycles(covering, work, tiling)
    losses = hidden / OVERLAP_LOSS + packing
    losses += inner_tile_cycles(work) * count_inner_tiles(covering, tiling)
    return Unrefilled(
        covering, work, tiling, hw, units, ports,
        startup_cycles(covering, work, tiling, hw), finish, stall, unfinished,
        max(
            units[work.compute_unit] + stall + unfinished,
            uneven_cycles(covering, work, tiling, hw, passes, units),
        ),
        serving_cycles(work, units) if hw.caches else 0.0,
        max(ends.around(busy, finish) for busy, ends in paces),
        packing,
        losses + handover_cycles(covering, tiling, hw),
        moved_by(covering, work, tiling),
    )  # fmt: skip


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


def resumed_sum_cycles(
    covering: Covering, work: Work, tiling: Tiling, counts: Mapping[str, int]
) -> float:
    """Cycles of copies of unfinished sums, there and back, which the calls on them wait for: not
    those that clear sums and that bring finished ones home, nor those on the calls' own unit, which
    are among its cycles. What refills caches goes on beside."""
    copying = 0.0
    for flow in work.flows:
        residence = covering.operand(flow.operand).residences[flow.residence]
        if residence.again is not None and flow.unit != work.compute_unit:
            others = flow.is_drain or not flow.is_again
            passes = flow_passes(covering, tiling, flow) - others
            copying += passes * flow.pass_cycles / counts[flow.unit]
    return copying


def moved_by(covering: Covering, work: Work, tiling: Tiling) -> Moved:
    """Bytes and energy of all calls of a tiling; what the emulator counts."""
    flows = ((flow_passes(covering, tiling, flow), flow.moved) for flow in work.flows)
    return add_up_moved([(1.0, work.moved), *flows])


def startup_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Cycles until the computation runs at full pace: on each unit all first fetches in a row with
    what lies around them and the edge."""
    late = sum(
        tiling.tile(name) * late_rounds(covering, tiling, name)
        for name in late_sums(covering, tiling)
    )
    longest = max(
        (fill_cycles(covering, work, tiling, hw, unit) for unit in work.fill_units), default=0.0
    )
    return longest + (late * slowest_block_cycles(covering, work, hw) if late else 0.0)


def fill_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware, unit: str) -> float:
    """Cycles from a fill unit's first fetch until a call may use it, with all first fetches."""
    fetched = sum(
        first_fetch_cycles(covering, tiling, f, hw) + edge_cycles(covering, work, tiling, f, hw)
        for f in work.flows
        if f.unit == unit and not f.is_drain
    )
    return first_call_cycles(work, unit) + fetched


def late_sums(covering: Covering, tiling: Tiling) -> tuple[str, ...]:
    """Unit loops of sums inside other loops: the first round then fetches along the whole sum."""
    late: list[str] = []
    is_inside = False
    for name in tiling.inner:
        if tiling.tile(name) > 1:
            is_sum = covering.loop(name).is_reduction
            late += [name] if is_sum and is_inside else []
            is_inside = is_inside or not is_sum
    return tuple(late)


def late_rounds(covering: Covering, tiling: Tiling, name: str) -> int:
    """How often a late sum is fetched from its beginning: once per set of tiles that an input
    keeps along it; tiles that are not kept are fetched one ahead of the computation."""
    rounds = 1
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        if name in stay.kept_tiles and not plan.is_output:
            sets = fetches(covering, tiling, stay)
            rounds = max(rounds, sets // prod(trips(covering, tiling, n) for n in stay.kept))
    return rounds


def slowest_block_cycles(covering: Covering, work: Work, hw: Hardware) -> float:
    """Longest fetch of a single input block into a tile, where blocks move one by one."""
    fetched = [
        flow.first_cycles
        for flow in work.flows
        if flow.residence == len(covering.operand(flow.operand).residences) - 1
        and not covering.operand(flow.operand).is_output
        and moves_blocks(covering, Stay(flow.operand, flow.residence, 1, 1), hw)
    ]
    return max(fetched, default=0.0)


def finish_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Cycles from the last call's last issue slot to the last byte written."""
    last = 0.0
    for flow in work.flows:
        exposed = needs_one_slot(covering.operand(flow.operand), hw)
        if (
            flow.is_drain and not exposed
        ):  # an exposed drain is waited for every time, the last included
            fetch = first_fetch_cycles(covering, tiling, flow, hw)
            edge = edge_cycles(covering, work, tiling, flow, hw)
            last = max(last, fetch + flow.latency_cycles + edge + onward_cycles(work, flow))
    return last + work.latency_cycles - work.issue_cycles


def edge_cycles(covering: Covering, work: Work, tiling: Tiling, flow: Flow, hw: Hardware) -> float:
    """What the first (last) tile of an output adds: its blocks all move within one pass over the
    tile.

    A pass computes one call per block; moving a block takes longer than a call when it is positive.
    Tiles kept side by side all drain during the last round of the loops that sum them up; the last
    block's own way out is counted apart.
    """
    stay = stay_of(tiling, flow)
    plan = covering.operand(flow.operand)
    if stay.level == 0 or not plan.is_output or not moves_blocks(covering, stay, hw):
        return 0.0
    blocks = prod(tiling.tile(loop) for loop in plan.loops)
    edge = (blocks - 1) * max(0.0, flow.first_cycles - work.call_cycles)
    if not flow.is_drain:
        return edge
    kept = prod(tile_units(covering, tiling, stay, loop) for loop in plan.loops)
    sums = prod(last_units(covering, tiling, x) for x in covering.loops if x.name not in plan.loops)
    return max(edge, (kept - 1) * (flow.first_cycles - work.call_cycles * sums))


def first_fetch_cycles(covering: Covering, tiling: Tiling, flow: Flow, hw: Hardware) -> float:
    """Cycles of one fetch: a block where blocks move one by one, else the whole tile."""
    stay = stay_of(tiling, flow)
    if moves_blocks(covering, stay, hw):
        return flow.first_cycles - flow.overlap_cycles
    return tile_cycles(covering, tiling, flow)
