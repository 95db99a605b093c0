"""A statement becomes two, each on a part of a loop's range.

In: a verified kernel, a statement, a loop of its own, a place to cut. Out: an equal kernel. Not its
job: where to cut (how much of an operand stays on chip), tiling (`split`).
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.ir import Affine, Kernel, Loop, LoopKind, is_float, loop_kinds

from .edit import fresh_names, rebuild, shared_depth, substitute_loops
from .variant import Rewrite


def split_range(kernel: Kernel, position: int, loop: str, count: int) -> Kernel:
    """Run the statement for the first `count` iterations of `loop`, then for the others.

    `for n in 10: s(n)` becomes `for n in 4: s(n); for m in 6: s(m + 4)`. Loops that neighbours
    share stay around both parts.

    Args:
        kernel: any verified kernel.
        position: of the statement.
        loop: one of its loops that no neighbour shares, and whose iterations may run in any order
            with those of the statement's other such loops.
        count: at least 1, less than the loop's extent.

    Raises:
        KernelError: no such loop or count, or a dependence orders its iterations.

    Source: index-set splitting (Wolfe, High Performance Compilers, section 9.2); derived here.
    """
    statement = kernel.statements[position]
    shared = shared_depth(kernel, position)
    own = statement.loops[shared:]
    old = next((x for x in own if x.name == loop), None)
    if old is None:
        raise KernelError(f"statement {position} has no loop {loop!r} of its own")
    if not 1 <= count < old.extent:
        raise KernelError(f"{count} is no place to cut the {old.extent} iterations of {loop!r}")
    fixed = [x.name for x in statement.loops[:shared]]
    names = [x.name for x in own]
    kinds = loop_kinds(statement, fixed)
    rounds = is_float(kernel.buffer(statement.target.buffer).dtype)
    may_reorder = kinds[loop] is LoopKind.PARALLEL or (
        kinds[loop] is LoopKind.REDUCTION and not rounds
    )
    if not may_reorder or LoopKind.SEQUENTIAL in kinds.values():
        raise KernelError(f"the iterations of {loop!r} depend on each other")
    loops = tuple(Loop(x.name, count) if x is old else x for x in statement.loops)
    first = substitute_loops(statement, loops, {})
    fresh = dict(zip(names, fresh_names(kernel, names), strict=True))
    rest = tuple(
        Loop(fresh[x.name], x.extent - count if x is old else x.extent) if x.name in fresh else x
        for x in statement.loops
    )
    values = {name: Affine.var(new) + (count if name == loop else 0) for name, new in fresh.items()}
    second = substitute_loops(statement, rest, values)
    before, after = kernel.statements[:position], kernel.statements[position + 1 :]
    return rebuild(kernel, (*before, first, second, *after))


def split_range_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every loop of a statement's own, cut anywhere."""
    for position, statement in enumerate(kernel.statements):
        for loop in statement.loops[shared_depth(kernel, position) :]:
            for count in range(1, loop.extent):
                try:
                    found = split_range(kernel, position, loop.name, count)
                except KernelError:
                    break
                yield range_site(kernel, position, loop.name, count), found


def range_site(kernel: Kernel, position: int, loop: str, count: int) -> str:
    """How the site of an application is called."""
    target = kernel.statements[position].target.buffer
    return f"{target} ({position}): {loop} < {count}"


SPLIT_RANGE = Rewrite(
    "split_range",
    "for n in N: s(n) = (for n in a: s(n)); (for n in N-a: s(n + a))",
    False,
    split_range_sites,
)
