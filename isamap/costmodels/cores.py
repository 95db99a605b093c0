"""What several cores together ask of the units and ports that they share.

In: a covering spread over cores, one of its transfers. Out: how many calls serve them all. Not its
job: what one call costs (`work`), which loops are shared out (`mapper.spread`).
"""

from dataclasses import dataclass, replace
from math import prod

from isamap.hwdesc import Hardware, Instruction
from isamap.mapper import Covering, OperandPlan

from .traffic import Moved


@dataclass(frozen=True, slots=True)
class SharedUse:
    """How much more than a pass over the whole operand all cores together move.

    `copies`: full passes by cores that move the same; a loop that slides counts here too, for each
    of its positions is counted by itself. `at_once`: calls that move one block for every core.
    `receivers`: cores that one call writes to.
    """

    copies: float
    at_once: int
    receivers: int


def shared_use(
    covering: Covering, plan: OperandPlan, residence: int, instruction: Instruction, hw: Hardware
) -> SharedUse:
    """The calls of a residence's transfer by `instruction`, on all cores together."""
    assert hw.cores is not None, "spread over some cores"
    windows = plan.windows_at(residence)
    plain = {axis.loops[0] for axis in plan.axes if axis not in windows}
    counts: dict[str, int] = {}
    for share in covering.shares:
        if share.axis not in instruction.multicast:
            counts[share.loop] = counts.get(share.loop, 1) * share.count
    copies, at_once = 1.0, 1
    for name, count in counts.items():
        loop = covering.loop(name)
        at_once *= min(count, loop.active_cores)
        if name in plan.loops and name not in plain:
            copies *= loop.total_units / loop.units  # the last core's positions are fewer
        elif name not in plain:
            copies *= min(count, loop.active_cores)
    sizes = dict(hw.cores.axes)
    return SharedUse(copies, at_once, prod(sizes[axis] for axis in instruction.multicast))


def received(moved: Moved, receivers: int, hw: Hardware) -> Moved:
    """What calls move that write to so many cores what they write to one."""
    if receivers == 1:
        return moved
    rows, energy = [], moved.energy_pj
    for name, written in moved.written_bytes:
        more = written * (receivers - 1) if hw.num_copies(name) > 1 else 0.0
        rows.append((name, written + more))
        energy += more * hw.memory(name).write_energy_pj_per_byte
    return replace(moved, written_bytes=tuple(rows), energy_pj=energy)
