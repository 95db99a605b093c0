"""What a covering costs before anything is scheduled: cycles of compute and of one full pass of
every copy.

In: a covering, the machine. Out: constants of the computation, with its flows. Not its job: the
flows themselves (`count_flows`), how often a pass is repeated, what overlaps.
"""

from dataclasses import dataclass, field

from isamap.hwdesc import Hardware, Instruction
from isamap.mapper import Covering, TiledLoop, call_classes, compute_cycles

from .call_ports import call_ports, served_cycles
from .count_flows import count_flows, full_call
from .flow import Flow
from .lines import KnownStreams
from .streaming import latency_cycles
from .traffic import Moved, Port, count_moved


@dataclass(frozen=True, slots=True)
class Ends:
    """What lies around the busy time of a unit or port: `before` and `after` it, and behind that
    the finish or not. `after` may be negative where the busy time takes part in the finish."""

    is_before_finish: bool
    before: float
    after: float

    @property
    def cycles(self) -> float:
        """Without the finish."""
        return self.before + self.after

    def around(self, busy: float, finish: float) -> float:
        """So many busy cycles with what lies around them."""
        return busy + self.cycles + (finish if self.is_before_finish else 0.0)


@dataclass(frozen=True, slots=True)
class Work:
    """All flows of a covering and its compute.

    `last_issues`: per loop, the issue cycles of a call on its last (perhaps partial) unit.
    `moved`: bytes and energy of all compute calls. `num_units`: identical units (of each core) that
    take calls in turn. `served_cycles`: of the nearest cache, for what calls read in place.
    `there`: inputs that lie in the outermost of their memories from before, without flows of it.
    """

    compute_unit: str
    compute_cycles: int
    calls: int
    issue_cycles: int
    latency_cycles: int
    accumulate_cycles: int
    last_issues: tuple[tuple[str, int], ...]
    flows: tuple[Flow, ...]
    moved: Moved
    ports: tuple[tuple[Port, float], ...] = ()
    num_units: int = 1
    served_cycles: float = 0.0
    there: frozenset[str] = frozenset()
    # units other than the compute unit that fill stays; flows per operand and residence
    fill_units: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _flows_at: dict[tuple[str, int], tuple[Flow, ...]] = field(
        init=False, repr=False, compare=False
    )
    # what `ends` found, per unit and port: every estimate asks
    _ends: dict[tuple[str, ...], Ends] = field(init=False, repr=False, compare=False)
    _first_calls: dict[str, float] = field(init=False, repr=False, compare=False)
    streams: KnownStreams = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        units = (f.unit for f in self.flows if not f.is_drain and f.unit != self.compute_unit)
        object.__setattr__(self, "fill_units", tuple(dict.fromkeys(units)))
        places: dict[tuple[str, int], tuple[Flow, ...]] = {}
        for flow in self.flows:
            place = flow.operand, flow.residence
            places[place] = (*places.get(place, ()), flow)
        object.__setattr__(self, "_flows_at", places)
        object.__setattr__(self, "_ends", {})
        object.__setattr__(self, "_first_calls", {})
        object.__setattr__(self, "streams", {})

    def flows_at(self, operand: str, residence: int) -> tuple[Flow, ...]:
        """The flows of that residence."""
        return self._flows_at.get((operand, residence), ())

    @property
    def shared_cycles(self) -> int:
        """Compute cycles of each of the units that share the calls."""
        return self.shared_out(self.compute_cycles)

    @property
    def call_cycles(self) -> int:
        """Cycles from one call's start to the next one's, where all units are busy."""
        return self.shared_out(self.issue_cycles)

    @property
    def shares_calls(self) -> bool:
        """Do several units work on calls that are long enough to begin one after the other?"""
        return self.call_cycles < self.issue_cycles

    def shared_out(self, cycles: int) -> int:
        """Of each of the units that share the calls."""
        return -(-cycles // self.num_units)


def count_work(covering: Covering, hw: Hardware) -> Work:
    """The constants of a covering."""
    instruction = hw.instruction(covering.instruction)
    values = full_call(covering, instruction)
    latency = latency_cycles(instruction, values)
    classes, partial = _all_classes(covering, instruction), _partial_loops(covering)
    calls = 1
    for loop in covering.loops:
        calls *= loop.units
    return Work(
        instruction.unit,
        compute_cycles(instruction, covering.binding, covering.loops),
        calls,
        instruction.issue_cycles.evaluate(values),
        latency,
        _apart_cycles(covering, instruction, values, latency),
        tuple(
            (loop.name, _last_issue(covering, instruction, values, loop)) for loop in covering.loops
        ),
        count_flows(covering, hw),
        count_moved(instruction, classes, hw, partial=partial),
        call_ports(covering, classes, hw, partial=partial),
        hw.num_units(instruction.unit),
        served_cycles(covering, classes, hw),
    )


def _apart_cycles(
    covering: Covering, instruction: Instruction, values: dict[str, int], latency: int
) -> int:
    """Least cycles between the starts of calls on the same place of the result; those of one call
    where no two calls have one."""
    if instruction.accumulate_cycles is not None:
        return instruction.accumulate_cycles.evaluate(values)
    rule = instruction.semantics.statements[-1]
    result = next(plan for plan in covering.operands if plan.name == rule.target.buffer)
    is_once = all(loop.name in result.loops for loop in covering.loops if loop.units > 1)
    if rule.reads_target or not is_once:
        return latency
    return instruction.issue_cycles.evaluate(values)


def _partial_loops(covering: Covering) -> list[str]:
    """Loops of the instruction that run shorter in some calls, on whichever core."""
    whole = covering.on_one_core
    return [
        loop
        for loop, _ in whole.binding
        for name in whole.group(loop)[:1]
        if whole.loop(name).is_partial
    ]


def _all_classes(
    covering: Covering, instruction: Instruction
) -> tuple[tuple[int, dict[str, int]], ...]:
    """The compute calls of all cores."""
    return call_classes(instruction, covering.binding, covering.on_one_core.loops)


def _last_issue(
    covering: Covering, instruction: Instruction, values: dict[str, int], loop: TiledLoop
) -> int:
    rest = loop.extent % loop.block
    values = dict(values)
    for name, group in covering.binding:
        if loop.name in group[:1] and rest:
            values[name] = values[name] // loop.block * rest
    return instruction.issue_cycles.evaluate(values)
