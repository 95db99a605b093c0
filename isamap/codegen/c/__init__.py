"""C from Programs: one function per program, and the compiler that the machine names.

In: a Program, a Hardware. Out: source text; compiled files. Not its job: deciding anything, arrays.
"""

from .generate import CSource, generate_c
from .main import generate_main
from .parameters import Parameter
from .peak import can_measure, generate_peaks
from .timer import generate_timer
from .toolchain import (
    MUST_EXECUTE,
    Toolchain,
    find_toolchain,
    load_functions,
    missing_features,
)

__all__ = [
    "CSource",
    "MUST_EXECUTE",
    "Parameter",
    "Toolchain",
    "can_measure",
    "find_toolchain",
    "generate_c",
    "generate_main",
    "generate_peaks",
    "generate_timer",
    "load_functions",
    "missing_features",
]
