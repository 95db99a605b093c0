"""Text that compilers take: C from a Program.

In: a Program, a Hardware. Out: source text. Not its job: deciding anything (`scheduler`).
"""

from .c import (
    CSource,
    Parameter,
    Toolchain,
    find_toolchain,
    generate_c,
    generate_main,
    missing_features,
)

__all__ = [
    "CSource",
    "Parameter",
    "Toolchain",
    "find_toolchain",
    "generate_c",
    "generate_main",
    "missing_features",
]
