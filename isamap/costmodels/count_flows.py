"""Count what every copy of a covering takes in a full pass.

In: a covering, the machine. Out: a Flow per transfer, exact to the last partial block. Not its job:
the computation (`work`), how often a pass is repeated, what overlaps.
"""

from dataclasses import dataclass, replace
from functools import partial
from math import prod

from isamap.hwdesc import Hardware, Instruction
from isamap.mapper import Covering, OperandPlan, Transfer

from .call_ports import split_cycles
from .cores import received, shared_use
from .flow import Flow
from .streaming import apart_cycles, entry_cycles, overlap_cycles
from .traffic import add_up_moved, count_moved, count_ports
from .transfer_calls import (
    first_block_cycles,
    full_values,
    short_calls,
    transfer_classes,
)


def count_flows(covering: Covering, hw: Hardware) -> tuple[Flow, ...]:
    """The flows of all residences."""
    flows: list[Flow] = []
    for plan in covering.operands:
        for number, residence in enumerate(plan.residences):
            move = partial(_Move, covering, hw, plan, number)
            entry = residence.fill or residence.zero
            ways = (entry, False), (residence.drain, True), *((t, True) for t in residence.finish)
            for transfer, is_drain in ways:
                if transfer is not None:
                    flows += move(transfer, is_drain).flows()
            if residence.again is not None:
                own = move(residence.again, is_drain=False).flows()
                flows += (replace(flow, is_again=True) for flow in own)
    return tuple(flows)


def full_call(covering: Covering, instruction: Instruction) -> dict[str, int]:
    """Extents of a call whose blocks are whole."""
    values = {repeat.name: 1 for repeat in instruction.repeats}
    for loop, _ in covering.binding:
        values[loop] = prod(covering.loop(name).block for name in covering.group(loop))
    return values


def _repeated(flow: Flow, times: int) -> Flow:
    return replace(
        flow,
        pass_cycles=flow.pass_cycles * times,
        first_cycles=flow.first_cycles * times,
        latency_cycles=flow.latency_cycles * times,
        ports=tuple((port, cycles * times) for port, cycles in flow.ports),
        moved=add_up_moved([(times, flow.moved)]),
    )


@dataclass(frozen=True, slots=True)
class _Move:
    """One transfer of an operand's residence, of which the flows are counted."""

    covering: Covering
    hw: Hardware
    plan: OperandPlan
    residence: int
    transfer: Transfer
    is_drain: bool

    @property
    def instruction(self) -> Instruction:
        return self.hw.instruction(self.transfer.instruction)

    def flows(self) -> list[Flow]:
        """The transfer itself, once per byte plane, and the shifts between planes."""
        transfer, flow = self.transfer, self.flow()
        way = transfer.onward or transfer.inward
        if way is not None:
            other = replace(self, transfer=way.transfer).flow()
            if transfer.onward:
                return [flow, replace(other, is_onward=True)]
            return [replace(other, is_inward=True), flow]
        if transfer.shift is None:
            return [flow]
        shift = replace(self, transfer=transfer.shift).flow()
        return [_repeated(flow, transfer.planes), _repeated(shift, transfer.planes - 1)]

    def flow(self) -> Flow:
        """With what all cores together ask of shared units and ports."""
        mine, covering, hw = self.first_core(), self.covering, self.hw
        if not covering.shares:
            return mine
        everywhere = replace(covering, loops=covering.on_one_core.loops)
        whole = replace(self, covering=everywhere).first_core()
        use = shared_use(covering, self.plan, self.residence, self.instruction, hw)
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

    def first_core(self) -> Flow:
        """What it asks of the first core, or of a machine that has one."""
        covering, plan, transfer, hw = self.covering, self.plan, self.transfer, self.hw
        instruction = self.instruction
        windows = tuple(axis.name for axis in plan.windows_at(self.residence))
        classes = transfer_classes(covering, plan, transfer, instruction, windows)
        issue = instruction.issue_cycles
        full = full_values(plan, transfer, instruction)
        latency = max(instruction.latency_cycles.evaluate(full) - issue.evaluate(full), 0)
        first = first_block_cycles(plan, transfer, instruction)
        first /= max(1.0, min(first / max(1, issue.evaluate(full)), hw.num_units(instruction.unit)))
        computing = hw.instruction(covering.instruction)
        call = full_call(covering, computing)
        busy = computing.issue_cycles.evaluate(call)
        memory = hw.memory(plan.residences[self.residence].memory)
        split = split_cycles(covering, plan, transfer, hw)
        partial, still = self.partial_loops(), self.still_loops()
        return Flow(
            plan.name,
            self.residence,
            self.is_drain,
            instruction.unit,
            sum(times * (issue.evaluate(values) + split) for times, values in classes),
            first,
            latency,
            count_ports(instruction, classes, hw, partial=partial, still=still),
            count_moved(instruction, classes, hw, partial=partial, still=still),
            windows,
            overlap_cycles(instruction, computing, plan.name, first, busy),
            memory.num_entries if memory.fifo is not None else 0,
            entry_cycles(computing, call, hw) if memory.fifo is not None else 0,
            short=short_calls(covering, plan, transfer, instruction, classes),
            apart_cycles=apart_cycles(computing, instruction, call, hw) if self.is_drain else 0,
        )

    def partial_loops(self) -> tuple[str, ...]:
        """Instruction loops that run shorter in some calls."""
        covering, blocks = self.covering, self.plan.blocks
        return tuple(
            loop
            for loop, dims in self.transfer.assigned
            if any(
                dim.block is None or covering.loop(blocks[dim.block].loop).is_partial
                for dim in dims
            )
        )

    def still_loops(self) -> dict[str, tuple[str, ...]]:
        """Per operand that is read, the instruction loops over which the source stays where it is:
        one element, read once."""
        target = self.instruction.semantics.statements[0].target.buffer
        loops = tuple(
            loop
            for loop, dims in self.transfer.assigned
            if dims and all(dim.source_stride_bytes == 0 for dim in dims)
        )
        return {r.name: loops for r in self.instruction.operands if r.name != target}
