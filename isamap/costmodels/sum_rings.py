"""Sums that another unit brings than the one that adds, on machines with tokens.

In: a covering, one of its results, the machine. Out: whether it is brought so, why tokens cannot
order that, what a place waits for between two tiles. Not its job: the tokens (`exchanges`).

A place of such sums goes round: one unit fills it, a second computes on it, a third takes it out,
and the first may fill it again. Each tells the next one; the third gives the credits of the first,
or is the first, and then its own order says so.
"""

from dataclasses import dataclass

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan, Transfer, meets_itself

from .flow import Flow
from .passes import leaves_in_planes
from .work import Work


@dataclass(frozen=True, slots=True)
class SumRing:
    """From computing one tile to computing the next one in the same place: what other units do, and
    `latency_cycles` beside that."""

    flows: tuple[Flow, ...]
    latency_cycles: int


def brings_sums(covering: Covering, plan: OperandPlan, number: int, hw: Hardware) -> bool:
    """Does another unit than the one that computes bring a result to this residence, with
    tokens?"""
    entry = plan.residences[number].fill or plan.residences[number].zero
    if not hw.has_tokens or not plan.is_output or entry is None:
        return False
    return hw.instruction(entry.instruction).unit != hw.instruction(covering.instruction).unit


def why_no_ring(covering: Covering, plan: OperandPlan, hw: Hardware) -> str:
    """Why no tokens can order what happens to a result beside computing; empty if they can."""
    if not hw.has_tokens or not plan.is_output or not plan.residences:
        return ""
    residence = plan.residences[0]
    computing = hw.instruction(covering.instruction).unit
    for update in residence.finish:
        unit = hw.instruction(update.instruction).unit
        if unit != computing:
            return (
                f"{update.instruction} updates the output {plan.buffer} on unit {unit!r}, which no"
                f" token orders beside {covering.instruction} on unit {computing!r}"
            )
    if not brings_sums(covering, plan, 0, hw):
        return ""
    entry, drain = residence.fill or residence.zero, residence.drain
    assert entry is not None and drain is not None, "it comes and goes"
    what = f"{entry.instruction} fills the output {plan.buffer} on unit"
    what += f" {hw.instruction(entry.instruction).unit!r}"
    if leaves_in_planes(residence):
        return f"{what}, and it leaves in byte planes, between which no token orders that"
    if plan.has_window or any(meets_itself(covering, name) for name in plan.loops):
        return f"{what}, and no token orders that behind tiles with elements in common"
    for ends in _needed_channels(computing, entry, drain, hw):
        if hw.channel(*ends) is None:
            return f"{what}, and no token channel leads from unit {ends[0]!r} to unit {ends[1]!r}"
    return ""


def _needed_channels(
    computing: str, entry: Transfer, drain: Transfer, hw: Hardware
) -> list[tuple[str, str]]:
    """Round the ring, and back to the unit that computes from one that only moved results."""
    brings, takes = (hw.instruction(way.instruction).unit for way in (entry, drain))
    ways = [(brings, computing), (computing, takes), (takes, brings)]
    if drain.onward is not None:
        ways.append((takes, computing))
    return [(source, target) for source, target in ways if source != target]


def comes_behind(covering: Covering, plan: OperandPlan, hw: Hardware) -> bool:
    """Does a unit that brings such sums also take some out, so that the next ones stand in its
    queue behind those of before?"""
    if not plan.residences or not brings_sums(covering, plan, 0, hw):
        return False
    residence = plan.residences[0]
    entry, drain = residence.fill or residence.zero, residence.drain
    assert entry is not None and drain is not None, "it comes and goes"
    coming, going = (
        {hw.instruction(t.instruction).unit for t in (way, passage and passage.transfer) if t}
        for way, passage in ((entry, entry.inward), (drain, drain.onward))
    )
    return not coming.isdisjoint(going)


def find_sum_ring(work: Work, plan: OperandPlan, residence: int, hw: Hardware) -> SumRing | None:
    """None where the unit that computes fills what it computes on.

    Where a unit comes twice, its own order closes the ring: of what it does second the calls
    follow, be the results of the first there or not.
    """
    if not hw.has_tokens or not plan.is_output:
        return None
    flows = [f for f in work.flows_at(plan.name, residence) if f.unit != work.compute_unit]
    coming, going = ([f for f in flows if f.is_drain is is_out] for is_out in (False, True))
    if not coming:
        return None
    ways = [(coming[-1:], going[:1])]
    for first, begun in enumerate(coming):
        ways += [
            (coming[first:], going[: last + 1])
            for last, flow in enumerate(going)
            if flow.unit == begun.unit
        ]
    into, out = max(ways, key=lambda way: len(way[0]) + len(way[1]))
    is_closed = bool(out) and out[-1].unit == into[0].unit
    waited = [*out[:-1], *into] if is_closed else [*out, *into]
    latency = work.latency_cycles - work.issue_cycles + sum(f.latency_cycles for f in waited)
    return SumRing((*out, *into), latency)
