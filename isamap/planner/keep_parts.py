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
from isamap.hwdesc import Hardware, Synchronisation
from isamap.ir import Kernel, Role, Statement, accesses, size_bytes
from isamap.mapper import OperandPlan, Task, TiledLoop
from isamap.rewrites import Step, attempt, range_site, split_range, strip_nest, strip_site

from .plan import Plan, PlannedTask

MIN_GAIN = 0.02
SHARES = (15, 14, 12, 10, 8, 4)  # of 16 parts of the memory, for what stays
MAX_STRIPS = 3  # choices of how wide strips are
MAX_COUNT = 16  # strips
MAX_GRAINS = 64  # of a loop


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
            for cuts in (_parts, _strips):
                found = cuts(plan.kernel, planned, operand, stay, hw)
                parts = tuple(replace(part, steps=(*plan.steps, *part.steps)) for part in found)
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
    loop = _longest(planned, operand)
    if loop is None:
        return
    fitting = _fitting(planned, operand, stay, loop, hw)
    counts = (int(fitting * share / 16) * loop.block for share in SHARES)
    for count in dict.fromkeys(min(count, loop.kernel_extent - loop.block) for count in counts):
        if count > 0:
            part = _cut(kernel, planned.task, loop.name, count)
            if part is not None:
                yield part


def _strips(
    kernel: Kernel, planned: PlannedTask, operand: OperandPlan, stay: Stay, hw: Hardware
) -> Iterator[Part]:
    """The same along strips of that loop, of each of which a part stays, so that the rest comes
    while that computes: most kept first, then most strips. Not where tasks wait for each other's
    ends."""
    loop = _longest(planned, operand)
    if loop is None or hw.synchronisation is not Synchronisation.INTERLOCKED:
        return
    grain = _grain(planned, loop)
    share = _fitting(planned, operand, stay, loop, hw) / loop.units
    choices = []
    for count in range(2, MAX_COUNT + 1):
        width = loop.kernel_extent // (count * grain)
        kept = min(int(share * width), width - 1)
        if count * width * grain == loop.kernel_extent and kept > 0:
            choices.append((-kept / width, -count, width * grain, kept * grain))
    around, number = planned.task.held[-1], planned.task.number
    for _, _, size, kept in sorted(choices)[:MAX_STRIPS]:
        strips = attempt(strip_nest, kernel, around, number, loop.name, size)
        part = strips and _cut(strips, planned.task, loop.name, kept)
        if part:
            site = strip_site(kernel, around, number, loop.name, size)
            yield replace(part, steps=(Step("strip_nest", site), *part.steps))


def _grain(planned: PlannedTask, loop: TiledLoop) -> int:
    """Iterations of a loop that are worth being apart: the least block of a covering that divides
    it into not too many."""
    assert planned.answer is not None, "a task off the host has a schedule"
    coverings = (other.covering for other in planned.answer.alternatives)
    blocks = {x.block for covering in coverings for x in covering.loops if x.name == loop.name}
    fine = (b for b in sorted(blocks) if b * MAX_GRAINS >= loop.kernel_extent)
    return next((b for b in fine if loop.kernel_extent % b == 0), loop.block)


def _longest(planned: PlannedTask, operand: OperandPlan) -> TiledLoop | None:
    """The operand's longest loop that moves the result too."""
    target, held = planned.task.statement.target, planned.task.held
    names = (name for name in operand.loops if target.moves_with(name) and name not in held)
    loops = (planned.best.covering.loop(name) for name in names)
    return max(loops, key=lambda loop: loop.units, default=None)


def _fitting(
    planned: PlannedTask, operand: OperandPlan, stay: Stay, loop: TiledLoop, hw: Hardware
) -> float:
    """Units of the loop of which all of the operand fills the memory."""
    room = hw.memory(operand.residences[stay.residence].memory).size_bytes
    covering = planned.best.covering
    total = size_bytes(operand.dtype) * prod(
        covering.loop(name).kernel_extent for name in operand.loops
    )
    return room / -(-total // loop.units)


def _cut(kernel: Kernel, task: Task, loop: str, count: int) -> Part | None:
    """All statements of the task cut alike, the last one first; None where one cannot be."""
    steps: list[Step] = []
    for part in sorted(task.parts or (task,), key=lambda part: -part.number):
        name = _loop_in(kernel.statements[part.number], task, loop)
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
