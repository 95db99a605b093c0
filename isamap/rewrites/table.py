"""The table of rewrites.

In: the rows of the other files. Out: `REWRITES`, those that change most first, as a bounded search
takes them in this order. Not its job: any rewrite.
"""

from .begin_from import BEGIN_FROM
from .block_diagonal import BLOCK_DIAGONAL
from .border import BORDER
from .carry import CARRY
from .clear import CLEAR
from .drop_padding import DROP_PADDING
from .expand import EXPAND
from .factor import FACTOR
from .fission import FISSION
from .fuse import FUSE
from .im2col import IM2COL
from .inline import INLINE
from .interchange import INTERCHANGE, REORDER
from .join import JOIN
from .neutral import NEUTRAL_OPERANDS
from .numbers import NUMBERS
from .outline import OUTLINE
from .overwrite import OVERWRITE
from .pad_loops import PAD_LOOPS
from .part_sums import PART_SUMS
from .prepare import PREPARE
from .reduce_as_gemm import REDUCE_AS_GEMM
from .scan_as_gemm import SCAN_AS_GEMM
from .single_operations import SINGLE_OPERATIONS
from .space_to_depth import SPACE_TO_DEPTH
from .split import SPLIT
from .split_floats import SPLIT_FLOATS
from .split_integers import SPLIT_INTEGERS
from .split_nest import SPLIT_NEST
from .split_range import SPLIT_RANGE
from .spread import SPREAD
from .strip_nest import STRIP_NEST
from .sum_apart import SUM_APART
from .swap import SWAP
from .toeplitz import TOEPLITZ
from .transpose import TRANSPOSE
from .turn import TURN
from .variant import Rewrite

REWRITES: tuple[Rewrite, ...] = (
    FACTOR,
    EXPAND,
    IM2COL,
    BLOCK_DIAGONAL,
    TOEPLITZ,
    SPACE_TO_DEPTH,
    REDUCE_AS_GEMM,
    SCAN_AS_GEMM,
    SPLIT_FLOATS,
    SPLIT_INTEGERS,
    INLINE,
    OUTLINE,
    PREPARE,
    SINGLE_OPERATIONS,
    NUMBERS,
    NEUTRAL_OPERANDS,
    PART_SUMS,
    SUM_APART,
    BEGIN_FROM,
    CLEAR,
    OVERWRITE,
    CARRY,
    BORDER,
    FISSION,
    JOIN,
    SWAP,
    FUSE,
    TRANSPOSE,
    TURN,
    PAD_LOOPS,
    SPREAD,
    SPLIT,
    SPLIT_RANGE,
    DROP_PADDING,
    SPLIT_NEST,
    STRIP_NEST,
    INTERCHANGE,
    REORDER,
)
