"""Kernels at sizes, as written on the command line.

In: kernels, texts of sizes. Out: workloads. Not its job: one kernel's sizes (`read_shapes`).
"""

from collections.abc import Sequence

from isamap.compile import kernel_sizes
from isamap.errors import IsamapError, closest
from isamap.sweep import Workload

from .read_shapes import read_shapes


def read_workloads(
    kernels: Sequence[str], texts: tuple[str, ...], table: str | None
) -> list[Workload]:
    """Every kernel with every combination of those sizes that it has, the others as in its file.

    Raises:
        IsamapError: no such kernel, or a size that none of them has.
    """
    known = {kernel: kernel_sizes(kernel, None) for kernel in kernels}
    names = {name for sizes in known.values() for name in sizes}
    for text in texts:
        name = text.partition("=")[0]
        if name not in names:
            hint = closest(name, sorted(names)) or f"sizes are {', '.join(sorted(names))}"
            raise IsamapError(f"--size {text!r}: no kernel has a size {name!r}", hint=hint)
    return [
        Workload(kernel, tuple({**sizes, **shape}.items()))
        for kernel, sizes in known.items()
        for shape in read_shapes(_of(texts, sizes), table, sizes)
    ]


def _of(texts: tuple[str, ...], sizes: dict[str, int]) -> tuple[str, ...]:
    return tuple(text for text in texts if text.partition("=")[0] in sizes)
