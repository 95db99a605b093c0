"""The numbers that describe one call of an instruction, by the names that `emit` uses.

In: an instruction. Out: names: loops and repeats (their counts), immediates, operands (byte
addresses), `operand.loop` and `operand.repeat` (byte strides). Not its job: their values in a call.
"""

from dataclasses import dataclass

from .hardware import ExtentKind, Instruction


@dataclass(frozen=True, slots=True)
class Quantities:
    """`free`: what a call chooses, in the order of listings; `fixed`: what the instruction sets.

    `counts`: for a stride, the loops or the repeat whose counts say whether it matters (not when
    all are 1). `aliases`: strides of a further loop of a dimension, and dense ones: calls have
    them, but other numbers decide.
    """

    free: tuple[str, ...]
    fixed: tuple[tuple[str, int], ...]
    aliases: tuple[str, ...]
    counts: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.free, *(name for name, _ in self.fixed), *self.aliases)


def quantities(instruction: Instruction) -> Quantities:
    """The quantities of calls of `instruction`."""
    free: list[str] = []
    fixed: list[tuple[str, int]] = []
    for loop, rule in instruction.extents:
        if rule.kind is ExtentKind.EXACTLY:
            fixed.append((loop, rule.maximum))
        else:
            free.append(loop)
    free += [repeat.name for repeat in instruction.repeats]
    free += [rule.name for rule in instruction.immediates]
    free += [operand.name for operand in instruction.operands]
    aliases: list[str] = []
    counts: list[tuple[str, tuple[str, ...]]] = []
    for operand in instruction.operands:
        for dim, stride in enumerate(operand.strides):
            loops = instruction.access(operand.name).indices[dim].terms
            names = [f"{operand.name}.{loop}" for loop, _ in loops]
            if stride.fixed_bytes is not None:
                fixed += [(name, stride.fixed_bytes * c) for name, (_, c) in zip(names, loops)]
            elif stride.is_dense:
                aliases += names
            elif names:
                free.append(names[0])
                aliases += names[1:]
                counts.append((names[0], tuple(loop for loop, _ in loops)))
    for repeat in instruction.repeats:
        for operand, stride in zip(instruction.operands, repeat.strides, strict=True):
            name = f"{operand.name}.{repeat.name}"
            if stride.fixed_bytes is not None:
                fixed.append((name, stride.fixed_bytes))
            elif stride.is_dense:
                aliases.append(name)
            else:
                free.append(name)
                counts.append((name, (repeat.name,)))
    return Quantities(tuple(free), tuple(fixed), tuple(aliases), tuple(counts))
