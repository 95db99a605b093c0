"""The table of rewrites.

In: the rows of the other files. Out: `REWRITES`, those that change most first, as a bounded search
takes them in this order. Not its job: any rewrite.
"""

from .factor import FACTOR
from .fission import FISSION
from .fuse import FUSE
from .interchange import INTERCHANGE, REORDER
from .join import JOIN
from .split import SPLIT
from .variant import Rewrite

REWRITES: tuple[Rewrite, ...] = (FACTOR, FISSION, JOIN, FUSE, SPLIT, INTERCHANGE, REORDER)
