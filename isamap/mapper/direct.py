"""Plan an operand that the instruction reads, or a copy writes, in the external memory.

In: an operand whose rule names the external memory. Out: plans without residences, most natural
layout first, or the reason why there is none. Not its job: operands that are copied (`operand`).
"""

from isamap.hwdesc import Instruction
from isamap.ir import Role, accesses, size_bytes

from .covering import BlockDim, External, OperandPlan, TileAxis
from .external import external_layouts
from .geometry import Geometry
from .subject import Subject


def plan_direct(
    subject: Subject, axes: tuple[TileAxis, ...], blocks: tuple[BlockDim, ...], gathers: bool
) -> tuple[OperandPlan, ...] | str:
    """One plan per layout that the instruction's strides and alignment can walk in place.

    Args:
        axes: plain axes only, one per loop.
        gathers: may the layout repeat elements?
    """
    instruction, name = subject.match.instruction, subject.name
    if subject.is_target and not _only_writes(instruction):
        return f"{instruction.name} writes {name} in {subject.hw.external.name}, not on chip"
    if subject.own.home is not None:
        lies = f"{subject.buffer.name} lies in {subject.own.home}"
        return f"{lies}, and {instruction.name} finds {name} in {subject.hw.external.name}"
    geometry = Geometry(
        subject.own.buffer,
        subject.own.access,
        subject.loops,
        axes,
        blocks,
        size_bytes(subject.buffer.dtype),
        1,
        subject.own.rank,
        gathers,
        subject.is_target and subject.buffer.role is Role.INOUT,
    )
    order = tuple(reversed(range(len(blocks))))
    found = [x for x in external_layouts(geometry, order) if _can_walk(subject, blocks, x)]
    if not found:
        return f"{instruction.name} cannot walk {subject.buffer.name} where it lies"
    buffer = subject.buffer
    if subject.is_target:
        natural = [external for external in found if external.layout.is_natural]
        return tuple(
            OperandPlan(
                name,
                buffer.name,
                buffer.name,
                buffer.role,
                buffer.dtype,
                blocks,
                axes,
                (),
                None,
                external,
            )
            for external in natural or found
        )
    return tuple(
        OperandPlan(
            name, buffer.name, buffer.name, Role.IN, buffer.dtype, blocks, axes, (), external, None
        )
        for external in found
    )


def _only_writes(instruction: Instruction) -> bool:
    """Is the result one assignment that reads nothing of what was there before?"""
    *others, last = instruction.semantics.statements
    return not others and last.update == "=" and last.target not in accesses(last.value)


def _can_walk(subject: Subject, blocks: tuple[BlockDim, ...], external: External) -> bool:
    """Do strides and alignment of the operand's rule allow this layout?"""
    pattern = subject.match.instruction.access(subject.name)
    rule = subject.match.instruction.operand(subject.name)
    offsets = (external.offset_bytes, *external.axis_strides_bytes)
    if any(offset % rule.align_bytes for offset in offsets):
        return False
    dense = size_bytes(subject.buffer.dtype)
    for index, stride_rule in reversed(list(zip(pattern.indices, rule.strides, strict=True))):
        if len(index.terms) > 1 or any(coefficient != 1 for _, coefficient in index.terms):
            return False
        members = [n for n, block in enumerate(blocks) if block.instruction_loop in index.names]
        extent = 1
        for number in reversed(members):  # fused loops must lie like one
            first = external.block_strides_bytes[members[-1]]
            if external.block_strides_bytes[number] != first * extent:
                return False
            extent *= blocks[number].extent
        if not members:
            continue
        stride = external.block_strides_bytes[members[-1]]
        is_legal = stride == dense if stride_rule.is_dense else stride_rule.allows(stride)
        if not is_legal:
            return False
        dense = stride * extent
    return True
