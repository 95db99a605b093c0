"""Programs in the machines' own encodings.

In: a Program and its machine. Out: binaries, their listing. Not its job: deciding anything.
"""

from .assemble import Binary, EncodedRun, assemble, check_base, run_bytes, table_bytes
from .call import CallKind, Calls, Form, HostStep, TableRange
from .manifest import IMAGE, LISTING, MANIFEST, PROGRAM
from .read_binary import disassemble
from .write_asm import write_asm
from .write_binary import list_binary, write_binary
from .write_c import write_c

__all__ = [
    "Binary",
    "CallKind",
    "Calls",
    "EncodedRun",
    "Form",
    "HostStep",
    "IMAGE",
    "LISTING",
    "MANIFEST",
    "PROGRAM",
    "TableRange",
    "assemble",
    "check_base",
    "disassemble",
    "list_binary",
    "run_bytes",
    "table_bytes",
    "write_asm",
    "write_binary",
    "write_c",
]
