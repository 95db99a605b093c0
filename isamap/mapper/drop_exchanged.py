"""Leave out coverings that differ from an earlier one in the names of operands alone.

In: a stream of coverings on one machine. Out: the same stream with one of each such set, the first.
Not its job: which coverings there are, symmetries that exchange an instruction's loops
(`mappings`).

The factors of a product may change places, and so may the addends of a sum: A B + C E matches an
instruction of that form in eight ways. Operands have the same role where the instruction indexes
both alike by the loops that run, they lie in the same memory under the same rules, and every
repetition moves them alike. What is bound to operands of the same role may be exchanged: calls are
the same but for the order of their arguments, and take as long.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import replace

from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Affine

from .covering import Covering, OperandPlan, synthetic_name


def drop_exchanged(stream: Iterator[Covering], hw: Hardware) -> Iterator[Covering]:
    """The coverings in their order, without those that are an earlier one but for names."""
    roles: dict[Hashable, tuple[Hashable, ...]] = {}
    unnamed: dict[int, tuple[OperandPlan, OperandPlan]] = {}  # plans are shared by many coverings
    seen: set[Hashable] = set()
    for covering in stream:
        running = _running(covering)
        place = covering.instruction, running
        if place not in roles:
            roles[place] = _roles(hw.instruction(covering.instruction), running)
        for plan in covering.operands:
            if id(plan) not in unnamed:
                unnamed[id(plan)] = plan, replace(plan, name="")  # the first is kept alive
        plans = (unnamed[id(plan)][1] for plan in covering.operands)
        ways = Counter(zip(roles[place], plans, strict=True))
        key = _rest(covering), frozenset(ways.items())
        if key not in seen:
            seen.add(key)
            yield covering


def _rest(covering: Covering) -> Hashable:
    """All of it but its operands."""
    call = covering.instruction, covering.binding, covering.immediates
    return covering.statement, *call, covering.loops, covering.shares


def _running(covering: Covering) -> tuple[str, ...]:
    """The instruction's loops that stand for any loop of the covering."""
    names = {loop.name for loop in covering.loops}
    return tuple(loop for loop, group in covering.binding if group or synthetic_name(loop) in names)


def _roles(instruction: Instruction, running: tuple[str, ...]) -> tuple[Hashable, ...]:
    """Per operand all that the machine says of it but its name."""
    still = {loop: Affine() for loop, _ in instruction.extents if loop not in running}
    found: list[Hashable] = []
    for number, rule in enumerate(instruction.operands):
        uses = (use for use in instruction.uses if use.buffer == rule.name)
        moves = tuple(tuple(index.substitute(still) for index in use.indices) for use in uses)
        repeats = tuple(repeat.strides[number] for repeat in instruction.repeats)
        found.append((replace(rule, name=""), moves, repeats))
    return tuple(found)
