"""The parameters of a program's C function: one pointer per buffer in the external memory.

In: a Program. Out: its parameters in order, and which of them an address belongs to.
Not its job: text of calls.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace

from isamap.errors import ProgramError
from isamap.ir import scalar_type
from isamap.program import For, Layout, Placement, Program, issues, surrounded_issues

from .reserved import declared

OPAQUE = {8: "uint8_t", 16: "uint16_t"}  # for types that C lacks


@dataclass(frozen=True, slots=True)
class Parameter:
    """A pointer to `layout.size_bytes` bytes that hold `buffer`; `address` is where a program's
    addresses place it. `is_scratch`: contents do not matter before or after. `is_cleared`:
    nobody fills it, and the function begins by filling it with zeros."""

    name: str
    buffer: str
    layout: Layout
    address: int
    is_read: bool
    is_written: bool
    is_scratch: bool = False
    is_cleared: bool = False

    @property
    def c_type(self) -> str:
        """Of an element, const if the function only reads."""
        written = self.is_written or self.is_scratch
        return (
            element_type(self.layout.dtype)
            if written
            else (f"const {element_type(self.layout.dtype)}")
        )


def element_type(dtype: str) -> str:
    """C type of an element; the bits alone for types that C lacks."""
    row = scalar_type(dtype)
    return row.c_name or OPAQUE[max(row.bits, 8)]


def parameters_of(program: Program, given: Collection[str] | None = None) -> tuple[Parameter, ...]:
    """Inputs, outputs and scratch buffers, in the program's order; an input and an output at one
    address are one parameter.

    `given`: buffers that the caller fills (None: all that the program reads); others are scratch.
    """
    found: dict[int, Parameter] = {}
    groups = ((program.inputs, "in"), (program.outputs, "out"), (program.scratch, "scratch"))
    taken: set[str] = set()
    own = _own_names(program)
    for placements, kind in groups:
        for placement in placements:
            known = found.get(placement.address)
            if known is not None and kind == "out":
                found[placement.address] = _written(known)
                continue
            name = _fresh(placement, kind, taken, own)
            taken.add(name)
            begins = kind == "in" and given is not None and placement.buffer not in given
            found[placement.address] = Parameter(
                name, placement.buffer, placement.layout, placement.address,
                kind == "in" and not begins, kind == "out", kind == "scratch" or begins, begins,
            )  # fmt: skip
    return tuple(found.values())


def parameter_at(parameters: tuple[Parameter, ...], address: int, what: str) -> Parameter:
    """The parameter that holds the byte at `address`.

    Raises:
        ProgramError: none does.
    """
    for parameter in parameters:
        if parameter.address <= address < parameter.address + parameter.layout.size_bytes:
            return parameter
    raise ProgramError(f"{what}: byte {address} of the external memory belongs to no buffer")


def _written(known: Parameter) -> Parameter:
    """What is brought in goes out as well: read, unless the function clears it first."""
    return replace(known, is_written=True, is_scratch=False)


def _own_names(program: Program) -> re.Pattern[str]:
    """What the function declares itself: its loops, registers and arrays of memories."""
    called = surrounded_issues(program.body)
    loops = {node.loop for _, around in called for node in around if isinstance(node, For)}
    memories = {operand.memory for issue in issues(program.body) for operand in issue.operands}
    names = [re.escape(name) for name in sorted(loops)]
    names += [rf"{re.escape(name)}([0-9]+.*|_.*)?" for name in sorted(memories)]
    return re.compile("|".join(names))


def _fresh(placement: Placement, kind: str, taken: set[str], own: re.Pattern[str]) -> str:
    name = declared(placement.buffer)
    if name in taken or own.fullmatch(name):
        name = f"{name}_{kind}"
    while name in taken:
        name += "_"
    return name
