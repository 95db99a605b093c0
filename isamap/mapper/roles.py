"""Tell what each instruction of a machine is for: compute, copy, zero fill, shift.

In: an instruction. Out: its role and, for those that move data, which operand goes where. Not its
job: strides, costs.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from isamap.hwdesc import Hardware, Instruction
from isamap.ir import (
    Access,
    Apply,
    Immediate,
    Literal,
    Statement,
    is_copy,
    is_integer,
    is_zero,
    size_bytes,
)

from .covering import Covering


class InstructionRole(Enum):
    """What an instruction does for a covering."""

    COMPUTE = "compute"
    COPY = "copy"  # target = source
    NARROW = "narrow"  # target = low bits of source
    CONVERT = "convert"  # target = source in any other type
    ZERO = "zero"  # target = 0
    SHIFT = "shift"  # target = target >> immediate
    SYNC = "sync"


KNOWN = 256  # answers about machines that are remembered

# a shift serves byte planes, and computes
COMPUTING = (InstructionRole.COMPUTE, InstructionRole.SHIFT)
MOVING = (InstructionRole.COPY, InstructionRole.NARROW, InstructionRole.CONVERT)


@dataclass(frozen=True, slots=True, eq=False)  # each machine's are made once: `movers`
class Mover:
    """An instruction that moves, converts, clears or shifts; operand names of its target and
    source."""

    instruction: Instruction
    role: InstructionRole
    target: str
    source: str | None


def role_of(instruction: Instruction) -> InstructionRole:
    """The role that the instruction's semantics gives it."""
    mover = as_mover(instruction)
    if mover is not None:
        return mover.role
    return InstructionRole.SYNC if instruction.is_sync else InstructionRole.COMPUTE


def may_compute(
    instruction: Instruction, statement: Statement, on_chip: Collection[str] = ()
) -> bool:
    """Is it worth a look? Copies compute statements that copy, cast or not, and what clears those
    that assign zeros; no others. What takes only what was computed computes none by itself, but
    what reads buffers that lie `on_chip` between tasks, where others may have computed them."""
    role = role_of(instruction)
    if instruction.only_computed and not any(read.buffer in on_chip for read in statement.reads):
        return False
    if role in COMPUTING or instruction.multicast or statement.update != "=":
        return role in COMPUTING
    if role is InstructionRole.ZERO:
        return is_zero(statement.value)
    return role in MOVING and is_copy(statement)


def takes_only_computed(covering: Covering, hw: Hardware) -> bool:
    """Does an instruction that takes home only what is computed bring any of the results home?"""
    drains = (r.drain for plan in covering.operands for r in plan.residences if r.drain)
    return any(hw.instruction(drain.instruction).only_computed for drain in drains)


def as_mover(instruction: Instruction) -> Mover | None:
    """The instruction as a mover, or None when it computes."""
    statements = instruction.semantics.statements
    if len(statements) != 1 or statements[0].update != "=":
        return None
    target = statements[0].target
    match statements[0].value:
        case Access(buffer) if buffer != target.buffer:
            return Mover(instruction, InstructionRole.COPY, target.buffer, buffer)
        case Literal() as value if is_zero(value):
            return Mover(instruction, InstructionRole.ZERO, target.buffer, None)
        case Apply(op, (Access(buffer),)) if op == _dtype(instruction, target.buffer):
            is_narrow = _takes_low_bits(_dtype(instruction, buffer), op)
            role = InstructionRole.NARROW if is_narrow else InstructionRole.CONVERT
            return Mover(instruction, role, target.buffer, buffer)
        case Apply(">>", (Access() as read, Immediate())) if read == target:
            return Mover(instruction, InstructionRole.SHIFT, target.buffer, None)
        case _:
            return None


@lru_cache(KNOWN)
def movers(hw: Hardware) -> tuple[Mover, ...]:
    """All movers of a machine that act on one core, in declared order (`spread` replaces them by
    multicasts)."""
    found = (as_mover(instruction) for instruction in hw.instructions if not instruction.multicast)
    return tuple(mover for mover in found if mover is not None)


def _takes_low_bits(source: str, target: str) -> bool:
    """Is a cast between these types the same as leaving bits out?"""
    are_integers = is_integer(source) and is_integer(target)
    return are_integers and size_bytes(target) <= size_bytes(source)


def _dtype(instruction: Instruction, buffer: str) -> str:
    return instruction.semantics.buffer(buffer).dtype
