"""Hardware as data: everything a YAML file says about a machine.

In: YAML files. Out: `Hardware`. Not its job: programs, costs of whole programs.
Reading files needs pydantic and PyYAML, which only `load_hardware`, `check_hardware` and
`hardware_schema` import; `immediate_value` needs NumPy. `Document`, `Problems`, `Reader`,
`read_document` and `validate_as` serve other files with positions too.
"""

from functools import partial
from typing import TYPE_CHECKING

from isamap.lazy import load_name

from .c_form import (
    AssemblyRule,
    CForm,
    CompilerRule,
    CopyForm,
    CTemplate,
    OperandHole,
    PrefetchForm,
)
from .determined import advanced, count_equations
from .encoding import (
    CHAIN_BEGINS,
    CHAIN_ENDS,
    BitField,
    Bits,
    Choice,
    Command,
    Encoding,
    Ending,
    Entries,
    Format,
    Obeyed,
    State,
    Table,
)
from .expression import Expression
from .hardware import (
    Channel,
    Cores,
    ExtentKind,
    ExtentRule,
    Hardware,
    HostRule,
    ImmediateRule,
    Instruction,
    OperandRule,
    RepeatRule,
    StrideRule,
    Synchronisation,
    Unit,
    is_same_work,
)
from .host import count_applied, host_instruction, run_cycles, with_host_calls
from .host_loops import SUMMED_AS, HostLoops, HostNode, Shared, Single, Way
from .linear import Linear
from .memory import Direction, LargePages, Memory, MemoryKind, Port
from .opening import continued_by, opened_by
from .quantities import Quantities
from .show_bytes import show_bytes
from .timing import Distance, Fifo, Stream, Which

if TYPE_CHECKING:
    from .document import Document, read_document
    from .immediate import immediate_value
    from .load import check_hardware, hardware_schema, load_hardware, variant_text
    from .problems import Problems
    from .reader import Reader
    from .settings import Setting
    from .validate import ANY, Models, validate_as

__all__ = [
    "ANY",
    "AssemblyRule",
    "BitField",
    "Bits",
    "CForm",
    "CHAIN_BEGINS",
    "CHAIN_ENDS",
    "CTemplate",
    "Channel",
    "Choice",
    "Command",
    "CompilerRule",
    "CopyForm",
    "Cores",
    "Direction",
    "Distance",
    "Document",
    "Encoding",
    "Ending",
    "Entries",
    "Expression",
    "ExtentKind",
    "ExtentRule",
    "Fifo",
    "Format",
    "Hardware",
    "HostLoops",
    "HostNode",
    "HostRule",
    "ImmediateRule",
    "Instruction",
    "LargePages",
    "Linear",
    "Memory",
    "MemoryKind",
    "Models",
    "Obeyed",
    "OperandHole",
    "OperandRule",
    "Port",
    "PrefetchForm",
    "Problems",
    "Quantities",
    "Reader",
    "RepeatRule",
    "SUMMED_AS",
    "Setting",
    "Shared",
    "Single",
    "State",
    "Stream",
    "StrideRule",
    "Synchronisation",
    "Table",
    "Unit",
    "Way",
    "Which",
    "advanced",
    "check_hardware",
    "continued_by",
    "count_applied",
    "count_equations",
    "hardware_schema",
    "host_instruction",
    "immediate_value",
    "is_same_work",
    "load_hardware",
    "opened_by",
    "read_document",
    "run_cycles",
    "show_bytes",
    "validate_as",
    "variant_text",
    "with_host_calls",
]
LAZY = {
    "ANY": ".validate",
    "Document": ".document",
    "Models": ".validate",
    "Problems": ".problems",
    "Reader": ".reader",
    "Setting": ".settings",
    "check_hardware": ".load",
    "hardware_schema": ".load",
    "immediate_value": ".immediate",
    "load_hardware": ".load",
    "read_document": ".document",
    "validate_as": ".validate",
    "variant_text": ".load",
}


__getattr__ = partial(load_name, __name__, LAZY)
