"""Does the program compute what the kernel says?"""

from .compare import Mismatch, compare, float_tolerance
from .run_full import KernelFile, verify_full
from .run_plan import verify_plan
from .run_quick import verify_quick
from .shrink import Limits, shrink, shrink_tiling
from .tolerance import (
    Tolerance,
    is_bounded,
    largest,
    plan_tolerance,
    telling_arrays,
    telling_inputs,
)
from .verification import Check, Reference, Verification

__all__ = [
    "Check",
    "KernelFile",
    "Limits",
    "Mismatch",
    "Reference",
    "Tolerance",
    "Verification",
    "compare",
    "float_tolerance",
    "is_bounded",
    "largest",
    "plan_tolerance",
    "shrink",
    "shrink_tiling",
    "telling_arrays",
    "telling_inputs",
    "verify_full",
    "verify_plan",
    "verify_quick",
]
