"""Which operations a machine has for two elements, but not for an element and a number.

In: a machine. Out: operations. Not its job: giving numbers a place in memory (`rewrites.numbers`).
"""

from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Access, Apply, Immediate, Literal, under_casts


def number_operations(hw: Hardware) -> tuple[str, ...]:
    """Operations of which numbers have to be elements, so that instructions compute them.

    None on a processor that is its own host: its plain C takes numbers as they are.
    """
    if hw.host is not None and not hw.host.is_apart:
        return ()
    pairs: dict[str, None] = {}
    with_numbers = set()
    for instruction in hw.instructions:
        value = _only_operation(instruction)
        kinds = {type(under_casts(arg)) for arg in value.args} if value is not None else set()
        if value is not None and kinds == {Access}:
            pairs[value.op] = None
        elif value is not None and kinds <= {Access, Literal, Immediate}:
            with_numbers.add(value.op)
    return tuple(op for op in pairs if op not in with_numbers)


def _only_operation(instruction: Instruction) -> Apply | None:
    """The operation on two values that the instruction does element by element and nothing else."""
    if len(instruction.semantics.statements) != 1:
        return None
    (statement,) = instruction.semantics.statements
    value = under_casts(statement.value)
    if statement.update != "=" or not isinstance(value, Apply) or len(value.args) != 2:
        return None
    return value
