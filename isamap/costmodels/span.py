"""When a task uses what, from its first cycle to its last.

In: a covering, its tiling, the machine. Out: per unit the cycles between which it is used, per
buffer the cycle in which it is first fetched. Not its job: how tasks follow each other.

Of loops that other tasks share, one iteration: what stays on chip over them is fetched in the first
one. Units are taken to be busy from the first call to the last one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .analytical import Estimate, estimate
from .ends import unit_ends
from .tiling import Tiling, guards
from .work import Ends, Work, count_work


@dataclass(frozen=True, slots=True)
class Use:
    """Of a unit, between two cycles."""

    unit: str
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Span:
    """Cycles of a task by itself; `fetched`: buffers, and when they are first read."""

    cycles: float
    uses: tuple[Use, ...]
    fetched: tuple[tuple[str, float], ...]


def find_span(
    covering: Covering, tiling: Tiling, hw: Hardware, shared: frozenset[str], fresh: frozenset[str]
) -> Span:
    """One iteration of the loops in `shared`, the first one of those in `fresh`."""
    once = _one_iteration(covering, shared)
    known = frozenset(
        (stay.operand, stay.residence)
        for stay in tiling.stays
        if not shared & set(guards(covering, tiling, stay).outer) <= fresh
    )
    work = count_work(once, hw)
    flows = tuple(f for f in work.flows if (f.operand, f.residence) not in known)
    work = replace(work, flows=flows)
    tiling = replace(tiling, stays=tiling.stays)  # its guards are those of another covering
    found = estimate(once, work, tiling, hw)
    return Span(found.cycles, tuple(_uses(work, found)), tuple(_fetched(once, work, found)))


def _one_iteration(covering: Covering, shared: frozenset[str]) -> Covering:
    single = covering.single and _one_iteration(covering.single, shared)
    loops = tuple(
        replace(loop, kernel_extent=1, extent=1) if loop.name in shared else loop
        for loop in covering.loops
    )
    return replace(covering, loops=loops, single=single)


def _uses(work: Work, found: Estimate) -> Iterator[Use]:
    total = found.cycles
    for unit, busy in found.unit_cycles:
        if unit == work.compute_unit:
            yield Use(unit, found.startup_cycles, total - found.finish_cycles)
        else:
            yield _use(unit, busy, unit_ends(work, unit), found)


def _use(unit: str, busy: float, ends: Ends, found: Estimate) -> Use:
    """At least as long as it is busy."""
    finish = found.finish_cycles if ends.is_before_finish else 0
    last = max(ends.before + busy, found.cycles - ends.after - finish)
    return Use(unit, ends.before, min(last, found.cycles))


def _fetched(covering: Covering, work: Work, found: Estimate) -> Iterator[tuple[str, float]]:
    """In the order of the operands on each unit; where nothing is copied, with the first call."""
    begins: dict[str, float] = {}
    for plan in covering.operands:
        if plan.inlet is None:
            continue
        fills = [f for f in work.flows if f.operand == plan.name and not f.is_drain]
        outer = max(fills, key=lambda flow: flow.residence, default=None)
        if outer is None or outer.unit == work.compute_unit:
            yield plan.inlet_buffer, found.startup_cycles
            continue
        yield plan.inlet_buffer, begins.get(outer.unit, 0.0)
        begins[outer.unit] = begins.get(outer.unit, 0.0) + outer.first_cycles
