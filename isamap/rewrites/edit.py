"""Small changes that all rewrites are made of.

In: kernels, statements, expressions. Out: changed copies; `rebuild` verifies the whole.
Not its job: deciding whether a change keeps the meaning.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from isamap.errors import KernelError
from isamap.ir import (
    RESERVED,
    Access,
    Affine,
    Buffer,
    Expr,
    Kernel,
    Loop,
    Role,
    Statement,
    accesses,
    map_accesses,
    verify,
)


def rebuild(
    kernel: Kernel, statements: Iterable[Statement], temporaries: Iterable[Buffer] = ()
) -> Kernel:
    """`kernel` with these statements and more TEMP buffers, verified; TEMPs without use go.

    Raises KernelError when the result breaks a rule of the IR, as when a statement loses a loop
    that its neighbours on both sides share.
    """
    kept = tuple(statements)
    used = {name for statement in kept for name in statement.touched}
    buffers = tuple(
        buffer
        for buffer in (*kernel.buffers, *temporaries)
        if buffer.role is not Role.TEMP or buffer.name in used
    )
    result = replace(kernel, buffers=buffers, statements=kept)
    verify(result)
    return result


def fresh_names(kernel: Kernel, bases: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """One name per base that the kernel does not use yet and no other of them has.

    The base itself, or `<base>_2`, `<base>_3`, ..; `taken` are names to avoid as well.
    """
    used = {buffer.name for buffer in kernel.buffers} | set(kernel.immediates) | set(taken)
    used |= {loop.name for statement in kernel.statements for loop in statement.loops}
    names: list[str] = []
    for base in bases:
        name, count = base, 1
        while name in used or name in RESERVED:
            count += 1
            name = f"{base}_{count}"
        used.add(name)
        names.append(name)
    return names


def make_temporary(name: str, dtype: str, loops: Iterable[Loop]) -> tuple[Buffer, Access]:
    """A buffer with a dimension per loop, and its element where the loops are."""
    dims = tuple(loops)
    buffer = Buffer(name, dtype, tuple(loop.extent for loop in dims), Role.TEMP)
    return buffer, Access(name, tuple(Affine.var(loop.name) for loop in dims))


def substitute_access(access: Access, values: Mapping[str, Affine]) -> Access:
    """The access with loop names replaced by affine expressions."""
    return replace(access, indices=tuple(index.substitute(values) for index in access.indices))


def substitute_loops(
    statement: Statement, loops: tuple[Loop, ...], values: Mapping[str, Affine]
) -> Statement:
    """The statement under `loops`, its old loop names replaced by affine expressions."""
    return replace(
        statement,
        loops=loops,
        target=substitute_access(statement.target, values),
        value=map_accesses(statement.value, lambda access: substitute_access(access, values)),
    )


def rename_loops(statement: Statement, names: Mapping[str, str]) -> Statement:
    """The statement with loops renamed; names not in `names` stay."""
    loops = tuple(replace(loop, name=names.get(loop.name, loop.name)) for loop in statement.loops)
    return substitute_loops(statement, loops, {old: Affine.var(new) for old, new in names.items()})


def find_loop(kernel: Kernel, name: str) -> Loop:
    """The loop called `name`; KernelError when there is none."""
    for statement in kernel.statements:
        for loop in statement.loops:
            if loop.name == name:
                return loop
    raise KernelError(f"kernel {kernel.name!r} has no loop {name!r}")


def all_loops(kernel: Kernel) -> tuple[Loop, ...]:
    """Every loop once, in order of appearance."""
    return tuple(dict.fromkeys(loop for s in kernel.statements for loop in s.loops))


def shares_loops(kernel: Kernel, position: int) -> bool:
    """Does the statement at `position` share a loop with a neighbour?"""
    loops = kernel.statements[position].loops
    if not loops:
        return False
    neighbours = kernel.statements[max(position - 1, 0) : position + 2]
    return sum(1 for s in neighbours if s.loops[:1] == loops[:1]) > 1


def shared_depth(kernel: Kernel, position: int) -> int:
    """How many of its outermost loops the statement shares with a neighbour."""
    loops = kernel.statements[position].loops
    depth = 0
    for other in (position - 1, position + 1):
        if 0 <= other < len(kernel.statements):
            pairs = zip(loops, kernel.statements[other].loops, strict=False)
            common = 0
            for mine, theirs in pairs:
                if mine != theirs:
                    break
                common += 1
            depth = max(depth, common)
    return depth


def find_alone(kernel: Kernel, position: int) -> Statement:
    """The statement at `position`; KernelError when it is under a loop with others.

    A statement alone runs all its iterations at once, so it may be replaced by several in a row
    that hand over a temporary, which starts as zeros.
    """
    if not 0 <= position < len(kernel.statements):
        raise KernelError(f"kernel {kernel.name!r} has no statement {position}")
    if shares_loops(kernel, position):
        raise KernelError(
            f"statement {position} of {kernel.name!r} shares a loop with a neighbour",
            hint="split the shared loop first (fission)",
        )
    return kernel.statements[position]


def begins_at_zero(kernel: Kernel, position: int) -> bool:
    """Does nothing give the target a value before the statement at `position` runs?"""
    target = kernel.statements[position].target.buffer
    earlier = (statement.target.buffer for statement in kernel.statements[:position])
    return kernel.buffer(target).role is not Role.INOUT and target not in earlier


def replace_statement(
    kernel: Kernel,
    position: int,
    statements: Iterable[Statement],
    temporaries: Iterable[Buffer] = (),
) -> Kernel:
    """`kernel` with the statement at `position` replaced by others, rebuilt."""
    before, after = kernel.statements[:position], kernel.statements[position + 1 :]
    return rebuild(kernel, (*before, *statements, *after), temporaries)


def used_loops(expr: Expr) -> frozenset[str]:
    """Names of the loops that an expression depends on."""
    return frozenset(n for a in accesses(expr) for index in a.indices for n in index.names)


def pick_loops(loops: Iterable[Loop], names: Collection[str]) -> tuple[Loop, ...]:
    """The loops with these names, in order."""
    return tuple(loop for loop in loops if loop.name in names)
