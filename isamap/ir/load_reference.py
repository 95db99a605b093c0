"""The NumPy reference that a kernel file may carry.

In: a kernel file's path, a kernel's name and sizes. Out: a function of the kernel's inputs, or
None. Not its job: calling it, comparing. This is the one place where a user's kernel file is
executed.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike

from isamap.errors import KernelError
from isamap.import_file import import_file

from .parse import load_kernels


def load_reference(
    path: str | PathLike[str], name: str, sizes: Mapping[str, int] | None = None
) -> Callable[..., Mapping[str, object]] | None:
    """The file's function `<name>_reference`, to be called with In and InOut arrays by keyword.

    It returns its outputs by name. Its parameters that are sizes of the kernel (`stride`, `pad`)
    are bound to `sizes`, or to the kernel's defaults.

    Raises:
        KernelError: the file cannot be imported.
    """
    try:
        module = import_file(path, "isamap_kernel_file")
    except Exception as error:  # whatever the user's file raises
        text = f"{path} cannot be imported: {type(error).__name__}: {error}"
        raise KernelError(text) from error
    found = getattr(module, f"{name}_reference", None)
    if not callable(found):
        return None
    known = {**dict(load_kernels(path)[name].sizes), **(sizes or {})}
    wanted = inspect.signature(found).parameters
    return partial(found, **{size: value for size, value in known.items() if size in wanted})
