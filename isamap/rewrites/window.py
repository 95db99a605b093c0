"""A sliding window in a statement: one operand read at `s*position + d*window`, one at `window`.

In: a statement and two of its loops. Out: the two accesses and the index they meet in, or
KernelError. Not its job: changing anything.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from isamap.errors import KernelError
from isamap.ir import (
    OPS,
    Access,
    Affine,
    Apply,
    Expr,
    Kernel,
    Statement,
    is_cast,
)

from .attempt import attempt
from .edit import find_alone

ZERO_KEEPING = ("neg", "relu", "abs")  # with casts, the operations of one operand with f(0) = 0


@dataclass(frozen=True, slots=True)
class Window:
    """`image` moves with position and window in its dimension `dim`; `filter` with window."""

    statement: Statement
    image: Access
    dim: int
    filter: Access

    @property
    def index(self) -> Affine:
        """The index of the image along which the window slides."""
        return self.image.indices[self.dim]


def find_window(kernel: Kernel, statement: int, position: str, window: str) -> Window:
    """The window of `statement` along `position`, with the taps in loop `window`.

    The statement is alone under its loops and sums a product into a target that moves with
    `position` and not with `window`; `window` moves exactly two operands; one of them, the image,
    has it in one index, which holds `position` and no other loop; a zero of the other, the filter,
    makes the product zero.

    Raises:
        KernelError: one of these fails.
    """
    found = find_sum(kernel, statement)
    for name in (position, window):
        if all(loop.name != name for loop in found.loops):
            raise KernelError(f"statement {statement} of {kernel.name!r} has no loop {name!r}")
    if not found.target.moves_with(position) or found.target.moves_with(window):
        raise KernelError(
            f"the target of statement {statement} must move with {position!r} and not with "
            f"{window!r}",
            loc=found.loc,
        )
    moving = tuple(dict.fromkeys(a for a in found.reads if a.moves_with(window)))
    images = [
        (access, dim)
        for access in moving
        for dim, index in enumerate(access.indices)
        if set(index.names) == {position, window}
    ]
    if len(moving) != 2 or len(images) != 1:
        raise KernelError(
            f"statement {statement} is no convolution along {position!r} by {window!r}: it must "
            f"move two operands, one of them by an index of {position!r} and {window!r}",
            loc=found.loc,
        )
    image, dim = images[0]
    if sum(1 for index in image.indices if index.coefficient(window)) > 1:
        raise KernelError(f"loop {window!r} moves {image.buffer!r} twice", loc=found.loc)
    taps = next(access for access in moving if access != image)
    if taps not in zero_factors(found.value):
        raise KernelError(f"{taps.buffer!r} is no factor of a product", loc=found.loc)
    return Window(found, image, dim, taps)


def find_sum(kernel: Kernel, statement: int) -> Statement:
    """The statement, alone under its loops and summing values that do not read its target."""
    found = find_alone(kernel, statement)
    if found.update != "+=":
        raise KernelError(
            f"statement {statement} of {kernel.name!r} updates by {found.update!r}, not by '+='",
            loc=found.loc,
        )
    if any(access.buffer == found.target.buffer for access in found.reads):
        raise KernelError(
            f"statement {statement} of {kernel.name!r} reads its own target", loc=found.loc
        )
    return found


def zero_factors(value: Expr) -> tuple[Access, ...]:
    """Accesses of `value` any of which, being zero, makes it zero (the other factors finite)."""
    match value:
        case Access():
            return (value,)
        case Apply("*", args):
            return tuple(access for arg in args for access in zero_factors(arg))
        case Apply(op, (arg,)) if op in OPS and (op in ZERO_KEEPING or is_cast(op)):
            return zero_factors(arg)
        case _:
            return ()


def window_candidates(kernel: Kernel) -> Iterator[tuple[int, str, str]]:
    """Statement, position and window of all indices of two loops of more than one iteration."""
    for number, statement in enumerate(kernel.statements):
        extents = statement.extents
        indices = (index for access in statement.reads for index in access.indices)
        for index in dict.fromkeys(indices):
            if len(index.names) == 2 and min(extents[name] for name in index.names) > 1:
                first, second = index.names
                yield number, first, second
                yield number, second, first


def window_sites(
    rewrite: Callable[[Kernel, int, str, str], Kernel], kernel: Kernel
) -> Iterator[tuple[str, Kernel]]:
    """Every window that the rewrite applies to."""
    for statement, position, window in window_candidates(kernel):
        result = attempt(rewrite, kernel, statement, position, window)
        if result is not None:
            yield f"statement {statement}: {window} along {position}", result
