"""This processor: which machines it is, and which of them describes it best.

In: hardware descriptions. Out: measured peaks, a machine's file. Not its job: kernels, mapping,
timing programs.
"""

from .detect import Detection, Peak, detect
from .find_machine import NATIVE, find_machine, remember
from .fit import Fit, fit
from .this_processor import this_processor

__all__ = [
    "NATIVE",
    "Detection",
    "Fit",
    "Peak",
    "detect",
    "find_machine",
    "fit",
    "remember",
    "this_processor",
]
