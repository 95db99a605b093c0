"""What becomes of registers in loops that are written out: copies that the compiler leaves away,
and cycles in which registers change hands at loops that stand between such loops.

In: a covering, a tiling, the machine. Out: counts, cycles. Not its job: copies that the program
itself asks for (`passes`).

The loops that move what lies in registers are code of their own in each iteration. What their calls
copy from the same place, the compiler copies once. A loop that repeats only the inner ones of them
works on a part of the registers: at each start and end of it the compiler brings that part to where
the loop's code has it, and takes others out of its way.
"""

from itertools import takewhile
from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan

from .lines import moving_registers
from .tiling import Tiling


def handover_cycles(covering: Covering, tiling: Tiling, hw: Hardware) -> float:
    """Of all starts of such loops, for as many registers as the loops inside move over."""
    each = max((memory.handover_cycles for memory in hw.memories), default=0.0)
    if not each:
        return 0.0
    inner = [name for name in reversed(tiling.inner) if tiling.tile(name) > 1]
    written_out = moving_registers(covering, tiling.stays, hw)
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


def copies_left_away(
    covering: Covering, tiling: Tiling, hw: Hardware
) -> dict[tuple[str, int], float]:
    """By input and residence, how often the code of written-out loops would copy a block that it
    has in a register: blocks that an inner one of them moves on, and one around it comes back to.
    (None of copies that the compiler runs as they stand.)

    Blocks for which the sums leave no register are copied every time. Of 32 registers GCC 12 uses
    one for what other inputs pass through, which a memory's size leaves out, and spills what is
    more: 1 block of 8 beside 8 x 3 sums, 5 of 9 beside 9 x 3, 5 of 12 beside 12 x 2.
    """
    if not hw.caches:
        return {}
    written_out = moving_registers(covering, tiling.stays, hw)
    inner = [name for name in reversed(tiling.inner) if tiling.tile(name) > 1]
    code = list(takewhile(written_out.__contains__, inner))
    stays = [(stay, covering.operand(stay.operand)) for stay in tiling.stays]
    places = [(s, p, hw.memory(p.residences[s.residence].memory)) for s, p in stays]
    held = [place for place in places if place[2].within is None]
    sums = sum(prod(map(tiling.tile, p.loops)) for s, p, _ in held if p.is_output and s.level)
    num_inputs = sum(not plan.is_output for _, plan, _ in held)
    found: dict[tuple[str, int], float] = {}
    for stay, plan, memory in held:
        if stay.level or stay.kept or plan.is_output or copies_as_written(plan, stay.residence, hw):
            continue
        first = next((n for n, name in enumerate(code) if name in plan.loops), len(code))
        around = code[first:]
        while around and around[-1] in plan.loops:
            around.pop()  # where it moves on, what it comes back to is all read
        times = prod(tiling.tile(name) for name in around if name not in plan.loops)
        blocks = prod(tiling.tile(name) for name in around if name in plan.loops)
        free = memory.size_bytes // memory.granule_bytes - sums + (num_inputs == 1)
        again = min(1.0, max(0.0, 1 - free / blocks))
        found[stay.operand, stay.residence] = times / (1 + (times - 1) * again)
    return found


def copies_as_written(plan: OperandPlan, residence: int, hw: Hardware) -> bool:
    """Does the compiler leave away no copy into the residence, whatever it has in registers?"""
    fill = plan.residences[residence].fill
    form = hw.instruction(fill.instruction).c_form if fill is not None else None
    return form is not None and form.full.is_volatile
