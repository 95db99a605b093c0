"""Kernels as compiled functions: for this processor, and for others under an emulator.

In: a kernel, a machine with `emit: c`. Out: callables on NumPy arrays, checked runs. Not its job:
mapping, C text.
"""

from isamap.verify import whole_arrays

from .aligned import aligned_bytes
from .build import build
from .built import ArrayError, BuiltKernel, CFiles, PreparedKernel
from .execute import execute_c, execute_together
from .mapped import Mapped
from .run_on import RemoteRun, run_on
from .tune import Tuned, tune
from .verify_built import WrongError

__all__ = [
    "ArrayError",
    "BuiltKernel",
    "CFiles",
    "Mapped",
    "PreparedKernel",
    "RemoteRun",
    "aligned_bytes",
    "Tuned",
    "WrongError",
    "build",
    "execute_c",
    "execute_together",
    "run_on",
    "tune",
    "whole_arrays",
]
