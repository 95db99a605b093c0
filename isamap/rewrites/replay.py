"""The same rewrites again.

In: a kernel, steps. Out: the kernel that they lead to. Not its job: finding them (`search`).
"""

from collections.abc import Sequence

from isamap.ir import Kernel

from .table import REWRITES
from .variant import Step


def replay(kernel: Kernel, steps: Sequence[Step]) -> Kernel | None:
    """The kernel after the same rewrites at the same sites; None where one of them does not
    apply."""
    table = {rewrite.name: rewrite for rewrite in REWRITES}
    for step in steps:
        sites = dict(table[step.rewrite].sites(kernel)) if step.rewrite in table else {}
        if step.site not in sites:
            return None
        kernel = sites[step.site]
    return kernel
