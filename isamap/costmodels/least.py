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
from .direct_ports import Port
from .traffic import add_up_moved
from .work import Flow, Work

MAX_POSITIONS = 2**20  # of a window, counted one by one


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
    plan = next(p for p in covering.operands if p.name == flow.operand)
    return prod(_touched_positions(covering, plan.axis(name)) for name in flow.windows)


def least_costs(covering: Covering, work: Work, hw: Hardware) -> Costs:
    """What no tiling of the covering goes below, each cost by itself."""
    flows = ((_least_positions(covering, flow), flow.moved) for flow in work.flows)
    moved = add_up_moved([(1.0, work.moved), *flows])
    cycles, _ = bound_cycles(covering, work, hw)
    return Costs(cycles, moved.energy_pj, moved.external_bytes(hw))


def bound_cycles(covering: Covering, work: Work, hw: Hardware) -> tuple[int, str]:
    """What no tiling of the covering beats, and the unit or port that is busy so long."""
    return busiest([least_load(covering, work)], hw)


def busiest(loads: Sequence[Load], hw: Hardware) -> tuple[int, str]:
    """The unit or port that is busy longest under several loads together, and how long."""
    counts = {unit.name: unit.count for unit in hw.units}
    units: dict[str, float] = {}
    ports: dict[Port, float] = {}
    for load in loads:
        for unit, cycles in load.units:
            units[unit] = units.get(unit, 0.0) + cycles
        for port, cycles in load.ports:
            ports[port] = ports.get(port, 0.0) + cycles
    rows = [(c / counts[unit], f"unit {unit}") for unit, c in units.items()]
    rows += [(cycles, " ".join(port)) for port, cycles in ports.items()]
    longest, name = max(rows)
    return ceil(longest), name


def _touched_positions(covering: Covering, axis: TileAxis) -> int:
    """A lower bound on the positions of a window that any tiling moves: those that are read."""
    reached = {0}
    for loop, span in zip(axis.loops, axis.spans, strict=True):
        extent = covering.loop(loop).extent
        if len(reached) * extent > MAX_POSITIONS:
            return max(len(reached), extent)
        reached = {place + span * step for place in reached for step in range(extent)}
    return len(reached)
