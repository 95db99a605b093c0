"""The table of rewrites.

In: the rows of the other files. Out: `REWRITES`, those that change most first, as a bounded search
takes them in this order. Not its job: any rewrite.
"""

from .split import SPLIT
from .variant import Rewrite

REWRITES: tuple[Rewrite, ...] = (SPLIT,)
