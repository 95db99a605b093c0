"""Rewrites: kernels equal to a given one, with another shape. One law, one file.

In: verified kernels. Out: the public names below; `REWRITES` is the table.
"""

from .attempt import attempt
from .begin_from import begin_from
from .block_diagonal import block_diagonal
from .border import border
from .carry import carry, carry_site
from .clear import clear
from .drop_padding import drop_padding
from .edit import fresh_names, rename_loops, substitute_access
from .expand import expand
from .factor import factor
from .fission import fission
from .forms import FORMS
from .fuse import fuse
from .im2col import im2col
from .inline import inline
from .interchange import interchange
from .join import join
from .neutral import neutral, neutral_by
from .numbers import OPERATIONS, numbers, numbers_by
from .outline import outline, replace_part
from .overwrite import overwrite
from .pad_loops import pad_loops
from .part_sums import part_sums
from .prepare import prepare
from .reduce_as_gemm import reduce_as_gemm
from .replay import replay
from .scan_as_gemm import scan_as_gemm
from .search import Search, dtypes_of, has_floats, variants
from .single_operations import single_operations
from .space_to_depth import space_to_depth
from .split import split
from .split_floats import SPLIT_FLOATS, split_floats
from .split_integers import split_integers
from .split_nest import nest_site, split_nest
from .split_range import range_site, split_range
from .spread import spread, spread_by
from .strip_nest import strip_nest, strip_site
from .sum_apart import sum_apart
from .swap import swap
from .table import REWRITES
from .toeplitz import toeplitz
from .transpose import transpose
from .turn import turn, turn_site
from .variant import Rewrite, Step, Variant

__all__ = [
    "FORMS",
    "OPERATIONS",
    "REWRITES",
    "SPLIT_FLOATS",
    "Rewrite",
    "Search",
    "Step",
    "Variant",
    "attempt",
    "begin_from",
    "block_diagonal",
    "border",
    "carry",
    "carry_site",
    "clear",
    "drop_padding",
    "dtypes_of",
    "expand",
    "factor",
    "fission",
    "fresh_names",
    "fuse",
    "has_floats",
    "im2col",
    "inline",
    "interchange",
    "join",
    "neutral",
    "neutral_by",
    "numbers",
    "numbers_by",
    "nest_site",
    "outline",
    "overwrite",
    "pad_loops",
    "range_site",
    "part_sums",
    "prepare",
    "reduce_as_gemm",
    "rename_loops",
    "replace_part",
    "replay",
    "scan_as_gemm",
    "single_operations",
    "space_to_depth",
    "split",
    "spread",
    "spread_by",
    "substitute_access",
    "strip_nest",
    "strip_site",
    "sum_apart",
    "swap",
    "split_nest",
    "split_floats",
    "split_range",
    "split_integers",
    "toeplitz",
    "transpose",
    "turn",
    "turn_site",
    "variants",
]
