"""Try a rewrite.

In: an application of a rewrite. Out: its kernel, or nothing where it does not apply; or all its
applications to single statements, or buffers. Not its job: hiding errors from a user, who calls the
rewrite itself.
"""

from collections.abc import Callable, Iterator
from typing import ParamSpec

from isamap.errors import KernelError
from isamap.ir import Kernel

Arguments = ParamSpec("Arguments")


def attempt(
    rewrite: Callable[Arguments, Kernel], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Kernel | None:
    """`rewrite(...)`, or None where it raises KernelError."""
    try:
        return rewrite(*args, **kwargs)
    except KernelError:
        return None


def statement_sites(
    rewrite: Callable[[Kernel, int], Kernel], kernel: Kernel
) -> Iterator[tuple[str, Kernel]]:
    """Every statement that the rewrite applies to: its number and target, the new kernel."""
    for number, statement in enumerate(kernel.statements):
        result = attempt(rewrite, kernel, number)
        if result is not None:
            yield f"statement {number}: {statement.target.buffer}", result


def buffer_sites(
    rewrite: Callable[[Kernel, str], Kernel], kernel: Kernel
) -> Iterator[tuple[str, Kernel]]:
    """Every buffer that the rewrite applies to: its name, the new kernel."""
    for buffer in kernel.buffers:
        result = attempt(rewrite, kernel, buffer.name)
        if result is not None:
            yield buffer.name, result
