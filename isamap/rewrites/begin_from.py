"""A sum begins from what its only reader adds to it.

In: a verified kernel and a statement that sums into a temporary. Out: an equal kernel. Not its job:
which memory the sum then begins in.
"""

from dataclasses import replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import Apply, Kernel, Role, Statement, accesses, covers

from .attempt import statement_sites
from .edit import begins_at_zero, find_alone, pick_loops, replace_statement, used_loops
from .fresh_loops import fresh_loops
from .outline import replace_part, subexpressions
from .variant import Rewrite
from .window import find_sum


def begin_from(kernel: Kernel, statement: int) -> Kernel:
    """Write `T[i] += a[i, k]; y[i] = f(T[i] + b[i])` as `T[i] = b[i]; T[i] += a[i, k]; y[i] =
    f(T[i])`, for accumulators that are loaded before they add up.

    Returns:
        A kernel equal on all inputs but for rounding: floats are summed in another order.

    Raises:
        KernelError: the statement is not alone under its loops, is no sum, or reads its target; it
            is not all that gives a TEMP its value; that is read anywhere but in one sum, with what
            moves with no other loop and is known before.

    Source: associativity; derived here.
    """
    found = find_sum(kernel, statement)
    buffer = kernel.buffer(found.target.buffer)
    writers = [s for s in kernel.statements if s.target.buffer == buffer.name]
    is_whole = begins_at_zero(kernel, statement) and covers(found, buffer)
    if buffer.role is not Role.TEMP or len(writers) != 1 or not is_whole:
        raise KernelError(f"statement {statement} is not all of a TEMP", loc=found.loc)
    reads = [(n, a) for n, s in enumerate(kernel.statements) for a in s.reads]
    reads = [(number, access) for number, access in reads if access.buffer == buffer.name]
    if len(reads) != 1 or reads[0][0] < statement:
        raise KernelError(f"{buffer.name!r} is not read once, afterwards", loc=found.loc)
    number, read = reads[0]
    reader = find_alone(kernel, number)
    sums = [e for e in subexpressions(reader.value) if isinstance(e, Apply) and read in e.args]
    if not sums or sums[0].op != "+":
        raise KernelError(f"nothing is added to {buffer.name!r}", loc=reader.loc)
    added = sums[0].args[sums[0].args[0] == read]
    written = {s.target.buffer for s in kernel.statements[statement : number + 1]}
    if not written.isdisjoint(access.buffer for access in accesses(added)):
        raise KernelError(f"what is added to {buffer.name!r} is not known before", loc=reader.loc)
    loops = pick_loops(reader.loops, used_loops(read))
    begin = Statement(loops, read, "=", added, loc=reader.loc)
    if not used_loops(added) <= used_loops(read) or not covers(begin, buffer):
        raise KernelError(f"{buffer.name!r} is not read element by element", loc=reader.loc)
    rest = replace(reader, value=replace_part(reader.value, sums[0], read))
    plain = replace_statement(kernel, number, (rest,))
    return replace_statement(plain, statement, (*fresh_loops(kernel, (begin,), ()), found))


BEGIN_FROM = Rewrite(
    "begin_from",
    "T[i] += a[i, k]; s(T[i] + b)  =  T[i] = b; T[i] += a[i, k]; s(T[i])",
    True,
    partial(statement_sites, begin_from),
)
