"""Keep a part of an operand on chip over time steps where all of it does not fit.

In: a plan in which tasks under a held loop fetch the same input in every iteration. Out: kernels
with such tasks cut in two along a loop of that input, as much as fits in the first part. Not its
job: the rewrite itself (`split_range`), scheduling the parts (`find_plan`).

Of the first part everything stays, the second one comes again in every iteration. How much is
tried from what fills the memory downwards: the second part needs room too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from isamap.costmodels import Stay, guards, is_renamed
from isamap.errors import KernelError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, Role, Statement, accesses, size_bytes
from isamap.mapper import OperandPlan, Task
from isamap.rewrites import Step, range_site, split_range

from .plan import Plan, PlannedTask

MIN_GAIN = 0.02
SHARES = (15, 14, 12, 10, 8, 4)  # of 16 parts of the memory, for what stays


@dataclass(frozen=True, slots=True)
class Part:
    """A plan's kernel in another form, and all rewrites that led to it. `least_cycles`: what a plan
    of it hardly goes below, if its tasks take their shares of what they take now."""

    kernel: Kernel
    steps: tuple[Step, ...]
    least_cycles: float = 0.0


def keep_parts(plan: Plan, hw: Hardware) -> Iterator[tuple[Part, ...]]:
    """Per task that fetches an input again and again, where that may pay: how to keep less and less
    of it."""
    for planned in plan.tasks:
        for operand, stay in _again(planned):
            if not _may_pay(planned, operand, stay, hw):
                continue
            cuts = _parts(plan.kernel, planned, operand, stay, hw)
            parts = tuple(replace(part, steps=(*plan.steps, *part.steps)) for part in cuts)
            if parts:
                yield parts


def _again(planned: PlannedTask) -> Iterator[tuple[OperandPlan, Stay]]:
    """Inputs that do not change over the innermost held loop, and are fetched again over it."""
    if planned.on_host or not planned.task.held:
        return
    loop = planned.task.held[-1]
    covering, tiling = planned.best.covering, planned.best.solution.tiling
    assert tiling is not None, "a schedule has a tiling"
    if planned.task.statement.extent(loop) == 1:
        return
    for operand in covering.operands:
        if operand.role is not Role.IN or loop in operand.loops or not operand.residences:
            continue
        last = len(operand.residences) - 1
        stay = next(s for s in tiling.stays if (s.operand, s.residence) == (operand.name, last))
        if loop not in guards(covering, tiling, stay).outer:
            yield operand, stay


def _may_pay(planned: PlannedTask, operand: OperandPlan, stay: Stay, hw: Hardware) -> bool:
    """Is the unit that fetches the input ahead of all others by `MIN_GAIN` of the task's cycles?

    Not into registers that the core renames: what runs between the steps takes them.
    """
    if is_renamed(operand, stay.residence, hw):
        return False
    best = planned.best
    flow = next(
        f for f in best.work.flows if (f.operand, f.residence) == (operand.name, stay.residence)
    )
    others = [cycles for unit, cycles in best.estimate.unit_cycles if unit != flow.unit]
    return max(others, default=0) <= (1 - MIN_GAIN) * best.estimate.cycles


def _parts(
    kernel: Kernel, planned: PlannedTask, operand: OperandPlan, stay: Stay, hw: Hardware
) -> Iterator[Part]:
    """The task cut along the operand's longest loop that moves the result too, largest first."""
    covering = planned.best.covering
    target = planned.task.statement.target
    loops = [
        covering.loop(name)
        for name in operand.loops
        if target.moves_with(name) and name not in planned.task.held
    ]
    if not loops:
        return
    loop = max(loops, key=lambda x: x.units)
    room = hw.memory(operand.residences[stay.residence].memory).size_bytes
    total = size_bytes(operand.dtype) * prod(
        covering.loop(name).kernel_extent for name in operand.loops
    )
    per_unit = -(-total // loop.units)
    counts = (room * share // 16 // per_unit * loop.block for share in SHARES)
    for count in dict.fromkeys(min(count, loop.kernel_extent - loop.block) for count in counts):
        if count > 0:
            part = _cut(kernel, planned.task, loop.name, count)
            if part is not None:
                yield part


def _cut(kernel: Kernel, task: Task, loop: str, count: int) -> Part | None:
    """All statements of the task cut alike, the last one first; None where one cannot be."""
    steps: list[Step] = []
    for part in sorted(task.parts or (task,), key=lambda part: -part.number):
        name = _loop_in(part.statement, task, loop)
        if name is None:
            return None
        try:
            cut = split_range(kernel, part.number, name, count)
        except KernelError:
            return None
        steps.append(Step("split_range", range_site(kernel, part.number, name, count)))
        kernel = cut
    return Part(kernel, tuple(steps))


def _loop_in(statement: Statement, task: Task, loop: str) -> str | None:
    """The loop of a statement that runs along the same dimension of the sum as `loop` does."""
    target = task.statement.target
    dim = next(d for d, index in enumerate(target.indices) if loop in index.names)
    for access in (statement.target, *accesses(statement.value)):
        if access.buffer == target.buffer and len(access.indices[dim].names) == 1:
            return access.indices[dim].names[0]
    return None
