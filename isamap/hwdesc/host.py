"""The host processor beside an accelerator: it runs whatever statement no instruction computes.

In: a machine with a host rule, the semantics of what it shall run. Out: instructions made for
exactly these semantics, on arrays in the external memory. Not its job: choosing what the host runs.
"""

from collections.abc import Iterable
from dataclasses import replace
from math import ceil, prod

from isamap.errors import ProgramError
from isamap.ir import Apply, Expr, Kernel, Role, Statement, is_cast, verify

from .expression import Expression
from .hardware import (
    ExtentKind,
    ExtentRule,
    Hardware,
    HostRule,
    Instruction,
    OperandRule,
    StrideRule,
)


def host_instruction(semantics: Kernel, rule: HostRule, memory: str) -> Instruction:
    """An instruction that runs `semantics` once, at its full extents, with any strides.

    One call takes the rule's start plus its cycles per operation for every scalar operation (casts
    are free) and every element read or written.
    """
    cycles = run_cycles(semantics, rule, 1)
    energy = rule.operation_energy_pj * count_operations(semantics)
    operands = tuple(
        OperandRule(buffer.name, memory, (StrideRule(),) * len(buffer.shape), 1)
        for buffer in semantics.buffers
        if buffer.role is not Role.TEMP
    )
    return Instruction(
        name=semantics.name,
        semantics=semantics,
        extents=tuple((n, ExtentRule(ExtentKind.EXACTLY, e)) for n, e in semantics.extents.items()),
        operands=operands,
        unit=rule.unit,
        issue_cycles=Expression.constant(cycles),
        latency_cycles=Expression.constant(cycles),
        energy_pj=Expression.constant(energy) if energy else None,
        source=rule.source,
    )


def with_host_calls(hw: Hardware, calls: Iterable[Kernel]) -> Hardware:
    """The machine with an instruction for each of the host's semantics.

    Raises:
        ProgramError: the machine has no host, or one of its instructions has such a name already.
    """
    calls = tuple(calls)
    if not calls:
        return hw
    if hw.host is None:
        raise ProgramError(f"{hw.name} has no host to run {calls[0].name!r}")
    taken = {instruction.name for instruction in hw.instructions}
    added = []
    for call in calls:
        if call.name in taken:
            raise ProgramError(f"{hw.name} has an instruction {call.name!r} already")
        taken.add(call.name)
        verify(call)
        added.append(host_instruction(call, hw.host, hw.external.name))
    return replace(hw, instructions=(*hw.instructions, *added))


def run_cycles(kernel: Kernel, rule: HostRule, calls: int) -> int:
    """Cycles of all iterations of `kernel` on the host, in so many calls."""
    return ceil(calls * rule.start_cycles + rule.operation_cycles * count_operations(kernel))


def count_operations(kernel: Kernel) -> int:
    """Scalar operations, casts excepted, and elements read or written, over all iterations."""
    return sum(prod(loop.extent for loop in s.loops) * _operations_of(s) for s in kernel.statements)


def count_applied(kernel: Kernel) -> int:
    """Scalar operations, casts excepted, over all iterations: two per step of a matrix product."""
    return sum(prod(loop.extent for loop in s.loops) * _applied_by(s) for s in kernel.statements)


def _operations_of(statement: Statement) -> int:
    moved = len(statement.reads) + 1 + (statement.update != "=")
    return _applied_by(statement) + moved


def _applied_by(statement: Statement) -> int:
    return _num_applied(statement.value) + (statement.update != "=")


def _num_applied(value: Expr) -> int:
    match value:
        case Apply(op, args):
            return sum(map(_num_applied, args)) + (not is_cast(op))
        case _:
            return 0
