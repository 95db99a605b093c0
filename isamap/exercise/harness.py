"""A program that fills a case's operands, makes the call, and brings all of them back.

In: a machine, an instruction, its cases. Out: a machine with instructions that copy anything
anywhere, and a program on it. Not its job: values, comparing.

Operands lie where the case says, in the machine's own memories; what fills and empties them
is an instruction that the machine does not have.
"""

from dataclasses import dataclass, replace

from isamap.hwdesc import (
    CForm,
    CopyForm,
    CTemplate,
    Expression,
    ExtentKind,
    ExtentRule,
    Hardware,
    Instruction,
    OperandHole,
    OperandRule,
    StrideRule,
    Unit,
)
from isamap.ir import Affine, parse_semantics, size_bytes
from isamap.program import (
    Address,
    Issue,
    Node,
    Operand,
    Placement,
    Program,
    Repeat,
    Span,
    natural_layout,
)

from .cases import Case, Place, span_bytes

Part = str | OperandHole | Expression

UNIT = "exercise"
LONGEST = 1 << 16  # of a copy along one dimension
PAGE = 4096


@dataclass(frozen=True, slots=True)
class Harness:
    """`before[n][name]`, `after[n][name]`: what the n-th case's operands are called in the
    program's inputs and outputs."""

    hardware: Hardware
    program: Program
    before: tuple[dict[str, str], ...]
    after: tuple[dict[str, str], ...]


def make_harness(hw: Hardware, instruction: Instruction, cases: tuple[Case, ...]) -> Harness:
    """One program for all cases, one after the other."""
    external = hw.external.name
    room = max((_end(p) for c in cases for p in c.places if p.memory == external), default=1)
    scratch = Placement("room", 0, natural_layout("i8", (room,)))
    running = -(-room // PAGE) * PAGE
    copies: dict[str, Instruction] = {}
    nodes: list[Node] = []
    inputs: list[Placement] = []
    outputs: list[Placement] = []
    before: list[dict[str, str]] = []
    after: list[dict[str, str]] = []
    for number, case in enumerate(cases):
        before.append({})
        after.append({})
        emptied: list[Node] = []
        for place in case.places:
            layout = natural_layout(place.dtype, place.shape)
            for names, row, suffix in ((before, inputs, ""), (after, outputs, "_after")):
                name = f"case{number}_{place.name}{suffix}"
                names[number][place.name] = name
                row.append(Placement(name, running, layout))
                copy = _copy(hw, place, is_filling=row is inputs)
                copies[copy.name] = copy
                call = _copy_call(copy, place, running, external, is_filling=row is inputs)
                (nodes if row is inputs else emptied).append(call)
                running = -(-(running + layout.size_bytes) // PAGE) * PAGE
        nodes += [_call(instruction, case), *emptied]
    # a copy stands for whatever else has put the operand there
    alone = replace(instruction, only_computed=False)
    machine = replace(
        hw,
        units=(*hw.units, Unit(UNIT)),
        instructions=(alone, *copies.values()),
        memories=tuple(
            replace(m, size_bytes=max(m.size_bytes, running)) if m.name == external else m
            for m in hw.memories
        ),
    )
    name = f"exercise_{instruction.name}"
    program = Program(name, hw.name, tuple(inputs), tuple(outputs), tuple(nodes), (scratch,))
    return Harness(machine, program, tuple(before), tuple(after))


def _end(place: Place) -> int:
    return place.address + span_bytes(place)


def _at(address: int) -> Address:
    return Address(Affine((), address))


def _copy(hw: Hardware, place: Place, *, is_filling: bool) -> Instruction:
    """An instruction that copies elements of a type between the external and another memory."""
    rank = max(len(place.shape), 1)
    loops = [f"d{n}" for n in range(rank)]
    shape = ", ".join([str(LONGEST)] * rank)
    index = ", ".join(loops)
    semantics = parse_semantics(
        f"S, D = In({place.dtype}, {shape}), Out({place.dtype}, {shape})\n"
        f"for {index} in grid({shape + ',' if rank == 1 else shape}):\n  D[{index}] = S[{index}]\n",
        "copy",
    )
    memories = (hw.external.name, place.memory) if is_filling else (place.memory, hw.external.name)
    way = "to" if is_filling else "from"
    form = hw.memory(place.memory).c_copy
    if form is None:
        name, text = (
            f"{way}_{place.memory}_{place.dtype}_{rank}",
            _copy_text(hw, memories, place.dtype, rank),
        )
    else:
        name = f"{way}_{place.memory}_{place.dtype}_{rank}_at{place.address}_{span_bytes(place)}"
        text = _register_text(hw, place, form, rank, is_filling=is_filling)
    one = Expression.parse("1", None, (), {})
    return Instruction(
        name,
        semantics,
        tuple((loop, ExtentRule(ExtentKind.AT_MOST, LONGEST)) for loop in loops),
        tuple(
            OperandRule(name, memory, (StrideRule(),) * rank, 1)
            for name, memory in zip("SD", memories, strict=True)
        ),
        UNIT,
        one,
        one,
        c_form=CForm(text),
    )


def _copy_text(hw: Hardware, memories: tuple[str, str], dtype: str, rank: int) -> CTemplate:
    """The copy in C, element by element; registers that are variables are taken by address."""
    ends: list[tuple[str, list[Part]]] = []
    for name, memory in zip("DS", memories[::-1], strict=True):
        is_variable = dtype in dict(hw.memory(memory).c_types)
        hole = OperandHole(name)
        ends.append((name, ["&", hole] if is_variable else ["(", hole, ")"]))
    return CTemplate(tuple(_loops(ends, dtype, rank)))


def _register_text(
    hw: Hardware, place: Place, form: CopyForm, rank: int, *, is_filling: bool
) -> CTemplate:
    """The copy in C by way of an array that holds the bytes of all registers of the place."""
    granule = hw.memory(place.memory).granule_bytes
    count = -(-span_bytes(place) // granule)
    inside, outside = ("D", "S") if is_filling else ("S", "D")
    ends: list[tuple[str, list[Part]]] = [
        (inside, ["room"]),
        (outside, ["(", OperandHole(outside), ")"]),
    ]
    parts: list[Part] = [f"{{\n  _Alignas(64) uint8_t room[{count * granule}];\n"]
    for register in range(count):
        parts += _moved(form.save, inside, place.address, register * granule)
    parts += ["  ", *_loops(ends if is_filling else ends[::-1], place.dtype, rank), "\n"]
    for register in range(count if is_filling else 0):
        parts += _moved(form.restore, inside, place.address, register * granule)
    return CTemplate((*parts, "}"))


def _moved(template: CTemplate, operand: str, address: int, offset: int) -> list[Part]:
    """The copy of the register `offset` bytes behind the operand's address."""
    parts: list[Part] = ["  "]
    for part in template.parts:
        match part:
            case OperandHole("bytes"):
                parts.append(f"(room + {offset})")
            case OperandHole(_):
                parts.append(OperandHole(operand))
            case Expression():
                parts.append(str(part.evaluate({"at": address + offset})))
            case str():
                parts.append(part)
    return [*parts, "\n"]


def _loops(ends: list[tuple[str, list[Part]]], dtype: str, rank: int) -> list[Part]:
    """Nested loops that copy an element; `ends`: name and address of the target, of the source."""

    def number(text: str) -> Expression:
        return Expression.parse(text, None, None, {})

    parts: list[Part] = []
    for n in range(rank):
        parts += [f"for (int64_t i{n} = 0; i{n} < ", number(f"d{n}"), f"; ++i{n}) "]
    parts.append("__builtin_memcpy(")
    for name, address in ends:
        parts += ["(uint8_t *)", *address]
        for n in range(rank):
            parts += [f" + i{n} * ", number(f"{name}_stride{n}")]
        parts.append(", ")
    return [*parts, f"{size_bytes(dtype)});"]


def _copy_call(
    copy: Instruction, place: Place, address: int, external: str, *, is_filling: bool
) -> Issue:
    shape = place.shape or (1,)
    dense: list[int] = []
    step = size_bytes(place.dtype)
    for size in reversed(shape):
        dense.insert(0, step)
        step *= size
    outside = (external, _at(address), tuple(dense))
    inside = (place.memory, _at(place.address), place.all_strides or (step,))
    ends = (outside, inside) if is_filling else (inside, outside)
    operands = tuple(Operand(n, *end) for n, end in zip("SD", ends, strict=True))
    extents = tuple((f"d{n}", Span(size)) for n, size in enumerate(shape))
    return Issue(copy.name, operands, extents)


def _call(instruction: Instruction, case: Case) -> Issue:
    """The call itself."""
    operands = tuple(Operand(p.name, p.memory, _at(p.address), p.strides) for p in case.places)
    extents = tuple((name, Span(extent)) for name, extent in case.extents)
    repeats = tuple(
        Repeat(name, Span(count), tuple(p.repeat_strides[n] for p in case.places))
        for n, (name, count) in enumerate(case.repeats)
    )
    return Issue(instruction.name, operands, extents, repeats, case.immediates)
