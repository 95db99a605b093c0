"""Does the program compute what the kernel says?"""

from .compare import Mismatch, compare, float_tolerance
from .run_full import KernelFile, verify_full
from .run_plan import verify_plan
from .run_quick import verify_quick
from .sample import Sample, samples
from .shrink import Limits, shrink, shrink_tiling
from .tolerance import (
    Tolerance,
    form_tolerance,
    is_bounded,
    largest,
    plan_tolerance,
    scaled_arrays,
    telling_arrays,
    telling_inputs,
    tells,
)
from .verification import Check, Reference, Verification, no_meaning
from .whole_numbers import whole_arrays, whole_numbers

__all__ = [
    "Check",
    "KernelFile",
    "Limits",
    "Mismatch",
    "Reference",
    "Sample",
    "Tolerance",
    "Verification",
    "compare",
    "float_tolerance",
    "form_tolerance",
    "is_bounded",
    "largest",
    "no_meaning",
    "plan_tolerance",
    "samples",
    "scaled_arrays",
    "shrink",
    "shrink_tiling",
    "telling_arrays",
    "telling_inputs",
    "tells",
    "verify_full",
    "verify_plan",
    "verify_quick",
    "whole_arrays",
    "whole_numbers",
]
