"""Match an instruction of two statements, a sum and what becomes of it, with such a pair.

In: a summing statement with its ends, an instruction. Out: matches, or the first condition that
failed. Not its job: joining statements (`join_tasks`), instructions of one statement
(`match_statement`).

Both statements share the loops that move the result, so they share what is left of them outside the
call; a sum is finished within one call, so no summed loop may be left outside.
"""

from isamap.hwdesc import Instruction
from isamap.ir import Access, Apply, Kernel, Role, Statement, is_zero
from isamap.rewrites import replace_part

from .bind_loops import bind_loops
from .conversions import Conversion
from .match import Match, Mismatch, Unifier, several
from .tasks import Ends

NUM_STATEMENTS = 2


def match_joined(
    kernel: Kernel,
    index: int,
    ends: Ends,
    instruction: Instruction,
    held: tuple[str, ...],
    converted: frozenset[Conversion] = frozenset(),
) -> tuple[tuple[Match, ...], Mismatch | None]:
    """All matches of the instruction on statement `index` and its finish.

    `converted`: as in `match_statement`.
    """
    reason = _not_a_pair(instruction)
    if reason:
        return (), Mismatch(instruction.name, index, 0, reason)
    statement = kernel.statements[index]
    sums, finish = _after_zeros(instruction)
    assert ends.outlet is not None and ends.value is not None, "there is a finish to match"
    value = ends.value
    if ends.inlet is not None:
        begun = Apply("+", (statement.target, ends.inlet))
        value = replace_part(value, statement.target, begun)
    dtypes = instruction.semantics.buffer(finish.target.buffer).dtype, _dtype(kernel, ends.outlet)
    if dtypes[0] != dtypes[1]:
        reason = f"stores {dtypes[0]}, {ends.outlet.buffer} is {dtypes[1]}"
        return (), Mismatch(instruction.name, index, 1, reason)
    unifier = Unifier(kernel, instruction, converted)
    found: dict[Match, None] = {}
    for partial in unifier.unify_statement(sums, statement):
        for whole in unifier.unify_value(finish.value, value, partial):
            bound = {**dict(whole.operands), finish.target.buffer: ends.outlet}
            operands = tuple((rule.name, bound[rule.name]) for rule in instruction.operands)
            for binding in bind_loops(statement, instruction, bound, held):
                found[Match(instruction, operands, whole.immediates, binding)] = None
    if found:
        return tuple(found), None
    return (), Mismatch(instruction.name, index, 2 + unifier.depth, unifier.reason)


def _not_a_pair(instruction: Instruction) -> str:
    """Why the instruction is no sum into a temporary and a statement that stores from it."""
    statements = _after_zeros(instruction)
    if len(statements) != NUM_STATEMENTS:
        return several(instruction)
    first, last = statements
    is_temporary = instruction.semantics.buffer(first.target.buffer).role is Role.TEMP
    if not is_temporary or first.update != "+=" or last.update != "=":
        return several(instruction)
    return ""


def _after_zeros(instruction: Instruction) -> tuple[Statement, ...]:
    """The statements, without a first one that clears a temporary, which starts as zeros anyway."""
    first, *rest = instruction.semantics.statements
    role = instruction.semantics.buffer(first.target.buffer).role
    clears = role is Role.TEMP and first.update == "=" and is_zero(first.value)
    return tuple(rest) if clears else (first, *rest)


def _dtype(kernel: Kernel, access: Access) -> str:
    return kernel.buffer(access.buffer).dtype
