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
from isamap.mapper import Covering

from .analytical import Estimate, estimate
from .ends import after_drain, unit_ends
from .flow import Flow
from .passes import fetches, stay_of
from .passing import (
    Passing,
    Use,
    find_fetches,
    find_writes,
    held_share,
    last_drain,
    may_lag,
    parts_of,
)
from .startup import fill_cycles
from .tiling import Stay, Tiling, guards, trips
from .work import Ends, Work, count_work


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
class Behind:
    """How units that only take results outside may lag behind all others: by so much before these
    wait for room on chip, and at their begin so much more, as they then go on without a pause."""

    units: tuple[str, ...]
    room_cycles: float
    pause_cycles: float


@dataclass(frozen=True, slots=True)
class Span:
    """Cycles of a task by itself, and how it goes through buffers.

    `fetched`: when it must have each part; `read`: when it has read it for good; `begun`: when it
    begins to write it, where that waits for earlier uses, or by when without delay to the last
    part; `written`: when that is done for good. `pace_cycles`: least between the begins of two
    rounds, as its places on chip take turns.
    """

    cycles: float
    uses: tuple[Use, ...]
    rooms: tuple[Room, ...]
    fetched: tuple[Passing, ...]
    read: tuple[Passing, ...]
    begun: tuple[Passing, ...]
    written: tuple[Passing, ...]
    ahead: Ahead | None = None
    behind: Behind | None = None
    pace_cycles: float = 0.0


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
    sweeps = tuple(find_fetches(once, work, tiling, hw, uses, found))
    fetched = tuple(first for first, _ in sweeps)
    if ahead is not None:
        outer = {f.operand for f in _from_outside(once, work) if f.unit in ahead.units}
        names = {once.operand(name).inlet_buffer for name in outer}
        fetched = tuple(replace(one, is_apart=one.buffer in names) for one in fetched)
    rooms = tuple(_rooms(once, work, tiling, hw, uses))
    rounds = prod(covering.loop(name).kernel_extent for name in shared)
    pace = max((_pace_cycles(once, tiling, room, rounds) for room in rooms), default=0.0)
    writes = tuple(find_writes(once, work, tiling, hw, found))
    begun = tuple(begin for begin, _ in writes if begin is not None)
    written = tuple(done for _, done in writes)
    read = tuple(last for _, last in sweeps)
    behind = _behind(once, work, tiling, found, uses)
    return Span(found.cycles, uses, rooms, fetched, read, begun, written, ahead, behind, pace)


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
            early = found.startup_cycles - fill_cycles(
                covering, work, tiling, hw, unit, work.issue_cycles
            )
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


def _pace_cycles(covering: Covering, tiling: Tiling, room: Room, rounds: int) -> float:
    """Where a stay has places for the tiles of some rounds: one is filled again when those who use
    it are done, and not before the rest. The mean over so many `rounds`."""
    stay = tiling.stay(room.operand, room.residence)
    places = stay.slots * prod(trips(covering, tiling, name) for name in stay.kept)
    at_once = places // (1 if stay.level == 0 else fetches(covering, tiling, stay))
    if at_once == 0 or rounds <= at_once:
        return 0.0
    return max(0.0, room.freed - room.filled) * ((rounds - 1) // at_once) / (rounds - 1)


def _spread(covering: Covering, tiling: Tiling, stay: Stay, hw: Hardware) -> float:
    """What share of all computing lies between the last uses of a stay's first and last bytes: it
    holds the last tiles, or the blocks of the only one."""
    plan = covering.operand(stay.operand)
    if stay.level == 0:
        turns = prod(covering.loop(name).units for name in plan.loops)
    else:
        turns = fetches(covering, tiling, stay)
    if turns == 1:
        _, count, sweeps = parts_of(covering, tiling, plan, stay, hw)
        return (count - 1) / (count * sweeps)
    places = stay.slots * prod(trips(covering, tiling, name) for name in stay.kept_tiles)
    return (min(places, turns) - 1) / turns


def _behind(
    covering: Covering, work: Work, tiling: Tiling, found: Estimate, uses: tuple[Use, ...]
) -> Behind | None:
    """Of the drains into outlets."""
    drains = [last_drain(work, plan) for plan in covering.operands if plan.outlet is not None]
    lagging = [drain for drain in drains if drain is not None and may_lag(work, drain)]
    if not lagging:
        return None
    units = tuple(dict.fromkeys(flow.unit for flow in lagging))
    busy = dict(found.unit_cycles)
    share = min(held_share(covering, tiling, flow) for flow in lagging)
    idle = min(use.last - use.first - busy[use.unit] for use in uses if use.unit in units)
    room = inf if share >= 1 else share * min(busy[unit] for unit in units)
    return Behind(units, room, share * max(0.0, idle))
