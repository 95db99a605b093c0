"""How long blocks take up a memory that holds few of them.

In: a covering, its work, the machine. Out: per memory, cycles that no program of the covering goes
below. Not its job: what units and ports take (`least`).

A block has its room from the beginning of its fetch until the last call on it has read it. A memory
of room for S blocks at a time, which D blocks of L cycles until they are there must pass, used for
C cycles in all, is busy for (D L + C) / S cycles at least, whatever the order. What does not move
over held loops passes again in each of their iterations, but for what the memory holds.
Derived here.
"""

from math import prod

from isamap.hwdesc import Hardware
from isamap.ir import Role
from isamap.mapper import Covering, OperandPlan

from .flow import Flow
from .repeats import least_shares
from .work import Work


def least_occupancy(covering: Covering, work: Work, hw: Hardware) -> tuple[tuple[str, float], ...]:
    """Least cycles per memory of inputs, as if they were its only ones; those of several coverings
    add up. None on machines of several cores, and of memories whose writes never wait."""
    if hw.cores is not None:
        return ()
    cycles: dict[str, float] = {}
    least = min(least_shares(hw).values(), default=1.0)
    for flow in work.flows:
        plan = covering.operand(flow.operand)
        memory = hw.memory(plan.residences[flow.residence].memory)
        if plan.role is Role.IN and not flow.windows and not memory.never_waits:
            taken = _block_cycles(covering, work, plan, flow, memory.size_bytes) * least
            cycles[memory.name] = cycles.get(memory.name, 0.0) + taken / memory.size_bytes
    return tuple(cycles.items())


def _block_cycles(
    covering: Covering, work: Work, plan: OperandPlan, flow: Flow, size_bytes: int
) -> float:
    """Bytes times cycles of all whole blocks; partial ones, which are there sooner, are left out.

    On the unit's own memory a call uses one block at a time.
    """
    room = plan.residences[flow.residence].block_bytes
    loops = [covering.loop(name) for name in plan.loops]
    blocks = prod(loop.extent // loop.block for loop in loops)
    again = prod(covering.loop(n).kernel_extent for n in covering.held if n not in plan.loops) - 1
    fetched = blocks + again * max(0, blocks - size_bytes // room)
    used = work.shared_cycles if flow.residence == 0 else 0
    return room * (fetched * flow.lead_cycles + used)
