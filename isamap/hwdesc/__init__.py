"""Hardware as data: everything a YAML file says about a machine.

In: YAML files. Out: `Hardware`. Not its job: programs, costs of whole programs.
Reading files needs pydantic, PyYAML and networkx, which only `load_hardware`, `check_hardware` and
`hardware_schema` import; `immediate_value` needs NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from .c_form import CForm, CTemplate, OperandHole
from .expression import Expression
from .hardware import (
    Channel,
    CompilerRule,
    Cores,
    Direction,
    ExtentKind,
    ExtentRule,
    Hardware,
    HostRule,
    ImmediateRule,
    Instruction,
    Memory,
    MemoryKind,
    OperandRule,
    Port,
    RepeatRule,
    StrideRule,
    Synchronisation,
    Unit,
)
from .host import host_instruction, run_cycles, with_host_calls

if TYPE_CHECKING:
    from .immediate import immediate_value
    from .load import check_hardware, hardware_schema, load_hardware

__all__ = [
    "CForm",
    "CTemplate",
    "Channel",
    "CompilerRule",
    "Cores",
    "Direction",
    "Expression",
    "ExtentKind",
    "ExtentRule",
    "Hardware",
    "HostRule",
    "ImmediateRule",
    "Instruction",
    "Memory",
    "MemoryKind",
    "OperandHole",
    "OperandRule",
    "Port",
    "RepeatRule",
    "StrideRule",
    "Synchronisation",
    "Unit",
    "check_hardware",
    "hardware_schema",
    "host_instruction",
    "immediate_value",
    "load_hardware",
    "run_cycles",
    "with_host_calls",
]
LAZY = {
    "check_hardware": ".load",
    "hardware_schema": ".load",
    "immediate_value": ".immediate",
    "load_hardware": ".load",
}


def __getattr__(name: str) -> object:
    if name in LAZY:
        return getattr(import_module(LAZY[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
