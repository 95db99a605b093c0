"""What no tiling of a covering goes below: cycles of units and ports, energy, bytes.

In: a covering, its work, the machine. Out: lower bounds under the closed form. Not its job: bounds
over all coverings (`roofline`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, TileAxis

from .aim import Costs
from .ends import first_call_cycles, onward_cycles, port_ends, unit_ends
from .flow import Flow
from .outlast import port_floor
from .passes import needs_one_slot, packs
from .repeats import least_shares
from .startup import first_fetch_cycles
from .tiling import Stay, Tiling
from .traffic import Port, add_up_moved
from .work import Work

MAX_POSITIONS = 2**20  # of a window, counted one by one
SUMMED = 1e-6  # cycles by which a sum of parts may be too high, as floats add up


@dataclass(frozen=True, slots=True)
class Load:
    """Cycles that each unit is busy, all its instances together, and each port."""

    units: tuple[tuple[str, float], ...]
    ports: tuple[tuple[Port, float], ...]


def least_load(covering: Covering, work: Work) -> Load:
    """What no tiling of the covering goes below: its calls, and one pass of each flow."""
    units: dict[str, float] = {work.compute_unit: float(work.compute_cycles)}
    ports: dict[Port, float] = dict(work.ports)
    for flow in work.flows:
        positions = _least_positions(covering, flow)
        units[flow.unit] = units.get(flow.unit, 0.0) + positions * flow.pass_cycles
        for port, cycles in flow.ports:
            ports[port] = ports.get(port, 0.0) + positions * cycles
    return Load(tuple(units.items()), tuple(ports.items()))


def _least_positions(covering: Covering, flow: Flow) -> int:
    """Passes that a flow makes at least (for windows: positions that any tiling moves)."""
    if flow.is_again:
        return 0
    plan = next(p for p in covering.operands if p.name == flow.operand)
    return prod(_touched_positions(covering, plan.axis(name)) for name in flow.windows)


def least_costs(covering: Covering, work: Work, hw: Hardware) -> Costs:
    """What no tiling of the covering goes below, each cost by itself."""
    flows = ((_least_positions(covering, flow), flow.moved) for flow in work.flows)
    moved = add_up_moved([(1.0, work.moved), *flows])
    cycles = ceil(_least_cycles(covering, work, hw) - SUMMED)
    return Costs(cycles, moved.energy_pj, moved.external_bytes(hw))


def _least_cycles(covering: Covering, work: Work, hw: Hardware) -> float:
    """The unit or port that sets the pace, with what lies around it (see analytical.estimate)."""
    load = least_load(covering, work)
    startup, finish = least_edges(covering, work, hw)
    longest = 0.0
    for unit, cycles in load.units:
        busy = cycles / hw.num_units(unit)
        if unit == work.compute_unit:
            longest = max(longest, startup + busy + finish)
        else:
            longest = max(longest, unit_ends(work, unit).around(busy, finish))
    ports = (port_ends(work, port).around(cycles, finish) for port, cycles in load.ports)
    return max([longest, *ports]) + _least_packing(covering, work)


def _least_packing(covering: Covering, work: Work) -> float:
    """Of one pass of each copy into a packed stay, which nothing hides."""
    flows = (flow for flow in work.flows if packs(covering, flow))
    return sum(_least_positions(covering, flow) * flow.pass_cycles for flow in flows)


def least_edges(covering: Covering, work: Work, hw: Hardware) -> tuple[float, float]:
    """Cycles before the first call and after the last one, whatever the tiling: those of single
    units, of which each operand's way in or out is the shorter one."""
    tiles = tuple((loop.name, 1) for loop in covering.loops)
    order = tuple(loop.name for loop in covering.loops)
    places = [(plan.name, n) for plan in covering.operands for n in range(len(plan.residences))]
    low, high = (
        Tiling(tiles, order, order, tuple(Stay(*place, level, 1) for place in places))
        for level in (0, 1)
    )
    fetched = dict.fromkeys(work.fill_units, 0.0)
    finish = 0.0
    for flow in work.flows:
        fetch = min(first_fetch_cycles(covering, tiling, flow, hw) for tiling in (low, high))
        if not flow.is_drain and flow.unit != work.compute_unit:
            fetched[flow.unit] += fetch
        if flow.is_drain and not needs_one_slot(covering.operand(flow.operand), hw):
            finish = max(finish, fetch + flow.latency_cycles + onward_cycles(work, flow))
    startup = max((first_call_cycles(work, u) + c for u, c in fetched.items()), default=0.0)
    return startup, finish + work.latency_cycles - work.issue_cycles


def bound_cycles(covering: Covering, work: Work, hw: Hardware) -> tuple[int, str]:
    """What no tiling of the covering beats, and the unit or port that is busy so long."""
    return busiest([least_load(covering, work)], hw)


def busiest(loads: Sequence[Load], hw: Hardware) -> tuple[int, str]:
    """The unit or port that is busy longest under several loads together, and how long."""
    longest, name = _longest(loads, hw)
    return ceil(longest - SUMMED), name


def _longest(loads: Sequence[Load], hw: Hardware) -> tuple[float, str]:
    units: dict[str, float] = {}
    ports: dict[Port, float] = {}
    for load in loads:
        for unit, cycles in load.units:
            units[unit] = units.get(unit, 0.0) + cycles
        for port, cycles in load.ports:
            ports[port] = ports.get(port, 0.0) + cycles
    rows = [(unit_floor(hw, unit, c), f"unit {unit}") for unit, c in units.items()]
    rows += [(port_floor(hw, port, c), " ".join(port)) for port, c in ports.items()]
    return max(rows)


def unit_floor(hw: Hardware, unit: str, cycles: float) -> float:
    """Of each instance of a unit whose calls the closed form counts so long, all together."""
    return cycles * least_shares(hw).get(unit, 1.0) / hw.num_units(unit)


def _touched_positions(covering: Covering, axis: TileAxis) -> int:
    """A lower bound on the positions of a window that any tiling moves: those that are read."""
    reached = {0}
    for loop, span in zip(axis.loops, axis.spans, strict=True):
        extent = covering.loop(loop).extent
        if len(reached) * extent > MAX_POSITIONS:
            return max(len(reached), extent)
        reached = {place + span * step for place in reached for step in range(extent)}
    return len(reached)
