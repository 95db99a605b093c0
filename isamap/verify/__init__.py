"""Does the program compute what the kernel says?"""

from .compare import Mismatch, compare
from .run_full import KernelFile, verify_full
from .run_quick import verify_quick
from .shrink import shrink, shrink_tiling
from .verification import Check, Reference, Verification

__all__ = [
    "Check",
    "KernelFile",
    "Mismatch",
    "Reference",
    "Verification",
    "compare",
    "shrink",
    "shrink_tiling",
    "verify_full",
    "verify_quick",
]
