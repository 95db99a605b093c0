"""A loop that does nothing but one instruction, to measure its pace.

In: an instruction with C text whose operands are registers. Out: C text of a function that runs it
so many times. Not its job: compiling, timing.
"""

from isamap.hwdesc import CompilerRule, Hardware, Instruction
from isamap.ir import Affine, Role
from isamap.program import Address, Issue, Operand, Span

from .calls import CallWriter

MAX_CHAINS = 12  # independent results: enough to hide any latency, few enough for 16 registers
NAME = "isamap_peak"


def can_measure(instruction: Instruction, hw: Hardware) -> bool:
    """Has it C text, and are all its operands registers, with C types or named by number?"""
    return instruction.c_form is not None and all(
        hw.memory(rule.memory).is_named
        or instruction.semantics.buffer(rule.name).dtype in dict(hw.memory(rule.memory).c_types)
        for rule in instruction.operands
    )


def generate_peak(instruction: Instruction, hw: Hardware) -> tuple[str, int]:
    """`void isamap_peak(int64_t rounds)` and how many calls a round makes.

    Registers begin as zeros; nothing is known of them to the compiler, and all are used afterwards.
    """
    calls = CallWriter(hw, (), frozenset(m.name for m in hw.memories if m.c_types))
    used: dict[str, int] = {}  # memory -> registers of the operands that are only read
    places: dict[str, int] = {}
    for rule in instruction.operands:
        if instruction.semantics.buffer(rule.name).role is Role.IN:
            places[rule.name] = used.get(rule.memory, 0)
            used[rule.memory] = places[rule.name] + 1
    written = [rule for rule in instruction.operands if rule.name not in places]
    room = (_num_registers(hw, rule.memory) - used.get(rule.memory, 0) for rule in written)
    chains = max(1, min(MAX_CHAINS, *room))
    body = []
    for chain in range(chains):
        first = {rule.name: used.get(rule.memory, 0) + chain for rule in written}
        body += calls.write(_issue(instruction, hw, {**places, **first}))
    rule_ = (hw.compiler or CompilerRule()).using({rule.memory for rule in instruction.operands})
    lines = [f"#include <{header}>" for header in dict.fromkeys(("stdint.h", *rule_.headers))]
    text = "\n".join([rule_.begin, *body, rule_.end])
    lines += [*rule_.preamble_for(text), f"void {NAME}(int64_t rounds);"]
    lines += [f"void {NAME}(int64_t rounds) {{"]
    names = [name for group in calls.variables_by_type.values() for name in group]
    for kind, group in calls.variables_by_type.items():
        outside = [f"{name}_" for name in group]  # these have addresses, which keeps them in memory
        lines.append(f"  {kind} {', '.join(outside)};")
        lines += [f"  __builtin_memset(&{name}, 0, sizeof {name});" for name in outside]
        lines += [f'  __asm__ volatile("" : "+m"({name}));' for name in outside]
        lines.append(f"  {kind} {', '.join(f'{name} = {name}_' for name in group)};")
    lines += [*rule_.begin.splitlines()]
    lines += ["  for (int64_t round = 0; round < rounds; ++round) {"]
    lines += [*(f"    {line}" for line in body), "  }", *rule_.end.splitlines()]
    lines += [f"  {name}_ = {name};" for name in names]
    lines += [f'  __asm__ volatile("" : : "m"({name}_));' for name in names]
    return "\n".join([*lines, "}", ""]), chains


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
