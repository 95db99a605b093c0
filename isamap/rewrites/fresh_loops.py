"""Statements under loops of their own.

In: statements that a rewrite brings along. Out: the same under fresh loop names, so that they share
no loop with each other or with the kernel. Not its job: names of buffers.
"""

from collections.abc import Iterable

from isamap.ir import Kernel, Statement

from .edit import fresh_names, rename_loops


def fresh_loops(
    kernel: Kernel, statements: Iterable[Statement], taken: Iterable[str]
) -> tuple[Statement, ...]:
    """The statements with all loops renamed; `taken` are names to avoid besides the kernel's."""
    used = list(taken)
    renamed: list[Statement] = []
    for statement in statements:
        old = [loop.name for loop in statement.loops]
        new = fresh_names(kernel, old, used)
        used += new
        renamed.append(rename_loops(statement, dict(zip(old, new, strict=True))))
    return tuple(renamed)
