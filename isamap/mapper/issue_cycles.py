"""Cycles in which an instruction's calls are issued, for a kernel in tiled loops.

In: an instruction, its binding, tiled loops. Out: calls by their extents, cycles. Not its job:
copies, waiting (cost models).
"""

from math import prod

from isamap.hwdesc import Hardware, Instruction

from .covering import Covering, TiledLoop, synthetic_name


def compute_cycles(
    instruction: Instruction,
    binding: tuple[tuple[str, tuple[str, ...]], ...],
    loops: tuple[TiledLoop, ...],
) -> int:
    """Issue cycles of all calls together, partial ones included."""
    issue = instruction.issue_cycles
    classes = call_classes(instruction, binding, loops)
    return sum(count * issue.evaluate(values) for count, values in classes)


def shared_cycles(
    instruction: Instruction,
    binding: tuple[tuple[str, tuple[str, ...]], ...],
    loops: tuple[TiledLoop, ...],
    hw: Hardware,
) -> int:
    """Issue cycles of each of the units that share the calls."""
    count = hw.num_units(instruction.unit)
    return -(-compute_cycles(instruction, binding, loops) // count)


def unit_cycles(covering: Covering, hw: Hardware) -> int:
    """Issue cycles of a covering's calls, on each of the units that share them."""
    instruction = hw.instruction(covering.instruction)
    return shared_cycles(instruction, covering.binding, covering.loops, hw)


def call_classes(
    instruction: Instruction,
    binding: tuple[tuple[str, tuple[str, ...]], ...],
    loops: tuple[TiledLoop, ...],
) -> tuple[tuple[int, dict[str, int]], ...]:
    """How many calls, of all together, have which extents; repeats run once."""
    by_name = {loop.name: loop for loop in loops}
    classes: list[tuple[int, dict[str, int]]] = [(1, {r.name: 1 for r in instruction.repeats})]
    bound: set[str] = set()
    for instruction_loop, group in binding:
        names = group or (synthetic_name(instruction_loop),)
        members = [by_name[name] for name in names if name in by_name]
        bound.update(loop.name for loop in members)
        counts = _extent_classes(members)
        classes = [
            (count * times, {**values, instruction_loop: extent})
            for count, values in classes
            for times, extent in counts
        ]
    outside = prod(loop.extent for loop in loops if loop.name not in bound)
    return tuple((outside * count, values) for count, values in classes)


def _extent_classes(members: list[TiledLoop]) -> list[tuple[int, int]]:
    """How many calls have which extents of an instruction loop bound to `members`."""
    if not members:
        return [(1, 1)]
    inner = prod(loop.block for loop in members[1:])
    times = prod(loop.units for loop in members[1:])
    whole, rest = divmod(members[0].extent, members[0].block)
    full = [(times * whole, members[0].block * inner)] if whole else []
    return full + ([(times, rest * inner)] if rest else [])
