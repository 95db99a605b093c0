"""When a task uses what, from its first cycle to its last.

In: a covering, its tiling, the machine. Out: per unit the cycles between which it is used, per
buffer when which part of it is fetched or written. Not its job: how tasks follow each other.

Of loops that other tasks share, one iteration: what stays on chip over them is fetched in the first
one. Units are taken to be busy from the first call to the last one; those that fetch begin as late
as they may without holding up the first call.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, prod

from isamap.hwdesc import Hardware
from isamap.ir import Role
from isamap.mapper import Covering, OperandPlan

from .analytical import Estimate, estimate
from .ends import after_drain, unit_ends
from .flow import Flow
from .passes import fetches, moves_blocks, stay_of
from .startup import fill_cycles, first_fetch_cycles
from .tiling import Stay, Tiling, guards, trips
from .work import Ends, Work, count_work


@dataclass(frozen=True, slots=True)
class Use:
    """Of a unit, between two cycles."""

    unit: str
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Passing:
    """How a task goes through a buffer: in `count` equal parts along its loop `loop` ("": all at
    once). `first`, `last`: when it must have the first part, and the last one in the same sweep;
    or when it has written them for good."""

    buffer: str
    loop: str
    count: int
    first: float
    last: float
    is_ahead: bool = False  # by a unit that may run ahead (`Ahead`)

    def cycle(self, part: int) -> float:
        """When it must have that part, or has written it."""
        return self.first + (self.last - self.first) * part / max(1, self.count - 1)


@dataclass(frozen=True, slots=True)
class Room:
    """A stay's place on chip: its first bytes are filled in cycle `filled` and not needed any more
    from `freed` on, its last bytes by so much later."""

    operand: str
    residence: int
    filled: float
    fill_cycles: float
    freed: float
    free_cycles: float


@dataclass(frozen=True, slots=True)
class Ahead:
    """How units that bring a task's data from outside may begin before all others: they are `busy`
    so long at least, and the places on chip hold what they bring in `room_cycles`, by so much more
    than lies between their begin and the first call in any case: `lead`. All calls are over by
    `slack` sooner where everything is there when they begin."""

    units: tuple[str, ...]
    busy: float
    room_cycles: float
    lead: float
    slack: float


@dataclass(frozen=True, slots=True)
class Span:
    """Cycles of a task by itself; `fetched`, `written`: how it goes through buffers."""

    cycles: float
    uses: tuple[Use, ...]
    rooms: tuple[Room, ...]
    fetched: tuple[Passing, ...]
    written: tuple[Passing, ...]
    ahead: Ahead | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One iteration of loops that other tasks share: of a covering, as one by itself, its work."""

    covering: Covering
    shared: frozenset[str]
    once: Covering
    work: Work


def one_round(covering: Covering, hw: Hardware, shared: frozenset[str]) -> Round:
    """One iteration of the loops in `shared`."""
    once = _one_iteration(covering, shared)
    return Round(covering, shared, once, count_work(once, hw))


def find_span(one: Round, tiling: Tiling, hw: Hardware, fresh: frozenset[str]) -> Span:
    """Of one iteration of shared loops, the first one of those in `fresh`."""
    covering, shared, once = one.covering, one.shared, one.once
    known = frozenset(
        (stay.operand, stay.residence)
        for stay in tiling.stays
        if not shared & set(guards(covering, tiling, stay).outer) <= fresh
    )
    flows = tuple(f for f in one.work.flows if (f.operand, f.residence) not in known)
    there = frozenset(
        plan.name
        for plan in once.operands
        if plan.role is Role.IN and (plan.name, len(plan.residences) - 1) in known
    )
    work = replace(one.work, flows=flows, there=there)
    tiling = replace(tiling, stays=tiling.stays)  # its guards are those of another covering
    found = estimate(once, work, tiling, hw)
    uses = tuple(_uses(once, work, tiling, hw, found))
    ahead = _ahead(once, work, tiling, hw, uses) if shared else None
    fetched = tuple(_fetched(once, work, tiling, hw, uses))
    if ahead is not None:
        outer = {f.operand for f in _from_outside(once, work) if f.unit in ahead.units}
        names = {once.operand(name).inlet_buffer for name in outer}
        fetched = tuple(replace(one, is_ahead=one.buffer in names) for one in fetched)
    rooms = tuple(_rooms(once, work, tiling, hw, uses))
    written = tuple(_written(once, tiling, hw, found))
    return Span(found.cycles, uses, rooms, fetched, written, ahead)


def _from_outside(covering: Covering, work: Work) -> list[Flow]:
    """Flows of inputs into the outermost of their memories, by units that do nothing else."""
    flows = [
        f
        for f in work.flows
        if not f.is_drain
        and f.unit != work.compute_unit
        and f.residence == len(covering.operand(f.operand).residences) - 1
    ]
    shared = {f.unit for f in work.flows if f not in flows}
    return [f for f in flows if f.unit not in shared]


def _ahead(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, uses: tuple[Use, ...]
) -> Ahead | None:
    flows = _from_outside(covering, work)
    inputs = [f for f in flows if covering.operand(f.operand).role is Role.IN]
    stays = [stay_of(tiling, flow) for flow in inputs]  # what sums begin from is little
    if not flows or any(stay.level == 0 for stay in stays):
        return None
    units = tuple(dict.fromkeys(flow.unit for flow in flows))
    fetching = [use for use in uses if use.unit in units]
    first = min(use.first for use in fetching)
    last = max(use.last for use in fetching)
    places = [s.slots * prod(trips(covering, tiling, name) for name in s.kept) for s in stays]
    turns = [fetches(covering, tiling, stay) for stay in stays]
    share = min((p / t for p, t in zip(places, turns, strict=True)), default=1.0)
    room = share * (last - first)
    there = replace(work, flows=tuple(f for f in work.flows if f not in inputs))
    found = estimate(covering, there, tiling, hw)
    computing = next(use for use in uses if use.unit == work.compute_unit)
    tight = found.cycles - found.startup_cycles - found.finish_cycles
    busy = max(sum(f.pass_cycles for f in flows if f.unit == unit) for unit in units)
    return Ahead(
        units,
        min(busy, last - first),
        room,
        max(0.0, room - (computing.first - first)),
        max(0.0, computing.last - computing.first - tight),
    )


def _one_iteration(covering: Covering, shared: frozenset[str]) -> Covering:
    single = covering.single and _one_iteration(covering.single, shared)
    loops = tuple(
        replace(loop, kernel_extent=1, extent=1) if loop.name in shared else loop
        for loop in covering.loops
    )
    return replace(covering, loops=loops, single=single)


def _uses(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, found: Estimate
) -> Iterator[Use]:
    total = found.cycles
    fills = work.fill_units
    for unit, busy in found.unit_cycles:
        if unit == work.compute_unit:
            yield Use(unit, found.startup_cycles, total - found.finish_cycles)
            continue
        use = _use(unit, busy, unit_ends(work, unit), found)
        drains = [f for f in work.flows if f.unit == unit and f.is_drain]
        if drains:
            use = replace(use, last=max(use.last, total - after_drain(work, drains)))
        if unit in fills:
            early = found.startup_cycles - fill_cycles(covering, work, tiling, hw, unit)
            use = replace(use, first=use.first + max(0.0, min(early, use.last - use.first - busy)))
        yield use


def _use(unit: str, busy: float, ends: Ends, found: Estimate) -> Use:
    """At least as long as it is busy."""
    finish = found.finish_cycles if ends.is_before_finish else 0
    last = max(ends.before + busy, found.cycles - ends.after - finish)
    return Use(unit, ends.before, min(last, found.cycles))


def _rooms(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, uses: tuple[Use, ...]
) -> Iterator[Room]:
    """A place's last tiles lie there when it computes the last time; what is held from before is
    not filled."""
    use_of = {use.unit: use for use in uses}
    computing = use_of[work.compute_unit]
    for stay in tiling.stays:
        share = _spread(covering, tiling, stay, hw)
        flows = [f for f in work.flows if stay_of(tiling, f) == stay]
        fills = [use_of[f.unit] for f in flows if not f.is_drain]
        last = [use_of[f.unit].last for f in flows if f.is_drain]
        fill = min(fills, key=lambda use: use.first, default=None)
        freed = max(computing.last, *last, 0.0)
        free_cycles = share * (computing.last - computing.first)
        filled, fill_cycles = (fill.first, share * (fill.last - fill.first)) if fill else (inf, 0.0)
        yield Room(
            stay.operand, stay.residence, filled, fill_cycles, freed - free_cycles, free_cycles
        )


def _spread(covering: Covering, tiling: Tiling, stay: Stay, hw: Hardware) -> float:
    """What share of all computing lies between the last uses of a stay's first and last bytes: it
    holds the last tiles, or the blocks of the only one."""
    plan = covering.operand(stay.operand)
    if stay.level == 0:
        turns = prod(covering.loop(name).units for name in plan.loops)
    else:
        turns = fetches(covering, tiling, stay)
    if turns == 1:
        _, count, sweeps = _parts(covering, tiling, plan, stay, hw)
        return (count - 1) / (count * sweeps)
    places = stay.slots * prod(trips(covering, tiling, name) for name in stay.kept_tiles)
    return (min(places, turns) - 1) / turns


def _fetched(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, uses: tuple[Use, ...]
) -> Iterator[Passing]:
    """In the order of the operands on each unit; where nothing is copied, with the calls."""
    use_of = {use.unit: use for use in uses}
    before: dict[str, float] = {}
    for plan in covering.operands:
        if plan.inlet is None:
            continue
        fills = [f for f in work.flows if f.operand == plan.name and not f.is_drain]
        outer = max(fills, key=lambda flow: flow.residence, default=None)
        if outer is None or outer.unit == work.compute_unit:
            loop, count, sweeps = _parts(covering, tiling, plan, None, hw)
            use, first, fetch = use_of[work.compute_unit], 0.0, 0.0
        else:
            loop, count, sweeps = _parts(covering, tiling, plan, stay_of(tiling, outer), hw)
            use, first = use_of[outer.unit], before.get(outer.unit, 0.0)
            fetch = first_fetch_cycles(covering, tiling, outer, hw)
            before[outer.unit] = first + outer.first_cycles
        first += use.first
        every = max(0.0, use.last - fetch - first) / max(1, count * sweeps - 1)
        yield Passing(plan.inlet_buffer, loop, count, first, first + (count - 1) * every)


def _written(
    covering: Covering, tiling: Tiling, hw: Hardware, found: Estimate
) -> Iterator[Passing]:
    """Parts are done one after the other while it computes."""
    computing = found.cycles - found.startup_cycles - found.finish_cycles
    for plan in covering.operands:
        if plan.outlet is not None:
            stay = next((s for s in tiling.stays if s.operand == plan.name), None)
            loop, count, sweeps = _parts(covering, tiling, plan, stay, hw)
            first = found.cycles - (count - 1) * computing / (count * sweeps)
            yield Passing(plan.buffer, loop, count, first, found.cycles)


def _parts(
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
