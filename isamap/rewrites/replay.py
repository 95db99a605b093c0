"""The same rewrites again.

In: a kernel, steps. Out: the kernel that they lead to. Not its job: finding them (`search`).
"""

from collections.abc import Sequence

from isamap.ir import Kernel

from .attempt import attempt
from .table import REWRITES
from .variant import Rewrite, Step


def replay(kernel: Kernel, steps: Sequence[Step]) -> Kernel | None:
    """The kernel after the same rewrites at the same sites; None where one of them does not
    apply."""
    table = {rewrite.name: rewrite for rewrite in REWRITES}
    for step in steps:
        found = _apply(table[step.rewrite], kernel, step.site) if step.rewrite in table else None
        if found is None:
            return None
        kernel = found
    return kernel


def _apply(rewrite: Rewrite, kernel: Kernel, site: str) -> Kernel | None:
    if rewrite.at is not None:
        return attempt(rewrite.at, kernel, site)
    return next((found for name, found in rewrite.sites(kernel) if name == site), None)
