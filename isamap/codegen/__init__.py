"""Programs as compilers and machines take them: C text, binaries.

In: a Program, a Hardware. Out: source text, bytes. Not its job: deciding anything (`scheduler`).
"""

from .bits import (
    Binary,
    CallKind,
    Calls,
    EncodedRun,
    Form,
    HostStep,
    TableRange,
    assemble,
    disassemble,
    list_binary,
    run_bytes,
    write_asm,
    write_binary,
    write_c,
)
from .c import (
    MUST_EXECUTE,
    CSource,
    Parameter,
    Toolchain,
    can_measure,
    find_toolchain,
    generate_c,
    generate_main,
    generate_peaks,
    generate_timer,
    load_functions,
    missing_features,
)
from .check_form import check_form

__all__ = [
    "Binary",
    "CSource",
    "CallKind",
    "Calls",
    "EncodedRun",
    "Form",
    "HostStep",
    "MUST_EXECUTE",
    "Parameter",
    "TableRange",
    "Toolchain",
    "assemble",
    "can_measure",
    "check_form",
    "disassemble",
    "find_toolchain",
    "generate_c",
    "generate_main",
    "generate_peaks",
    "generate_timer",
    "list_binary",
    "load_functions",
    "missing_features",
    "run_bytes",
    "write_asm",
    "write_binary",
    "write_c",
]
