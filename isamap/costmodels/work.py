"""What a covering costs before anything is scheduled: cycles of compute and of one full pass of
every copy.

In: a covering, the machine. Out: constants per flow, exact to the last partial block. Not its job:
how often a pass is repeated, what overlaps.
"""

from dataclasses import dataclass, field, replace
from math import ceil, prod

from isamap.hwdesc import Direction, Hardware, Instruction
from isamap.ir import accesses, size_bytes
from isamap.mapper import (
    Covering,
    OperandPlan,
    TiledLoop,
    Transfer,
    call_classes,
    compute_cycles,
)

from .cores import received, shared_use
from .direct_ports import Port, direct_ports, served_cycles, split_cycles
from .lines import KnownStreams
from .streaming import apart_cycles, entry_cycles, latency_cycles, overlap_cycles
from .traffic import Moved, add_up_moved, count_moved
from .transfer_calls import first_block_cycles, full_values, short_calls, transfer_classes


@dataclass(frozen=True, slots=True)
class Flow:
    """One transfer of one residence.

    `pass_cycles`: issue cycles to move the whole operand once (per position of `windows`, when it
    slides).
    `first_cycles`: of one block. `ports`: port cycles of the same pass; `moved`: its bytes and
    energy. On several cores: of a shared unit or port and for bytes and energy what all cores
    together need, otherwise the first core's. `overlap_cycles`: of one block, beside the
    computation on it. `entries`: of the fifo memory that it fills, `entry_cycles` apart at least
    (0: no such memory). `is_onward`: goes on from a passage. `is_again`: brings back sums that were
    taken out unfinished. `short`: of a window axis whose positions fill calls, what a call of so
    many costs beyond its share of a full one, in positions.
    """

    operand: str
    residence: int
    is_drain: bool
    unit: str
    pass_cycles: float
    first_cycles: float
    latency_cycles: int
    ports: tuple[tuple[Port, float], ...]
    moved: Moved
    windows: tuple[str, ...]
    overlap_cycles: float = 0.0
    entries: int = 0
    entry_cycles: int = 0
    is_onward: bool = False
    is_again: bool = False
    short: tuple[tuple[str, tuple[int, ...]], ...] = ()
    apart_cycles: int = 0

    @property
    def is_first(self) -> bool:
        """Must it begin before the computation can?"""
        return not self.is_drain and not self.is_again

    @property
    def lead_cycles(self) -> float:
        """From the start of a block's transfer until the computation on it may begin (for drains:
        what it adds after the computation)."""
        return self.first_cycles + self.latency_cycles - self.overlap_cycles


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
        return -(-self.compute_cycles // self.num_units)

    @property
    def call_cycles(self) -> int:
        """Cycles from one call's start to the next one's, where all units are busy."""
        return -(-self.issue_cycles // self.num_units)


def count_work(covering: Covering, hw: Hardware) -> Work:
    """The constants of a covering."""
    instruction = hw.instruction(covering.instruction)
    values = _full_call(covering, instruction)
    latency = latency_cycles(instruction, values)
    calls = 1
    for loop in covering.loops:
        calls *= loop.units
    flows = []
    for plan in covering.operands:
        for number, residence in enumerate(plan.residences):
            entry = residence.fill or residence.zero
            ways = (entry, False), (residence.drain, True), *((t, True) for t in residence.finish)
            for transfer, is_drain in ways:
                if transfer is not None:
                    flows.extend(_flows(covering, hw, plan, number, transfer, is_drain))
            if residence.again is not None:
                own = _flows(covering, hw, plan, number, residence.again, False)
                flows.extend(replace(flow, is_again=True) for flow in own)
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
        tuple(flows),
        _compute_moved(covering, instruction, hw),
        direct_ports(covering, _all_classes(covering, instruction), hw),
        {unit.name: unit.count for unit in hw.units}[instruction.unit],
        served_cycles(covering, _all_classes(covering, instruction), hw),
    )


def _apart_cycles(
    covering: Covering, instruction: Instruction, values: dict[str, int], latency: int
) -> int:
    """Least cycles between the starts of calls on the same place of the result; those of one call
    where no two calls have one."""
    if instruction.accumulate_cycles is not None:
        return instruction.accumulate_cycles.evaluate(values)
    rule = instruction.semantics.statements[-1]
    is_read = rule.update != "=" or rule.target in accesses(rule.value)
    result = next(plan for plan in covering.operands if plan.name == rule.target.buffer)
    is_once = all(loop.name in result.loops for loop in covering.loops if loop.units > 1)
    return latency if is_read or not is_once else instruction.issue_cycles.evaluate(values)


def _compute_moved(covering: Covering, instruction: Instruction, hw: Hardware) -> Moved:
    """Of all compute calls on all cores, the partial ones included."""
    covering = covering.on_one_core
    partial = [
        loop
        for loop, _ in covering.binding
        for name in covering.group(loop)[:1]
        if covering.loop(name).is_partial
    ]
    return count_moved(instruction, _all_classes(covering, instruction), hw, partial=partial)


def _all_classes(
    covering: Covering, instruction: Instruction
) -> tuple[tuple[int, dict[str, int]], ...]:
    """The compute calls of all cores."""
    return call_classes(instruction, covering.binding, covering.on_one_core.loops)


def _full_call(covering: Covering, instruction: Instruction) -> dict[str, int]:
    values = {repeat.name: 1 for repeat in instruction.repeats}
    for loop, _ in covering.binding:
        values[loop] = prod(covering.loop(name).block for name in covering.group(loop))
    return values


def _last_issue(
    covering: Covering, instruction: Instruction, values: dict[str, int], loop: TiledLoop
) -> int:
    rest = loop.extent % loop.block
    values = dict(values)
    for name, group in covering.binding:
        if loop.name in group[:1] and rest:
            values[name] = values[name] // loop.block * rest
    return instruction.issue_cycles.evaluate(values)


def _flows(
    covering: Covering,
    hw: Hardware,
    plan: OperandPlan,
    residence: int,
    transfer: Transfer,
    is_drain: bool,
) -> list[Flow]:
    """The transfer itself, once per byte plane, and the shifts between planes."""
    flow = _all_cores(covering, hw, plan, residence, transfer, is_drain)
    way = transfer.onward or transfer.inward
    if way is not None:
        other = _all_cores(covering, hw, plan, residence, way.transfer, is_drain)
        return [flow, replace(other, is_onward=True)] if transfer.onward else [other, flow]
    if transfer.shift is None:
        return [flow]
    shift = _all_cores(covering, hw, plan, residence, transfer.shift, is_drain)
    return [_repeated(flow, transfer.planes), _repeated(shift, transfer.planes - 1)]


def _all_cores(
    covering: Covering,
    hw: Hardware,
    plan: OperandPlan,
    residence: int,
    transfer: Transfer,
    is_drain: bool,
) -> Flow:
    """The flow with what all cores together ask of shared units and ports."""
    mine = _flow(covering, hw, plan, residence, transfer, is_drain)
    if not covering.shares:
        return mine
    everywhere = replace(covering, loops=covering.on_one_core.loops)
    whole = _flow(everywhere, hw, plan, residence, transfer, is_drain)
    use = shared_use(covering, plan, residence, hw.instruction(transfer.instruction), hw)
    is_shared = hw.num_copies(mine.unit) == 1
    block = mine.first_cycles / mine.pass_cycles
    own, ports = dict(mine.ports), []
    slowest = mine.first_cycles * (use.at_once if is_shared else 1)
    for port, cycles in whole.ports:
        if hw.num_copies(port[0]) > 1:
            ports.append((port, own[port]))
        else:
            ports.append((port, cycles * use.copies))
            slowest = max(slowest, own[port] * block * use.at_once)
    return replace(
        mine,
        pass_cycles=whole.pass_cycles * use.copies if is_shared else mine.pass_cycles,
        first_cycles=slowest,
        ports=tuple(ports),
        moved=received(add_up_moved([(use.copies, whole.moved)]), use.receivers, hw),
    )


def _repeated(flow: Flow, times: int) -> Flow:
    return replace(
        flow,
        pass_cycles=flow.pass_cycles * times,
        first_cycles=flow.first_cycles * times,
        latency_cycles=flow.latency_cycles * times,
        ports=tuple((port, cycles * times) for port, cycles in flow.ports),
        moved=add_up_moved([(times, flow.moved)]),
    )


def _flow(
    covering: Covering,
    hw: Hardware,
    plan: OperandPlan,
    residence: int,
    transfer: Transfer,
    is_drain: bool,
) -> Flow:
    instruction = hw.instruction(transfer.instruction)
    windows = tuple(axis.name for axis in plan.windows_at(residence))
    classes = transfer_classes(covering, plan, transfer, instruction, windows)
    issue = instruction.issue_cycles
    full = full_values(plan, transfer, instruction)
    ports: dict[Port, float] = {}
    target = instruction.semantics.statements[0].target.buffer
    still_loops = _still_loops(transfer)
    for times, values in classes:
        for rule in instruction.operands:
            is_read = rule.name != target
            still = still_loops if is_read else ()
            each = _operand_bytes(instruction, rule.name, values, still)
            memory = hw.memory(rule.memory)
            for port in memory.ports:
                wanted = Direction.READ if is_read else Direction.WRITE
                if port.direction in (wanted, Direction.BOTH):
                    key = (memory.name, port.name)
                    cycles = times * ceil(each / port.bytes_per_cycle)
                    ports[key] = ports.get(key, 0.0) + cycles
    latency = max(instruction.latency_cycles.evaluate(full) - issue.evaluate(full), 0)
    first = first_block_cycles(plan, transfer, instruction)
    counts = {unit.name: unit.count for unit in hw.units}
    first /= max(1.0, min(first / max(1, issue.evaluate(full)), counts[instruction.unit]))
    computing = hw.instruction(covering.instruction)
    call = _full_call(covering, computing)
    busy = computing.issue_cycles.evaluate(call)
    memory = hw.memory(plan.residences[residence].memory)
    split = split_cycles(covering, plan, transfer, hw)
    return Flow(
        plan.name,
        residence,
        is_drain,
        instruction.unit,
        sum(times * (issue.evaluate(values) + split) for times, values in classes),
        first,
        latency,
        tuple(ports.items()),
        count_moved(
            instruction,
            classes,
            hw,
            partial=_partial_loops(covering, plan, transfer),
            still={r.name: still_loops for r in instruction.operands if r.name != target},
        ),
        windows,
        overlap_cycles(instruction, computing, plan.name, first, busy),
        memory.num_entries if memory.fifo is not None else 0,
        entry_cycles(computing, call, hw) if memory.fifo is not None else 0,
        short=short_calls(covering, plan, transfer, instruction, classes),
        apart_cycles=apart_cycles(computing, instruction, call, hw) if is_drain else 0,
    )


def _partial_loops(covering: Covering, plan: OperandPlan, transfer: Transfer) -> tuple[str, ...]:
    """Instruction loops that run shorter in some calls."""
    return tuple(
        loop
        for loop, dims in transfer.assigned
        if any(
            dim.block is None or covering.loop(plan.blocks[dim.block].loop).is_partial
            for dim in dims
        )
    )


def _still_loops(transfer: Transfer) -> tuple[str, ...]:
    """Instruction loops over which the source stays where it is: one element, read once."""
    return tuple(
        loop
        for loop, dims in transfer.assigned
        if dims and all(dim.source_stride_bytes == 0 for dim in dims)
    )


def _operand_bytes(
    instruction: Instruction, name: str, values: dict[str, int], still: tuple[str, ...]
) -> int:
    """Bytes that one call moves at its port; `still`: loops that do not move the operand."""
    access = instruction.access(name)
    count = size_bytes(instruction.semantics.buffer(name).dtype)
    for index in access.indices:
        for loop in index.names:
            count *= 1 if loop in still else values[loop]
    return count
