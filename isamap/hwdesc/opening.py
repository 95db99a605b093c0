"""Pairs of instructions of which one begins the sums that the other continues.

In: instructions. Out: which begins which. Not its job: what that is used for.
"""

from dataclasses import replace

from isamap.ir import Role, is_zero

from .hardware import Hardware, Instruction


def opens(first: Instruction, then: Instruction) -> bool:
    """Does `first` compute what `then` adds, but onto zeros instead of what was there?

    Its semantics is `X[..] = 0` followed by the other's one statement, which adds to X; operands,
    extents and unit are the same.
    """
    if len(then.semantics.statements) != 1 or len(first.semantics.statements) != 2:
        return False
    (added,) = then.semantics.statements
    zeroed, same = first.semantics.statements
    clears = zeroed.update == "=" and is_zero(zeroed.value)
    if added.update != "+=" or not clears or zeroed.target != added.target or same != added:
        return False
    covered = {(loop.name, loop.extent) for loop in zeroed.loops}
    moving = {(x.name, x.extent) for x in added.loops if added.target.moves_with(x.name)}
    if covered != moving:
        return False
    buffers = tuple(
        replace(buffer, role=Role.OUT) if buffer.name == added.target.buffer else buffer
        for buffer in then.semantics.buffers
    )
    return (
        buffers == first.semantics.buffers
        and first.operands == then.operands
        and dict(first.extents) == dict(then.extents)
        and first.unit == then.unit
        and not first.repeats
        and not then.repeats
        and first.immediates == then.immediates
    )


def continued_by(first: Instruction, hw: Hardware) -> Instruction:
    """The instruction that adds to the sums that `first` begins; `first` itself if none does."""
    return next((then for then in hw.instructions if opens(first, then)), first)


def opened_by(then: Instruction, hw: Hardware) -> Instruction | None:
    """The instruction that begins the sums that `then` adds to, if there is one."""
    return next((first for first in hw.instructions if opens(first, then)), None)
