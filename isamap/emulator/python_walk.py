"""Walk a bound program's calls one by one in Python.

In: a Bound program. Out: Steps: one per call with its numbers, checked as the compiled execution
checks them.
Not its job: what a call does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from isamap.errors import ProgramError
from isamap.program import For, Issue, Node, When, issues

from .bind import Bound, Call, allowed_intervals
from .c_text import Fault, alignment
from .faults import Report, fault_error
from .ranges import Interval


@dataclass(frozen=True, slots=True)
class Step:
    """One call: loop values, extents (repeats included), operand addresses, number of its core."""

    call: Call
    values: tuple[int, ...]
    extents: Mapping[str, int]
    addresses: tuple[int, ...]
    core: int


@dataclass(frozen=True, slots=True)
class _Rules:
    """What a call's numbers are held against: by operand what divides its address, by region the
    bytes it may touch."""

    alignments: tuple[int, ...]
    allowed: tuple[tuple[Interval, ...], ...]


@dataclass(frozen=True, slots=True)
class _Walk:
    """A walk over a program; what all of a call's steps share is looked up at the first."""

    bound: Bound
    rules: dict[int, _Rules] = field(default_factory=dict)

    def rules_of(self, call: Call) -> _Rules:
        """The call's rules."""
        if call.number not in self.rules:
            self.rules[call.number] = _Rules(
                tuple(alignment(self.bound, call, n) for n in range(len(call.issue.operands))),
                tuple(allowed_intervals(self.bound.allowed, call, r) for r in call.regions),
            )
        return self.rules[call.number]


def walk_steps(bound: Bound) -> Iterator[Step]:
    """Every call in program order; raises ProgramError at the first illegal one."""
    yield from _walk(_Walk(bound), bound.program.body, {}, {}, 0)


def _num_issues(body: tuple[Node, ...]) -> int:
    """How many Issues the text of `body` holds."""
    return sum(1 for _ in issues(body))


def _walk(
    walk: _Walk,
    body: tuple[Node, ...],
    values: dict[str, int],
    counts: dict[str, int],
    first: int,
) -> Iterator[Step]:
    number = first
    for node in body:
        match node:
            case Issue():
                yield _step(walk, walk.bound.calls[number], values)
                number += 1
            case When(conditions, inner):
                if all(edge.holds(values[loop], counts[loop]) for loop, edge in conditions):
                    yield from _walk(walk, inner, values, counts, number)
                number += _num_issues(inner)
            case For(loop, span, inner):
                count = span.value(values)
                if count < 1:
                    report = Report(
                        Fault.LOOP_COUNT, -1, len(values), count, 0, tuple(values.values())
                    )
                    raise fault_error(walk.bound, report)
                for value in range(count):
                    deeper = values | {loop: value}
                    yield from _walk(walk, inner, deeper, counts | {loop: count}, number)
                number += _num_issues(inner)


def step_error(
    bound: Bound,
    step: Step,
    fault: Fault,
    a: int = 0,
    b: int = 0,
    c: int = 0,
    other: str = "",
    cycles: tuple[int, int] = (0, 0),
) -> ProgramError:
    """The error of a fault at a step; `cycles`: d and e."""
    report = Report(fault, step.call.number, a, b, c, step.values, other, *cycles)
    return fault_error(bound, report)


def _step(walk: _Walk, call: Call, values: Mapping[str, int]) -> Step:
    bound, rules = walk.bound, walk.rules_of(call)
    extents = {name: span.value(values) for name, span in call.spans}
    addresses = tuple(operand.address.value(values) for operand in call.issue.operands)
    core = call.site.core.evaluate(values)
    step = Step(call, tuple(values.values()), extents, addresses, core)
    repeats = {rule.name: rule.maximum for rule in call.instruction.repeats}
    for position, (name, count) in enumerate(extents.items()):
        is_legal = (
            1 <= count <= repeats[name]
            if name in repeats
            else call.instruction.extent(name).allows(count)
        )
        if not is_legal:
            raise step_error(bound, step, Fault.SPAN, position, count)
    for number, operand in enumerate(call.issue.operands):
        for rotation in operand.address.rotations:
            counter = rotation.counter.evaluate(values)
            if counter < 0:
                raise step_error(bound, step, Fault.ROTATION, number, counter)
        if addresses[number] % rules.alignments[number]:
            raise step_error(bound, step, Fault.ALIGNMENT, number, addresses[number])
    for position, (region, allowed) in enumerate(zip(call.regions, rules.allowed)):
        hull = region.hull(extents)
        if hull is None:
            continue
        base = addresses[region.operand]
        first, end = base + hull[0], base + hull[1]
        if not any(low <= first and end <= high for low, high in allowed):
            raise step_error(bound, step, Fault.BOUNDS, position, first, end)
    return step
