"""A program's calls one by one, with all their numbers.

In: a Program and its machine. Out: calls and host steps in program order. Not its job: what the
machine does with them, bits, tokens that cannot be written.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import numpy_dtype
from isamap.program import Address, For, Issue, Node, Program, Span, When

from .call import Call, CallKind, HostStep

Item = Call | HostStep


@dataclass(frozen=True, slots=True)
class _Plan:
    """What of an Issue never changes, what is computed per call, and when its calls start."""

    issue: Issue
    fixed: dict[str, int]
    addresses: tuple[tuple[str, Address], ...]
    spans: tuple[tuple[str, Span], ...]
    starts: Iterator[int]


def flatten(program: Program, hw: Hardware) -> Iterator[Item]:
    """Every call in program order."""
    host_calls = {call.name for call in program.host_calls}
    return _Walk(hw, host_calls).walk(program.body, {}, {})


class _Walk:
    """Walks nodes; remembers what is constant about each Issue."""

    def __init__(self, hw: Hardware, host_calls: set[str]) -> None:
        self.instructions = {item.name: item for item in hw.instructions}
        self.host_calls = host_calls
        self.plans: dict[int, _Plan] = {}

    def walk(
        self, body: tuple[Node, ...], values: dict[str, int], counts: dict[str, int]
    ) -> Iterator[Item]:
        """The calls of `body` under loops with the given values and trip counts."""
        for node in body:
            match node:
                case Issue():
                    yield self._call(node, values)
                case When(conditions, inner):
                    if all(edge.holds(values[n], counts[n]) for n, edge in conditions):
                        yield from self.walk(inner, values, counts)
                case For(loop, span, inner, spread):
                    if spread is not None:
                        raise ProgramError(
                            f"loop {loop} is spread over cores: such programs have no binary form",
                            hint="map onto one core of the machine",
                        )
                    count = span.value(values)
                    for value in range(count):
                        deeper = values | {loop: value}
                        yield from self.walk(inner, deeper, counts | {loop: count})

    def _call(self, issue: Issue, values: dict[str, int]) -> Item:
        if issue.instruction in self.host_calls:
            return _host_step(issue, values)
        plan = self.plans.get(id(issue))
        if plan is None:
            plan = _plan(issue, self.instructions[issue.instruction])
            self.plans[id(issue)] = plan
        start = next(plan.starts, None)
        found = dict(plan.fixed)
        for name, address in plan.addresses:
            found[name] = address.value(values)
        for name, span in plan.spans:
            found[name] = span.value(values)
        return Call(
            CallKind.INSTRUCTION, issue.instruction, found, issue.pops, issue.pushes, start=start
        )


def _plan(issue: Issue, instruction: Instruction) -> _Plan:
    fixed = dict(_immediates(issue, instruction))
    for operand in issue.operands:
        indices = instruction.access(operand.name).indices
        for index, stride in zip(indices, operand.strides_bytes, strict=True):
            for loop, coefficient in index.terms:
                name = f"{operand.name}.{loop}"
                fixed[name] = fixed.get(name, 0) + coefficient * stride
    for repeat in issue.repeats:
        for operand, stride in zip(issue.operands, repeat.strides_bytes, strict=True):
            fixed[f"{operand.name}.{repeat.name}"] = stride
    spans = [*issue.extents, *((repeat.name, repeat.span) for repeat in issue.repeats)]
    return _Plan(
        issue,
        fixed,
        tuple((operand.name, operand.address) for operand in issue.operands),
        tuple(spans),
        iter(tuple(r.first + r.step * n for r in issue.starts for n in range(r.count))),
    )


def _immediates(issue: Issue, instruction: Instruction) -> Iterator[tuple[str, int]]:
    for name, value in issue.immediates:
        dtype = instruction.immediate(name).dtype
        yield name, (int(value) if dtype is None else float_bits(value, dtype))


def float_bits(value: int | float, dtype: str) -> int:
    """The bits of a number in a float type, as an unsigned integer."""
    return int.from_bytes(numpy_dtype(dtype).type(value).tobytes(), "little")


def _host_step(issue: Issue, values: dict[str, int]) -> HostStep:
    operands = tuple(
        (operand.name, operand.address.value(values), operand.strides_bytes)
        for operand in issue.operands
    )
    return HostStep(issue.instruction, operands)
