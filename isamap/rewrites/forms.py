"""The rewrites worth trying when a kernel is mapped.

In: the table of rewrites. Out: those that change what instructions can compute. Not its job:
rewrites for what the mapper and the solver decide anyway (loop order, tiles, padding, distribution,
layouts).
"""

from .table import REWRITES
from .variant import Rewrite

NAMES = (
    "border",
    "factor",
    "expand",
    "reduce_as_gemm",
    "scan_as_gemm",
    "block_diagonal",
    "toeplitz",
    "space_to_depth",
    "split_floats",
    "split_integers",
    "im2col",
    "inline",
    "single_operations",
    "part_sums",
    "prepare",
    "sum_apart",
)
FORMS: tuple[Rewrite, ...] = tuple(row for name in NAMES for row in REWRITES if row.name == name)
