"""When a task goes through which part of a buffer.

In: a covering, its tiling, when units are used, the machine. Out: per buffer when its parts are
fetched and written. Not its job: when units are used (`span`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, External, OperandPlan
from isamap.program import Layout

from .analytical import Estimate
from .ends import after_fetch
from .flow import Flow
from .passes import fetches, flow_passes, moves_blocks, stay_of
from .startup import first_fetch_cycles
from .tiling import Stay, Tiling, trips
from .work import Work


@dataclass(frozen=True, slots=True)
class Use:
    """Of a unit, between two cycles."""

    unit: str
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Passing:
    """How a task goes through a buffer: in `count` equal parts along its loop `loop` ("": all at
    once). `first`, `last`: when something befalls the first part, and the last one in the same
    sweep. `layout`, `home`: how and in which memory it lies there (None: as it does for everybody,
    in the external one)."""

    buffer: str
    loop: str
    count: int
    first: float
    last: float
    is_apart: bool = False  # by a unit that may run ahead (`Ahead`), or lag (`Behind`)
    layout: Layout | None = None
    home: str | None = None

    def cycle(self, part: int) -> float:
        """When it befalls that part."""
        return self.first + (self.last - self.first) * part / max(1, self.count - 1)


def find_fetches(
    covering: Covering,
    work: Work,
    tiling: Tiling,
    hw: Hardware,
    uses: tuple[Use, ...],
    found: Estimate,
) -> Iterator[tuple[Passing, Passing]]:
    """When parts are needed and when they have been read, in the order of the operands on each
    unit; where nothing is copied, with the calls."""
    use_of = {use.unit: use for use in uses}
    before: dict[str, float] = {}
    for plan in covering.operands:
        if plan.inlet is None:
            continue
        fills = [f for f in work.flows if f.operand == plan.name and not f.is_drain]
        outer = max(fills, key=lambda flow: flow.residence, default=None)
        if outer is None or outer.unit == work.compute_unit:
            loop, count, sweeps = parts_of(covering, tiling, plan, None, hw)
            use, first, fetch = use_of[work.compute_unit], 0.0, 0.0
            last = use.last
        else:
            loop, count, sweeps = parts_of(covering, tiling, plan, stay_of(tiling, outer), hw)
            use, first = use_of[outer.unit], before.get(outer.unit, 0.0)
            fetch = first_fetch_cycles(covering, tiling, outer, hw)
            before[outer.unit] = first + outer.first_cycles
            last = _last_fetch(work, outer, use, found)
        first += use.first
        last = max(last, first + fetch)
        every = (last - fetch - first) / max(1, count * sweeps - 1)
        through = (count - 1) * every
        needed = _passing(plan.inlet_buffer, plan.inlet, loop, count, first, first + through)
        yield needed, replace(needed, first=last - through, last=last)


def _passing(
    buffer: str, end: External, loop: str, count: int, first: float, last: float
) -> Passing:
    layout = None if end.layout.is_natural else end.layout
    return Passing(buffer, loop, count, first, last, layout=layout, home=end.home)


def _last_fetch(work: Work, fill: Flow, use: Use, found: Estimate) -> float:
    """When the last fetch ends: before what its unit may write back."""
    if not any(f.is_drain and f.unit == fill.unit for f in work.flows):
        return use.last
    return min(use.last, found.cycles - found.finish_cycles - after_fetch(work, [fill]))


def find_writes(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, found: Estimate
) -> Iterator[tuple[Passing | None, Passing]]:
    """When parts begin to be written (None where that waits for nobody), and when they are for
    good: one after the other while it computes, in every sweep or in the last one only."""
    computing = found.cycles - found.startup_cycles - found.finish_cycles
    for plan in covering.operands:
        if plan.outlet is None:
            continue
        stay = next((s for s in tiling.stays if s.operand == plan.name), None)
        loop, count, sweeps = parts_of(covering, tiling, plan, stay, hw)
        through, end = (count - 1) * computing / (count * sweeps), found.cycles
        done = _passing(plan.buffer, plan.outlet, loop, count, end - through, end)
        drain = last_drain(work, plan)
        lead, again = float(work.latency_cycles), sweeps > 1
        if drain is not None:
            lead = first_fetch_cycles(covering, tiling, drain, hw) + drain.latency_cycles
            again = flow_passes(covering, tiling, drain) > 1
        if again:
            lead += computing * (sweeps - 1) / sweeps
        last = max(0.0, done.last - lead)
        begun = replace(done, first=max(0.0, done.first - lead), last=last)
        if drain is not None and may_lag(work, drain):
            moved = flow_passes(covering, tiling, drain) * drain.pass_cycles / count
            every = (last - begun.first) / max(1, count - 1)
            waiting = max(0.0, held_share(covering, tiling, drain) * count - 1)
            late = waiting * max(0.0, every - moved)
            begun = replace(begun, first=begun.first + late, is_apart=True)
        home = hw.memory(plan.outlet.home or hw.external.name)
        yield None if home.never_waits else begun, done


def last_drain(work: Work, plan: OperandPlan) -> Flow | None:
    """What writes an operand's outlet, where it is not the call itself."""
    mine = (f for f in reversed(work.flows) if f.operand == plan.name and f.is_drain)
    return next(mine, None)


def may_lag(work: Work, drain: Flow) -> bool:
    """Does the drain's unit nothing else?"""
    return drain.unit != work.compute_unit and drain.unit not in work.fill_units


def held_share(covering: Covering, tiling: Tiling, drain: Flow) -> float:
    """What share of all that is taken out there is room for."""
    stay = stay_of(tiling, drain)
    turns = fetches(covering, tiling, stay)
    if stay.level == 0:
        turns = prod(covering.loop(name).units for name in covering.operand(stay.operand).loops)
    places = stay.slots * prod(trips(covering, tiling, name) for name in stay.kept_tiles)
    return min(1.0, places / turns)


def parts_of(
    covering: Covering, tiling: Tiling, plan: OperandPlan, stay: Stay | None, hw: Hardware
) -> tuple[str, int, int]:
    """The outermost loop that moves an operand, its parts, and how many sweeps over them there are.

    Tiles that are moved as a whole are its parts, otherwise blocks.
    """
    sweeps = 1
    rows = [(name, trips(covering, tiling, name)) for name in tiling.outer]
    if stay is None or moves_blocks(covering, stay, hw):
        rows += [(name, tiling.tile(name)) for name in tiling.inner]
    for name, count in rows:
        if count > 1 and name in plan.loops:
            return name, count, sweeps
        sweeps *= count
    return "", 1, 1
