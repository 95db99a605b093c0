"""Loops that do nothing but one instruction, to measure its pace.

In: instructions with C text whose operands are registers. Out: C text of functions that run each so
many times. Not its job: compiling, timing.
"""

from collections.abc import Sequence

from isamap.hwdesc import CompilerRule, Hardware, Instruction
from isamap.ir import Affine, Role
from isamap.program import Address, Issue, Operand, Span

from .calls import CallWriter

MAX_CHAINS = 12  # independent results: enough to hide any latency, few enough for 16 registers


def can_measure(instruction: Instruction, hw: Hardware) -> bool:
    """Has it C text, and are all its operands registers, with C types or named by number?"""
    return instruction.c_form is not None and all(
        hw.memory(rule.memory).is_named
        or instruction.semantics.buffer(rule.name).dtype in dict(hw.memory(rule.memory).c_types)
        for rule in instruction.operands
    )


def generate_peaks(
    instructions: Sequence[Instruction], hw: Hardware
) -> tuple[str, tuple[tuple[str, int], ...]]:
    """C of a function `void name(int64_t rounds)` for each instruction; their names, and how many
    calls a round of each makes.

    Registers begin as zeros; nothing is known of them to the compiler, and all are used afterwards.
    """
    rule = hw.compiler or CompilerRule()
    names = [f"isamap_peak_{number}" for number in range(len(instructions))]
    written = [_write(*pair, hw, rule) for pair in zip(names, instructions, strict=True)]
    body = [line for lines, _ in written for line in lines]
    lines = [f"#include <{header}>" for header in dict.fromkeys(("stdint.h", *rule.headers))]
    around = [part for part in (rule.begin, rule.end) if part]
    lines += [*rule.preamble_for("\n".join([*around, *body])), *body, ""]
    calls = (calls for _, calls in written)
    return "\n".join(lines), tuple(zip(names, calls, strict=True))


def _write(
    name: str, instruction: Instruction, hw: Hardware, rule: CompilerRule
) -> tuple[list[str], int]:
    """Lines of the instruction's function, and calls per round."""
    calls = CallWriter(hw, (), frozenset(m.name for m in hw.memories if m.c_types))
    used: dict[str, int] = {}  # memory -> registers of the operands that are only read
    places: dict[str, int] = {}
    for operand in instruction.operands:
        if instruction.semantics.buffer(operand.name).role is Role.IN:
            places[operand.name] = used.get(operand.memory, 0)
            used[operand.memory] = places[operand.name] + 1
    written = [operand for operand in instruction.operands if operand.name not in places]
    room = (_num_registers(hw, one.memory) - used.get(one.memory, 0) for one in written)
    chains = max(1, min(MAX_CHAINS, *room))
    body = []
    for chain in range(chains):
        first = {one.name: used.get(one.memory, 0) + chain for one in written}
        body += calls.write(_issue(instruction, hw, {**places, **first}))
    rule = rule.using({operand.memory for operand in instruction.operands})
    lines = [f"void {name}(int64_t rounds);", f"void {name}(int64_t rounds) {{"]
    names = [variable for group in calls.variables_by_type.values() for variable in group]
    for kind, group in calls.variables_by_type.items():
        outside = [f"{name}_" for name in group]  # these have addresses, which keeps them in memory
        lines.append(f"  {kind} {', '.join(outside)};")
        lines += [f"  __builtin_memset(&{name}, 0, sizeof {name});" for name in outside]
        lines += [f'  __asm__ volatile("" : "+m"({name}));' for name in outside]
        lines.append(f"  {kind} {', '.join(f'{name} = {name}_' for name in group)};")
    lines += [*rule.begin.splitlines()]
    lines += ["  for (int64_t round = 0; round < rounds; ++round) {"]
    lines += [*(f"    {line}" for line in body), "  }", *rule.end.splitlines()]
    lines += [f"  {name}_ = {name};" for name in names]
    lines += [f'  __asm__ volatile("" : : "m"({name}_));' for name in names]
    return [*lines, "}"], chains


def _num_registers(hw: Hardware, memory: str) -> int:
    return hw.memory(memory).size_bytes // hw.memory(memory).granule_bytes


def _issue(instruction: Instruction, hw: Hardware, registers: dict[str, int]) -> Issue:
    """A full call on these registers."""
    operands = tuple(
        Operand(
            rule.name,
            rule.memory,
            Address(Affine((), registers[rule.name] * hw.memory(rule.memory).granule_bytes)),
            tuple(stride.fixed_bytes or 0 for stride in rule.strides),
        )
        for rule in instruction.operands
    )
    extents = tuple((name, Span(rule.maximum)) for name, rule in instruction.extents)
    immediates = tuple((rule.name, rule.minimum) for rule in instruction.immediates)
    return Issue(instruction.name, operands, extents, (), immediates)
