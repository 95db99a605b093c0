"""The table of rewrites.

In: the rows of the other files. Out: `REWRITES`, those that change most first, as a bounded search
takes them in this order. Not its job: any rewrite.
"""

from .factor import FACTOR
from .fission import FISSION
from .fuse import FUSE
from .im2col import IM2COL
from .inline import INLINE
from .interchange import INTERCHANGE, REORDER
from .join import JOIN
from .outline import OUTLINE
from .pad_loops import PAD_LOOPS
from .split import SPLIT
from .swap import SWAP
from .transpose import TRANSPOSE
from .variant import Rewrite

REWRITES: tuple[Rewrite, ...] = (
    FACTOR,
    IM2COL,
    INLINE,
    OUTLINE,
    FISSION,
    JOIN,
    SWAP,
    FUSE,
    TRANSPOSE,
    PAD_LOOPS,
    SPLIT,
    INTERCHANGE,
    REORDER,
)
