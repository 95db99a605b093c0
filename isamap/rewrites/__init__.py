"""Rewrites: kernels equal to a given one, with another shape. One law, one file.

In: verified kernels. Out: the public names below; `REWRITES` is the table.
"""

from .factor import factor
from .fission import fission
from .fuse import fuse
from .interchange import interchange
from .join import join
from .split import split
from .table import REWRITES
from .variant import Rewrite, Step, Variant

__all__ = [
    "REWRITES",
    "Rewrite",
    "Step",
    "Variant",
    "factor",
    "fission",
    "fuse",
    "interchange",
    "join",
    "split",
]
