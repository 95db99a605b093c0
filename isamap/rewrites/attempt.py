"""Try a rewrite.

In: an application of a rewrite. Out: its kernel, or nothing where it does not apply. Not its job:
hiding errors from a user, who calls the rewrite itself.
"""

from collections.abc import Callable
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
