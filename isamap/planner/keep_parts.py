"""Keep a part of an operand on chip over time steps where all of it does not fit.

In: a plan in which tasks under a held loop fetch the same input in every iteration. Out: kernels
with such tasks cut in two along a loop of that input, as much as fits in the first part. Not its
job: the rewrite itself (`split_range`), scheduling the parts (`find_plan`).

Of the first part everything stays, the second one comes again in every iteration. How much is
tried from what fills the memory downwards: the second part needs room too. Where the machine waits
by itself, parts that stay and parts that come take turns in strips, those first of which an
estimate says that least time is lost.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from isamap.costmodels import Flow, Stay, guards, is_renamed
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, Role, Statement, size_bytes
from isamap.mapper import OperandPlan, Task, TiledLoop
from isamap.rewrites import Step, attempt, range_site, split_range, strip_nest, strip_site

from .plan import Plan, PlannedTask

MIN_GAIN = 0.02
SHARES = (15, 14, 12, 10, 8, 4)  # of 16 parts of the memory, for what stays
MAX_CHOICES = 4  # that are planned, of those of which an estimate says that they lose least
MAX_COUNT = 16  # strips
MAX_APART = 4  # iterations of another loop, each of which takes turns by itself
USABLE = 1 / 2  # of the room that is left, for what comes while kept parts compute
MAX_GRAINS = 64  # of a loop


@dataclass(frozen=True, slots=True)
class Part:
    """A plan's kernel in another form, and all rewrites that led to it. `least_cycles`: what a plan
    of it hardly goes below, if its tasks take their shares of what they take now."""

    kernel: Kernel
    steps: tuple[Step, ...]
    least_cycles: float = 0.0


@dataclass(frozen=True, slots=True)
class _Choice:
    """Of each `strip` iterations of a loop the first `kept` stay, in every iteration of the loops
    `apart` by itself. `turns`: how often what stays and what comes follow each other, per step."""

    strip: int
    kept: int
    turns: int = 1
    apart: tuple[TiledLoop, ...] = ()
    least_cycles: float = 0.0


def keep_parts(plan: Plan, hw: Hardware) -> Iterator[tuple[Part, ...]]:
    """Per task that fetches an input again and again, where that may pay: how to keep less and less
    of it."""
    for planned in plan.tasks:
        for operand, stay in _again(planned):
            loop = _longest(planned, operand)
            if loop is None or not _may_pay(planned, operand, stay, hw):
                continue
            room = _fitting(planned, operand, stay, loop, hw) / loop.units
            cut = partial(_cut, plan, planned.task, loop.name)
            whole = _whole(loop, room)
            if not hw.is_interlocked:
                yield tuple(filter(None, map(cut, whole)))
                continue
            rows = [*whole, *_strips(planned, operand, loop, room)]
            for choice in _best(rows, planned, operand, stay, room):
                yield tuple(filter(None, (cut(choice),)))


def _again(planned: PlannedTask) -> Iterator[tuple[OperandPlan, Stay]]:
    """Inputs that do not change over the innermost held loop, and are fetched again over it."""
    if planned.on_host or not planned.task.held:
        return
    loop = planned.task.held[-1]
    covering, tiling = planned.best.covering, planned.best.tiling
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
    best, busiest = planned.best, _flow(planned, operand, stay).unit
    others = [cycles for unit, cycles in best.estimate.unit_cycles if unit != busiest]
    return max(others, default=0) <= (1 - MIN_GAIN) * best.estimate.cycles


def _flow(planned: PlannedTask, operand: OperandPlan, stay: Stay) -> Flow:
    """What fetches the operand."""
    key = operand.name, stay.residence
    return next(f for f in planned.best.work.flows if (f.operand, f.residence) == key)


def _whole(loop: TiledLoop, room: float) -> list[_Choice]:
    """Without strips, largest part first. `room`: share of the input that the memory holds."""
    extent = loop.kernel_extent
    counts = (int(room * loop.units * share / 16) * loop.block for share in SHARES)
    fitting = dict.fromkeys(min(count, extent - loop.block) for count in counts)
    return [_Choice(extent, count) for count in fitting if count > 0]


def _strips(
    planned: PlannedTask, operand: OperandPlan, loop: TiledLoop, room: float
) -> Iterator[_Choice]:
    """Strips of the loop, of each of which a part stays, so that the rest comes while that
    computes; as finely also in every iteration of other loops by itself."""
    extent, grain = loop.kernel_extent, _grain(planned, loop)
    others = tuple(_apart(planned, operand, loop))
    times = prod(other.kernel_extent for other in others)
    for count in range(2, MAX_COUNT + 1):
        width = extent // (count * grain)
        kept = min(int(room * width), width - 1)
        if count * width * grain == extent and kept > 0:
            yield _Choice(width * grain, kept * grain, count)
            if others:
                yield _Choice(width * grain, kept * grain, count * times, others)


def _apart(planned: PlannedTask, operand: OperandPlan, loop: TiledLoop) -> Iterator[TiledLoop]:
    """Other loops of few iterations that move the operand and the result."""
    target, held = planned.task.statement.target, planned.task.held
    for name in operand.loops:
        other = planned.best.covering.loop(name)
        is_own = name != loop.name and name not in held and target.moves_with(name)
        if is_own and 1 < other.kernel_extent <= MAX_APART:
            yield other


def _best(
    choices: list[_Choice],
    planned: PlannedTask,
    operand: OperandPlan,
    stay: Stay,
    room: float,
) -> list[_Choice]:
    """Those that lose least time by an estimate, most kept first, then most turns; loops apart
    where that helps.

    What comes while a part that stays computes needs a place, or waits; and what comes in one turn
    uses the places of the turn before, so that less than a transfer takes begins late.
    """
    cycles, flow = dict(planned.best.estimate.unit_cycles), _flow(planned, operand, stay)
    fetching = cycles.pop(flow.unit)
    computing = max(cycles.values(), default=0)
    latency = flow.latency_cycles * prod(map(planned.task.statement.extent, planned.task.held))

    def lasting(kept: float, turns: int) -> float:
        ahead = USABLE * max(0.0, room - kept) * fetching
        coming = (1 - kept) * fetching
        full = turns * max(0.0, computing * kept / turns - ahead)
        late = turns * max(0.0, latency - coming / turns)
        return max(computing, coming + full + late)

    rows = []
    for choice in choices:
        kept = choice.kept / choice.strip
        least = lasting(kept, choice.turns)
        together = choice.turns // prod(other.kernel_extent for other in choice.apart)
        if not choice.apart or least < lasting(kept, together):
            rows.append(replace(choice, least_cycles=least))
    return sorted(rows, key=lambda c: (c.least_cycles, -c.kept / c.strip, -c.turns))[:MAX_CHOICES]


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
    residence = operand.residences[stay.residence]
    room = hw.memory(residence.memory).size_bytes
    covering = planned.best.covering
    total = size_bytes(residence.dtype) * prod(
        covering.loop(name).kernel_extent for name in operand.loops
    )
    return room / -(-total // loop.units)


def _cut(plan: Plan, task: Task, loop: str, choice: _Choice) -> Part | None:
    """All statements of the task in strips and cut alike; None where one cannot be."""
    kernel, steps = plan.kernel, list(plan.steps)
    around, numbers = task.held[-1], [part.number for part in task.parts or (task,)]
    if choice.turns > 1:
        strips = attempt(strip_nest, kernel, around, task.number, loop, choice.strip)
        if strips is None:
            return None
        site = strip_site(kernel, around, task.number, loop, choice.strip)
        steps.append(Step("strip_nest", site))
        kernel = strips
    singles = ((other.name, range(1, other.kernel_extent)) for other in choice.apart)
    for name, counts in (*singles, (loop, (choice.kept,))):
        for number in sorted(numbers, reverse=True):
            for count in reversed(counts):
                own = _loop_in(kernel.statements[number], task, name)
                cut = None if own is None else attempt(split_range, kernel, number, own, count)
                if own is None or cut is None:
                    return None
                steps.append(Step("split_range", range_site(kernel, number, own, count)))
                kernel = cut
        more = len(counts)
        numbers = [n + place * more + i for place, n in enumerate(numbers) for i in range(more + 1)]
    return Part(kernel, tuple(steps), choice.least_cycles)


def _loop_in(statement: Statement, task: Task, loop: str) -> str | None:
    """The loop of a statement that runs along the same dimension of the sum as `loop` does."""
    target = task.statement.target
    dim = next(d for d, index in enumerate(target.indices) if loop in index.names)
    for access in statement.accesses:
        if access.buffer == target.buffer and len(access.indices[dim].names) == 1:
            return access.indices[dim].names[0]
    return None
