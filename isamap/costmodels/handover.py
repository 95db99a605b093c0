"""Cycles in which registers change hands at loops that stand between loops that are written out.

In: a covering, a tiling, the machine. Out: cycles. Not its job: copies that the program itself asks
for (`passes`).

The loops that move what lies in registers are code of their own in each iteration. A loop that
repeats only the inner ones of them works on a part of the registers: at each start and end of it
the compiler brings that part to where the loop's code has it, and takes others out of its way.
"""

from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .lines import moving_registers
from .tiling import Tiling


def handover_cycles(covering: Covering, tiling: Tiling, hw: Hardware) -> float:
    """Of all starts of such loops, for as many registers as the loops inside move over."""
    each = max((memory.handover_cycles for memory in hw.memories), default=0.0)
    if not each:
        return 0.0
    inner = [name for name in reversed(tiling.inner) if tiling.tile(name) > 1]
    written_out = moving_registers(covering, tiling, hw)
    calls = prod(loop.units for loop in covering.loops)
    rounds = 1
    handed = 0.0
    for depth, name in enumerate(inner):
        if name in written_out:
            continue
        rounds *= tiling.tile(name)
        if any(outer in written_out for outer in inner[depth + 1 :]):
            handed += calls / rounds  # a start: so many rounds of a call per register
    return each * handed
