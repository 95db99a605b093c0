"""Two neighbouring loops become one that their statements share: the inverse of `fission`.

In: a verified kernel, two loops. Out: an equal kernel. Not its job: moving statements to become
neighbours.
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.ir import Kernel

from .edit import find_loop, rebuild, rename_loops
from .fission import may_cut, positions_under
from .variant import Rewrite


def join(kernel: Kernel, first: str, second: str) -> Kernel:
    """Run the statements under `second` in the iterations of `first`, after those under `first`.

    Args:
        kernel: any verified kernel.
        first, second: loops of one extent, `second` starting where `first` ends, under the same
            loops.

    Raises:
        KernelError: the loops are no such neighbours, or a dependence forbids it.

    Source: loop fusion (Allen and Kennedy, section 6.2.5); derived here.
    """
    one, two = find_loop(kernel, first), find_loop(kernel, second)
    if one.extent != two.extent:
        raise KernelError(f"loops {first!r} and {second!r} have extents {one.extent}, {two.extent}")
    before, after = positions_under(kernel, first), positions_under(kernel, second)
    around = kernel.statements[before[0]].loops
    around = around[: around.index(one)]
    if after[0] != before[-1] + 1 or kernel.statements[after[0]].loops[: len(around) + 1] != (
        *around,
        two,
    ):
        raise KernelError(f"loop {second!r} does not follow loop {first!r} under the same loops")
    statements = list(kernel.statements)
    for position in after:
        statements[position] = rename_loops(statements[position], {second: first})
    if not all(may_cut(kernel, statements[a], statements[b], first) for a in before for b in after):
        raise KernelError(
            f"loops {first!r} and {second!r} cannot be joined: an iteration of the second needs a "
            "later one of the first"
        )
    return rebuild(kernel, statements)


def join_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every pair of loops that may be joined."""
    for left, right in zip(kernel.statements, kernel.statements[1:], strict=False):
        for one, two in zip(left.loops, right.loops, strict=False):
            if one == two:
                continue
            try:
                joined = join(kernel, one.name, two.name)
            except KernelError:
                break
            yield f"{one.name} and {two.name}", joined
            break


JOIN = Rewrite("join", "(for i: s(i)); (for i: t(i)) = for i: s(i); t(i)", False, join_sites)
