"""Write single calls: the instruction's C text with its holes filled.

In: calls with resolved addresses and counts. Out: C statements; which variables and arrays they
use. Not its job: loops, the function around them.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from isamap.errors import ProgramError
from isamap.hwdesc import (
    CTemplate,
    Expression,
    ExtentKind,
    Hardware,
    Instruction,
    MemoryKind,
    OperandHole,
)
from isamap.ir import Affine
from isamap.program import Address, Issue, Operand

from .bases import Array, Group, group_places
from .host_loops import Place, write_host_call
from .nodes import CHint, CLoop
from .parameters import Parameter, element_type, parameter_at
from .text import divides, number_text, offset_text, span_text

MAX_STACK_BYTES = 64 * 1024  # larger memories become static


def c_identifier(name: str) -> str:
    """A C identifier like `name`."""
    text = re.sub(r"\W", "_", name)
    return f"_{text}" if text[:1].isdigit() else text


class CallWriter:
    """Writes calls and remembers what must be declared.

    `variables`: memories whose registers are variables. `host_calls`: instructions that the host
    runs; `may_reassociate`: it may sum floats in any order. `array_bytes`: used of memories.
    `kept`: memories of each core that keep what is in them between regions.
    """

    def __init__(
        self,
        hw: Hardware,
        parameters: tuple[Parameter, ...],
        variables: frozenset[str],
        host_calls: frozenset[str] = frozenset(),
        may_reassociate: bool = False,
        array_bytes: Mapping[str, int] = MappingProxyType({}),
        kept: frozenset[str] = frozenset(),
    ) -> None:
        self.hw = hw
        self.host_calls = host_calls
        self.may_reassociate = may_reassociate
        self.parameters = parameters
        self.variables = variables
        self.arrays: dict[str, None] = {}
        self.array_bytes = array_bytes
        self.kept = kept
        self.registers: dict[tuple[str, int, str], None] = {}  # memory, register, C type
        self.regions: list[CallWriter] = []  # of what all cores run
        self.bases: dict[Group, tuple[str, int]] = {}  # pointers to a group's first place
        self.num_bases = 0

    def region(self) -> "CallWriter":
        """A writer for a region, whose registers and arrays each core has for itself."""
        own = (self.hw, self.parameters, self.variables, self.host_calls, self.may_reassociate)
        self.regions.append(CallWriter(*own, self.array_bytes, self.kept))
        return self.regions[-1]

    def is_static(self, memory: str) -> bool:
        """Is the array too large for a stack, or kept?"""
        return memory in self.kept or self.hw.memory(memory).size_bytes > MAX_STACK_BYTES

    def static_bytes(self, memory: str) -> int:
        """Of an array of a thread: of all cores where it is kept, as threads may be fewer."""
        return self.array_bytes[memory] * (self.hw.num_cores if memory in self.kept else 1)

    @property
    def all_arrays(self) -> tuple[str, ...]:
        """Memories that are arrays somewhere."""
        inside = (name for region in self.regions for name in region.all_arrays)
        return tuple(dict.fromkeys((*self.arrays, *inside)))

    @property
    def variables_by_type(self) -> dict[str, list[str]]:
        """Names of the variables used, per C type, in order of first use."""
        found: dict[str, list[str]] = {}
        for key in sorted(self.registers):
            found.setdefault(key[2], []).append(self._variable(*key))
        return found

    @contextmanager
    def inside(self, loop: CLoop) -> Iterator[list[str]]:
        """While the loop's body is written: lines that it begins with, pointers that the compiler
        takes to be new in each iteration, which keeps it from computing places before the loop."""
        around, self.bases = self.bases, {}
        lines = []
        for group, least in group_places(loop, self._find).items():
            name = f"{group.array.name}_at{self.num_bases}"
            self.num_bases += 1
            c_type = "const uint8_t" if group.array.is_const else "uint8_t"
            first = _sum(f"({c_type} *){group.array.name}", group.address(least))
            lines.append(f'{c_type} *{name} = {first}; __asm__("" : "+r"({name}));')
            self.bases[group] = name, least
        yield lines
        self.bases = around

    def write(self, issue: Issue) -> list[str]:
        """The lines of one call."""
        instruction = self.hw.instruction(issue.instruction)
        if instruction.is_sync:
            return []  # calls run in program order
        if issue.instruction in self.host_calls:
            places = {o.name: self._place(instruction, o) for o in issue.operands}
            assert self.hw.host is not None, "the host's calls run on a host"
            return write_host_call(
                instruction.semantics, places, self.hw.host, self.may_reassociate
            )
        template = self._template(instruction, issue)
        numbers = self._numbers(instruction, issue)
        text = ""
        for part, following in zip(template.parts, (*template.parts[1:], "")):
            match part:
                case str():
                    text += part
                case OperandHole(name):
                    operand = next(o for o in issue.operands if o.name == name)
                    is_indexed = isinstance(following, str) and following.startswith(("[", "-"))
                    written = self._operand(instruction, operand)
                    text += f"({written})" if is_indexed else written
                case Expression():
                    text += _fill(part, numbers)
        return text.strip().splitlines()

    def hint(self, hint: CHint) -> list[str]:
        """The lines that ask caches for what is read soon, which may lie behind the array."""
        found = self._find(hint.operand)
        assert found is not None, "registers are not asked for"
        name, place = self._from_base(*found)
        ahead = Address(place.offset + hint.ahead_bytes, place.rotations)
        start = f"(uintptr_t){name}"
        if hint.behind is not None:
            more = hint.behind
            start += f" + ({more.name} < {more.first} ? 0 : {more.more_bytes})"
        text = f"(const void *)({_sum(start, ahead)})"
        forms = (memory.prefetch for memory in self.hw.caches if memory.prefetch is not None)
        form = next(forms)
        asked = form.walk if hint.is_along and form.walk else form.c
        lines = "".join(part if isinstance(part, str) else text for part in asked.parts)
        return lines.strip().splitlines()

    def _find(self, operand: Operand) -> tuple[Array, Address] | None:
        """The array that an operand lies in, and where; None for registers."""
        if operand.memory != self.hw.external.name:
            memory = self.hw.memory(operand.memory)
            is_array = not memory.c_types and not memory.is_named
            return (Array(operand.memory, False), operand.address) if is_array else None
        start = operand.address.offset.constant
        parameter = parameter_at(self.parameters, start, f"operand {operand.name}")
        inside = Address(
            operand.address.offset + Affine((), -parameter.address), operand.address.rotations
        )
        is_const = not (parameter.is_written or parameter.is_scratch)
        return Array(parameter.name, is_const), inside

    def _from_base(self, array: Array, inside: Address) -> tuple[str, Address]:
        """A pointer and the distance from it."""
        base = self.bases.get(Group.of(array, inside))
        if base is None:
            return array.name, inside
        return base[0], Address(Affine((), inside.offset.constant - base[1]))

    def _template(self, instruction: Instruction, issue: Issue) -> CTemplate:
        form = instruction.c_form
        if form is None:
            raise ProgramError(
                f"instruction '{instruction.name}' of {self.hw.name} has no C text",
                hint=f"add 'emit: {{c: ..}}' to it in {self.hw.file or 'the hardware file'}",
            )
        spans = dict(issue.extents)
        is_full = all(
            spans[loop].total is None and spans[loop].limit == rule.maximum
            for loop, rule in instruction.extents
            if rule.kind is not ExtentKind.EXACTLY
        )
        return form.full if is_full or form.partial is None else form.partial

    def _numbers(self, instruction: Instruction, issue: Issue) -> dict[str, str]:
        """C text of everything that an expression may name."""
        numbers = {
            loop: str(span.limit) if span.total is None else span_text(span)
            for loop, span in issue.extents
        }
        for name, value in issue.immediates:
            numbers[name] = number_text(value, instruction.immediate(name).dtype)
        for operand in issue.operands:
            numbers[f"{operand.name}_at"] = offset_text(operand.address, 1) or "0"
            for dim, stride in enumerate(operand.strides_bytes):
                numbers[f"{operand.name}_stride{dim}"] = str(stride)
        return numbers

    def _operand(self, instruction: Instruction, operand: Operand) -> str:
        """A variable, a place in an array of registers, or a pointer to the first element."""
        memory = self.hw.memory(operand.memory)
        dtype = instruction.semantics.buffer(operand.name).dtype
        c_type = dict(memory.c_types).get(dtype)
        if memory.kind is MemoryKind.EXTERNAL:
            return self._pointer(instruction, operand, dtype)
        if c_type is None:
            self.arrays[memory.name] = None
            start = self._from_base(Array(memory.name, False), operand.address)
            return f"({element_type(dtype)} *)({_sum(*start)})"
        if memory.name not in self.variables:
            self.arrays[memory.name] = None
            return f"(*({c_type} *)({_sum(memory.name, operand.address)}))"
        key = (memory.name, operand.address.offset.constant // memory.granule_bytes, c_type)
        self.registers[key] = None
        return self._variable(*key)

    def _variable(self, memory: str, register: int, c_type: str) -> str:
        types = dict.fromkeys(kind for _, kind in self.hw.memory(memory).c_types)
        number = list(types).index(c_type)
        return f"{c_identifier(memory)}{register}" + (f"_{'abcdefgh'[number]}" if number else "")

    def _place(self, instruction: Instruction, operand: Operand) -> Place:
        dtype = instruction.semantics.buffer(operand.name).dtype
        parameter = parameter_at(self.parameters, operand.address.offset.constant, instruction.name)
        return Place(operand, self._pointer(instruction, operand, dtype), parameter.name)

    def _pointer(self, instruction: Instruction, operand: Operand, dtype: str) -> str:
        start = operand.address.offset.constant
        what = f"{instruction.name}, operand {operand.name}"
        parameter = parameter_at(self.parameters, start, what)
        found = self._find(operand)
        assert found is not None, "parameters are arrays"
        array, inside = found
        if array.is_const and _writes(instruction, operand.name):
            raise ProgramError(f"{what}: writes into {parameter.buffer}, which is an input")
        own = element_type(dtype)
        size = _element_bytes(own)
        const = "const " if array.is_const else ""
        name, place = self._from_base(array, inside)
        if name != array.name:
            return f"({const}{own} *)({_sum(name, place)})"
        if own == element_type(parameter.layout.dtype) and divides(inside, size):
            offset = offset_text(inside, size)
            return f"&{parameter.name}[{offset}]" if offset else parameter.name
        return f"({const}{own} *)({_sum(f'({const}uint8_t *){parameter.name}', inside)})"


def _writes(instruction: Instruction, operand: str) -> bool:
    return any(s.target.buffer == operand for s in instruction.semantics.statements)


def _sum(base: str, address: Address) -> str:
    offset = offset_text(address, 1)
    return f"{base} + {offset}" if offset else base


def _element_bytes(c_type: str) -> int:
    return {"_Float16": 2, "float": 4, "double": 8}.get(c_type) or int(
        re.sub(r"\D", "", c_type)
    ) // 8


def _fill(expression: Expression, numbers: dict[str, str]) -> str:
    """The value if all names are numbers, else a C expression in brackets."""
    texts = {name: numbers[name] for name in expression.names}
    if str(expression) in texts and not texts[str(expression)].lstrip("-").isdigit():
        return f"({texts[str(expression)]})"
    if all(text.lstrip("-").isdigit() for text in texts.values()):
        return str(expression.evaluate({name: int(text) for name, text in texts.items()}))
    return f"({expression.to_c({name: f'({text})' for name, text in texts.items()})})"
