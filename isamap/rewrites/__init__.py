"""Rewrites: kernels equal to a given one, with another shape. One law, one file.

In: verified kernels. Out: the public names below; `REWRITES` is the table.
"""

from .factor import factor
from .fission import fission
from .fuse import fuse
from .im2col import im2col
from .inline import inline
from .interchange import interchange
from .join import join
from .outline import outline
from .pad_loops import pad_loops
from .search import Search, variants
from .split import split
from .swap import swap
from .table import REWRITES
from .transpose import transpose
from .variant import Rewrite, Step, Variant

__all__ = [
    "REWRITES",
    "Rewrite",
    "Search",
    "Step",
    "Variant",
    "factor",
    "fission",
    "fuse",
    "im2col",
    "inline",
    "interchange",
    "join",
    "outline",
    "pad_loops",
    "split",
    "swap",
    "transpose",
    "variants",
]
