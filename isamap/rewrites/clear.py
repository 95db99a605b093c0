"""A sum that begins with the zeros of a temporary says so in a statement of its own.

In: a verified kernel and a temporary that a statement sums into. Out: an equal kernel. Not its job:
which instruction clears what (an accelerator may do that where the sum then stays).
"""

from functools import partial

from isamap.errors import KernelError
from isamap.ir import Kernel, Literal, Role, Statement, covers

from .attempt import buffer_sites
from .edit import begins_at_zero, find_alone, pick_loops, replace_statement, used_loops
from .fresh_loops import fresh_loops
from .variant import Rewrite


def clear(kernel: Kernel, buffer: str) -> Kernel:
    """Write `T[i] += a[i, k]` as `T[i] = 0; T[i] += a[i, k]`, T being `buffer`.

    Returns:
        A kernel equal on all inputs, bit by bit.

    Raises:
        KernelError: the first statement on the buffer is not alone under its loops, does not add to
            a TEMP, or not to all of its elements.

    Source: temporaries begin as zeros (the language); derived here.
    """
    writers = (n for n, s in enumerate(kernel.statements) if s.target.buffer == buffer)
    position = next(writers, None)
    if position is None or kernel.buffer(buffer).role is not Role.TEMP:
        raise KernelError(f"{buffer!r} is no temporary that a statement writes")
    found = find_alone(kernel, position)
    loops = pick_loops(found.loops, used_loops(found.target))
    begin = Statement(loops, found.target, "=", Literal(0), loc=found.loc)
    if found.update != "+=" or not begins_at_zero(kernel, position):
        raise KernelError(f"{buffer!r} does not begin with a sum", loc=found.loc)
    if not covers(begin, kernel.buffer(buffer)):
        raise KernelError(f"statement {position} is not all of {buffer!r}", loc=found.loc)
    return replace_statement(kernel, position, (*fresh_loops(kernel, (begin,), ()), found))


CLEAR = Rewrite("clear", "T += a  =  T = 0; T += a", False, partial(buffer_sites, clear))
