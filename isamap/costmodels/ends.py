"""What lies before and after the busy time of a unit or port that sets the pace.

In: a covering's work. Out: per unit, port and passage, what its first call waits for and what
follows its last one. Not its job: the busy time itself (`analytical`, `waiting`).

Only the computing unit has the whole startup before it and the whole finish behind it. What fetches
is busy from the first cycle on; behind its last fetch come that fetch's latency, one call, and the
finish. What writes back begins when one block has been fetched and computed; behind its last call
comes that call's latency. (docs/timing.md, section 2; all of this is the least there is.)
"""

from collections.abc import Sequence

from .flow import Flow
from .traffic import Port
from .work import Ends, Work

# a unit that fetches, and idles while byte planes drain: see waiting.starved_cycles
STARVED_ENDS = Ends(True, 0.0, 0.0)


def unit_ends(work: Work, unit: str) -> Ends:
    """Of a unit that only moves data."""
    if (unit,) not in work._ends:
        work._ends[unit,] = _ends(work, [flow for flow in work.flows if flow.unit == unit])
    return work._ends[unit,]


def first_call_cycles(work: Work, unit: str) -> float:
    """Cycles until the first call, beside those in which a fill unit fetches for it: its first
    block's way to where it fetches it from, and from there to the call."""
    if unit not in work._first_calls:
        fills = [f for f in work.flows if f.unit == unit and not f.is_drain]
        before = min(_arrival_cycles(work, flow) for flow in fills)
        way = max(_way_cycles(work, flow) + flow.overlap_cycles for flow in fills)
        work._first_calls[unit] = before + way
    return work._first_calls[unit]


def port_ends(work: Work, port: Port) -> Ends:
    """Of a port."""
    if port not in work._ends:
        work._ends[port] = _port_ends(work, port)
    return work._ends[port]


def onward_cycles(work: Work, flow: Flow) -> float:
    """What follows a drain from its passage on."""
    place = (flow.operand, flow.residence)
    onward = (f for f in work.flows if f.is_onward and (f.operand, f.residence) == place)
    return 0.0 if flow.is_onward else sum(f.lead_cycles for f in onward)


def _port_ends(work: Work, port: Port) -> Ends:
    """Where both directions share it, a drained block lies within the finish."""
    if port in dict(work.ports):
        return Ends(True, 0.0, 0.0)
    flows = [flow for flow in work.flows if port in dict(flow.ports)]
    ends = _ends(work, flows)
    if not ends.is_before_finish or not any(flow.is_drain for flow in flows):
        return ends
    drained = max(_block_cycles(flow, port) for flow in flows if flow.is_drain)
    after = after_fetch(work, [f for f in flows if not f.is_drain])
    return Ends(True, 0.0, after - drained)


def passage_ends(work: Work, arriving: Flow, leaving: Flow) -> Ends:
    """Of the places of a passage: taken by `arriving`, freed by `leaving`."""
    if leaving.is_drain:
        return Ends(False, before_drain(work, [arriving]), after_drain(work, [leaving]))
    return Ends(True, _arrival_cycles(work, arriving), after_fetch(work, [leaving]))


def _ends(work: Work, flows: Sequence[Flow]) -> Ends:
    fills = [flow for flow in flows if not flow.is_drain]
    drains = [flow for flow in flows if flow.is_drain]
    if not fills:
        return Ends(False, before_drain(work, drains), after_drain(work, drains))
    before = min(_arrival_cycles(work, flow) for flow in fills)
    if drains:
        within = min(flow.first_cycles for flow in drains)
        return Ends(True, before, after_fetch(work, fills) - within)
    return Ends(True, before, after_fetch(work, fills))


def _block_cycles(flow: Flow, port: Port) -> float:
    """What a block takes of the port while it moves."""
    return min(1.0, dict(flow.ports)[port] / flow.pass_cycles) * flow.first_cycles


def _arrival_cycles(work: Work, flow: Flow) -> float:
    """From the first cycle until a block lies where the flow fetches it from."""
    return sum(f.lead_cycles for f in _chain(work, flow) if _comes_before(work, f, flow))


def after_fetch(work: Work, fills: Sequence[Flow]) -> float:
    """From the last fetch's last issue cycle until the finish begins: its way on, and one call."""
    return min(_way_cycles(work, fill) for fill in fills) + work.issue_cycles


def _way_cycles(work: Work, fill: Flow) -> float:
    """From a fetch's last issue cycle until a call may use the block."""
    onward = (f.lead_cycles for f in _chain(work, fill) if _comes_before(work, fill, f))
    return fill.lead_cycles - fill.first_cycles + sum(onward)


def before_drain(work: Work, drains: Sequence[Flow]) -> float:
    """From the first cycle until a computed block may be drained: one fetch of every input."""
    fetched = 0.0
    for unit in work.fill_units:
        fills = [f for f in work.flows if f.unit == unit and not f.is_drain]
        moved = sum(flow.first_cycles - flow.overlap_cycles for flow in fills)
        fetched = max(fetched, first_call_cycles(work, unit) + moved)
    way = min(
        sum(f.lead_cycles for f in _chain(work, drain) if _comes_before(work, f, drain))
        for drain in drains
    )
    return fetched + work.latency_cycles + way


def after_drain(work: Work, drains: Sequence[Flow]) -> float:
    """From the last drain's last issue cycle until its block has arrived."""
    return min(
        drain.lead_cycles
        - drain.first_cycles
        + sum(f.lead_cycles for f in _chain(work, drain) if _comes_before(work, drain, f))
        for drain in drains
    )


def _chain(work: Work, flow: Flow) -> list[Flow]:
    """The operand's flows in the same direction, without what the computing unit does itself."""
    return [
        f
        for f in work.flows
        if (f.operand, f.is_drain) == (flow.operand, flow.is_drain) and f.unit != work.compute_unit
    ]


def _comes_before(work: Work, first: Flow, then: Flow) -> bool:
    """Does a block go through `first` on its way to `then`? Residence 0 is the unit's own; flows
    through a passage stand in their order."""
    if first.residence != then.residence:
        return (first.residence < then.residence) == then.is_drain
    return work.flows.index(first) < work.flows.index(then)
