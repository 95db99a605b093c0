"""A statement writes its results over the temporary that it is the last one to read.

In: a verified kernel, a temporary. Out: an equal kernel, bit by bit. Not its job: which
instructions change what they read.
"""

from dataclasses import replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Kernel,
    LoopKind,
    Role,
    Statement,
    accesses,
    covers,
    loop_kinds,
    map_accesses,
    normalise_update,
)

from .attempt import buffer_sites
from .edit import find_alone, rebuild, replace_statement
from .fresh_loops import fresh_loops
from .variant import Rewrite


def overwrite(kernel: Kernel, temporary: str) -> Kernel:
    """Write `T[i] = x[i]; D[i] = f(T[i])` as `D[i] = x[i]; D[i] = f(D[i])`, T being `temporary`;
    where D is no temporary, as `T[i] = x[i]; T[i] = f(T[i]); D[j] = T[j]`.

    Returns:
        A kernel equal on all inputs, bit by bit.

    Raises:
        KernelError: the last statement that touches T shares loops with others, only copies T,
            assigns no element of the same type to each that it reads of T, or some of D is used
            before.

    Source: reuse of storage whose last use is an operand (register coalescing); derived here.
    """
    users = [n for n, s in enumerate(kernel.statements) if temporary in s.touched]
    if not users or kernel.buffer(temporary).role is not Role.TEMP:
        raise KernelError(f"{temporary!r} is no temporary that a statement reads")
    position = users[-1]
    last = find_alone(kernel, position)
    old, new = kernel.buffer(temporary), kernel.buffer(last.target.buffer)
    if last.update != "=" or any(k is not LoopKind.PARALLEL for k in loop_kinds(last).values()):
        raise KernelError(f"statement {position} does not assign one element each", loc=last.loc)
    if old.name == new.name or (old.dtype, old.shape) != (new.dtype, new.shape):
        raise KernelError(f"{new.name!r} has no elements like those of {old.name!r}", loc=last.loc)
    read = [access for access in accesses(last.value) if access.buffer == temporary]
    if any(access.indices != last.target.indices for access in read):
        raise KernelError(f"other elements of {temporary!r} are read", loc=last.loc)
    if isinstance(last.value, Access):
        raise KernelError(f"statement {position} copies {temporary!r}", loc=last.loc)
    if new.role is not Role.TEMP:
        target = replace(last.target, buffer=temporary)
        (copy,) = fresh_loops(kernel, (replace(last, value=target),), ())
        return replace_statement(kernel, position, (_changed(last, temporary, temporary), copy))
    if not covers(last, new) or any(new.name in s.touched for s in kernel.statements[:position]):
        raise KernelError(f"{new.name!r} holds something else as well", loc=last.loc)
    if any(access.buffer == new.name for access in accesses(last.value)):
        raise KernelError(f"{new.name!r} is read before it is written", loc=last.loc)
    before = (_renamed(s, temporary, new.name) for s in kernel.statements[:position])
    after = kernel.statements[position + 1 :]
    return rebuild(kernel, (*before, _changed(last, temporary, new.name), *after))


def _changed(statement: Statement, old: str, new: str) -> Statement:
    """It changes buffer `new` where it read `old`."""
    found = _renamed(replace(statement, target=replace(statement.target, buffer=new)), old, new)
    update, value = normalise_update(found.target, found.update, found.value)
    return replace(found, update=update, value=value)


def _renamed(statement: Statement, old: str, new: str) -> Statement:
    """With another buffer in the place of one."""

    def renamed(read: Access) -> Access:
        return replace(read, buffer=new) if read.buffer == old else read

    value = map_accesses(statement.value, renamed)
    return replace(statement, target=renamed(statement.target), value=value)


OVERWRITE = Rewrite(
    "overwrite",
    "T = a; D = f(T)  =  D = a; D = f(D)",
    False,
    partial(buffer_sites, overwrite),
)
