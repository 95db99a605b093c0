"""Schedule a kernel of several statements: task by task, each on the unit that does it best.

In: a kernel, a machine, limits. Out: a plan: how every task runs, the program, a bound. Not its
job: what a single covering's best tiling is (`find_schedule`), emitting nodes (`compose`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import inf, prod

from isamap.errors import LateError, MappingError, TooSlowError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import Task, TaskLoop, TaskNode, cut_tasks, flatten, join_tasks, keeps_order
from isamap.scheduler import Answer, Status, Wishes, too_large

from .bound_plan import bound_plan
from .carry_states import carry_states
from .clear_on_chip import clear_on_chip
from .contract_scratch import contract_scratch
from .host_calls import may_run_on_host
from .inline_on_host import inline_on_host
from .keep_on_chip import Kept, keep_on_chip
from .keep_parts import Part, keep_parts
from .mark_late import mark_late
from .may_leave_host import may_leave_host, might_compute
from .overlap_host import overlap_host
from .overwrite_on_chip import overwrite_on_chip
from .place_tasks import TaskTree, try_all_places, with_joined_calls
from .plan import Plan, PlannedTask, host_task_cycles
from .rejoin import replace_joined
from .schedule_tasks import Known, TaskScheduler, alike, around_of
from .turn_handed_on import turn_handed_on

NOT_KEPT = "what may stay on chip over time steps was not all tried"
NOT_OVERLAPPED = "that host and accelerator work at once was not all tried"
Forms = Callable[[Plan, Hardware], Iterator[tuple[Part, ...]]]
FORMS: tuple[Forms, ...] = (
    inline_on_host,
    turn_handed_on,
    carry_states,
    clear_on_chip,
    overwrite_on_chip,
    keep_parts,
)
MIN_GAIN = 0.02  # of the cycles, for cutting tasks into more parts


def find_plan(kernel: Kernel, hw: Hardware, wishes: Wishes) -> Plan:
    """The plan of a kernel (`plan_form`), cut into parts where host and accelerator then work side
    by side.

    Raises:
        MappingError: a statement that no instruction computes, on a machine without a host.
    """
    known = Known()
    plan = plan_form(kernel, hw, wishes, known)
    left = max(0.0, wishes.time_limit_s - plan.seconds)
    return overlapped(plan, hw, replace(wishes, time_limit_s=left), known)


def plan_form(kernel: Kernel, hw: Hardware, wishes: Wishes, known: Known | None = None) -> Plan:
    """Cut the kernel into tasks, schedule each, and put them together.

    A task goes to the host when no instruction computes it or the host is faster, with what must be
    laid out anew counted.

    Args:
        wishes: the time limit is shared out among tasks; once it is over, or the watch says stop,
            what is left to schedule gets a quick schedule, and nothing is joined any more.
        known: what was found for tasks of other kernels on the same machine, by the same wishes;
            grows.

    Raises:
        MappingError: a statement that no instruction computes, on a machine without a host.
    """
    known = Known() if known is None else known
    return plan_near(plan_whole(kernel, hw, wishes, known), hw, wishes, known)


def plan_near(
    plain: Plan, hw: Hardware, wishes: Wishes, known: Known, near: tuple[Forms, ...] = FORMS
) -> Plan:
    """The best of a kernel's plan and those of the same work in other hands."""
    begin = wishes.clock.now() - plain.seconds
    best = plain
    for forms in near:
        # what was inlined on the host is in no temporary that might be overwritten on chip
        before = [best, plain] if forms is overwrite_on_chip and best is not plain else [best]
        for parts in (parts for plan in before for parts in forms(plan, hw)):
            best = _try_parts(best, parts, hw, wishes, known, begin)
    return replace(best, seconds=wishes.clock.now() - begin)


def _try_parts(
    best: Plan, parts: tuple[Part, ...], hw: Hardware, wishes: Wishes, known: Known, begin: float
) -> Plan:
    """The best of a plan and of those of these kernels, as far as the wishes' time goes, `begin`
    being when it began."""
    before = best
    for found in _plans(best, parts, hw, wishes, known, begin):
        if found is None:
            return replace(best, cut=all_cuts(best.cut, NOT_KEPT))
        if wishes.aim.rank(found.costs) < wishes.aim.rank(best.costs):
            best = found
        elif best is not before:
            break  # less and less stays
    return best


def overlapped(best: Plan, hw: Hardware, wishes: Wishes, known: Known) -> Plan:
    """The plan in as many parts as let host and accelerator work side by side for a gain."""
    begin, before = wishes.clock.now(), best
    parts = overlap_host(before, hw) if wishes.aim.is_fastest else ()
    for found in _plans(before, parts, hw, wishes, known, begin):
        if found is None:
            best = replace(best, cut=all_cuts(best.cut, NOT_OVERLAPPED))
        elif found.cycles <= min(best.cycles, (1 - MIN_GAIN) * before.cycles):
            best = replace(found, cut=all_cuts(before.cut, found.cut))
    return replace(best, seconds=before.seconds + wishes.clock.now() - begin)


def _plans(
    best: Plan, parts: Iterable[Part], hw: Hardware, wishes: Wishes, known: Known, begin: float
) -> Iterator[Plan | None]:
    """The plan of each kernel that has one, if that may be better than the best one and those
    before; None, and no more, once the wishes' time is over."""
    most = best.cycles if wishes.aim.is_fastest else inf
    for part in parts:
        if part.least_cycles >= most:
            continue
        left = wishes.time_limit_s - (wishes.clock.now() - begin)
        if left <= 0 or wishes.watch.is_stopped:
            yield None
            return
        soon = replace(wishes, time_limit_s=left)
        try:
            until = begin + wishes.time_limit_s
            found = plan_whole(part.kernel, hw, soon, known, most, until)
        except LateError:
            yield None
            return
        except MappingError:
            continue
        most = min(most, found.cycles)
        yield replace(found, steps=part.steps)


def all_cuts(*notes: str) -> str:
    """What was not looked at, each once."""
    every = (part for note in notes for part in note.split("; ") if part)
    return "; ".join(dict.fromkeys(every))


def plan_whole(
    kernel: Kernel,
    hw: Hardware,
    wishes: Wishes,
    known: Known,
    most: float = inf,
    until: float = inf,
) -> Plan:
    """The plan of the kernel as it is; MappingError too where no plan takes less than `most`, none
    is whole `until` then (a LateError), or its arrays take more room than there is."""
    begin = wishes.clock.now()
    nodes = mark_late(cut_tasks(kernel), hw)
    tasks = tuple(flatten(nodes))
    scheduler = replace(task_scheduler(tasks, hw, wishes, known), most=most, until=until)
    found = _joined_or_apart(kernel, nodes, scheduler)
    tree, planned, kept = found.tree, found.planned, found.kept
    tried = try_all_places(tree, kept.placed, wishes.aim)
    joined = with_joined_calls(tree, tried, wishes.aim)
    placed = min(kept.placed, joined, key=lambda one: wishes.aim.rank(one.costs(hw)))
    needed_bytes = placed.program.room_bytes
    if needed_bytes > hw.external.size_bytes:
        raise too_large(kernel, needed_bytes, hw)
    chosen = placed.tasks
    proven = all(p.answer is None or p.answer.status is Status.OPTIMAL for p in chosen)
    return Plan(
        kernel,
        tree.nodes,
        chosen,
        contract_scratch(replace(placed.program, may_reassociate=wishes.may_reassociate), hw),
        placed.cycles,
        placed.repack_cycles,
        *bound_plan(kernel, _as_free(chosen, planned, scheduler), hw),
        Status.OPTIMAL if proven and not tried.cut else Status.FEASIBLE,
        wishes.clock.now() - begin,
        wishes.aim,
        placed.costs(hw),
        cut=all_cuts(tried.cut, kept.cut),
    )


@dataclass(frozen=True, slots=True)
class _Settled:
    """Tasks of a kernel, how each runs with all buffers in the external memory, and side by side
    with those on chip that pay."""

    tree: TaskTree
    planned: Mapping[int, PlannedTask]
    kept: Kept


def _joined_or_apart(
    kernel: Kernel, nodes: tuple[TaskNode, ...], scheduler: TaskScheduler
) -> _Settled:
    """The tasks with those joined that are better together, or none of them where more then stays
    on chip: what joined tasks begin with or end in lies outside.

    Raises:
        MappingError: nothing runs some task, or not in so few cycles as are of use.
    """
    found = _settle(kernel, *_join(kernel, nodes, scheduler), scheduler)
    placed, aim = found.kept.placed, scheduler.wishes.aim
    is_joined = any(planned.task.parts for planned in placed.tasks)
    may_leave = (
        planned.on_host and may_leave_host(planned, scheduler.hw) for planned in placed.tasks
    )
    if not is_joined or scheduler.hw.caches or scheduler.is_late or not any(may_leave):
        return found
    most = min(scheduler.most, placed.cycles) if aim.is_fastest else scheduler.most
    try:
        apart = _settle(kernel, nodes, {}, replace(scheduler, most=most))
    except MappingError:
        return found
    return min(found, apart, key=lambda one: aim.rank(one.kept.placed.costs(scheduler.hw)))


def _settle(
    kernel: Kernel,
    nodes: tuple[TaskNode, ...],
    joined: Mapping[int, PlannedTask],
    scheduler: TaskScheduler,
) -> _Settled:
    """The tasks with what pays on chip, those that are not joined as they are by themselves."""
    hw, most = scheduler.hw, scheduler.most
    others = tuple(task for task in flatten(nodes) if task.number not in joined)
    planned = {**joined, **plan_alone(others, scheduler)}
    left = [task for task in others if task.number not in planned]
    for task in left:
        if hw.host is None or hw.caches or most == inf or not might_compute(task, hw):
            failure = scheduler.find(task)
            assert isinstance(failure, MappingError) or most < inf, "what has a schedule is planned"
            raise failure if isinstance(failure, MappingError) else TooSlowError(kernel.name, most)
        # alone it takes too long there, but not where its buffers lie on chip
        planned[task.number] = PlannedTask(task, None, True, host_task_cycles(task, hw.host))
    tree = TaskTree(kernel, nodes, hw, scheduler.known.spans)
    kept = keep_on_chip(tree, planned, scheduler)
    if any(one.on_host and one.task in left for one in kept.placed.tasks):
        raise TooSlowError(kernel.name, most)
    return _Settled(tree, planned, kept)


def _as_free(
    chosen: tuple[PlannedTask, ...], planned: Mapping[int, PlannedTask], scheduler: TaskScheduler
) -> tuple[PlannedTask, ...]:
    """Tasks that gave up what they might keep on chip (`make_room`) as they were before: others may
    give up instead, so no bound follows from it."""
    tasks: list[PlannedTask] = []
    for one in chosen:
        task, found = planned[one.task.number].task, None
        if not one.on_host and one.task.volatile != task.volatile:
            found = scheduler.any_known(task, around_of(one.piece, {}))
        tasks.append(one if found is None else replace(one, task=task, answer=found))
    return tuple(tasks)


def task_scheduler(
    tasks: tuple[Task, ...], hw: Hardware, wishes: Wishes, known: Known
) -> TaskScheduler:
    """What schedules the tasks of one kernel; the wishes' time is shared out evenly, and what one
    leaves goes to the others."""
    soon = replace(wishes, time_limit_s=wishes.time_limit_s / len(tasks))
    deadline = wishes.clock.now() + wishes.time_limit_s
    return TaskScheduler(hw, soon, _shared_buffers(tasks), known, deadline, tasks=tasks)


def plan_alone(tasks: tuple[Task, ...], scheduler: TaskScheduler) -> dict[int, PlannedTask]:
    """Each task by itself, where the aim likes it best; without those that nothing runs alone."""
    chosen: dict[int, PlannedTask] = {}
    for task in tasks:
        scheduler.expect_in_time(task)
        planned = _choose(task, scheduler.find(task), scheduler)
        if planned is not None:
            chosen[task.number] = planned
    return chosen


def _join(
    kernel: Kernel, nodes: tuple[TaskNode, ...], scheduler: TaskScheduler
) -> tuple[tuple[TaskNode, ...], dict[int, PlannedTask]]:
    """The tasks with those joined that are better together, and how these run."""
    planned: dict[int, PlannedTask] = {}
    inner: list[TaskNode] = []
    for node in nodes:
        if isinstance(node, TaskLoop):
            body, found = _join(kernel, node.body, scheduler)
            planned |= found
            node = replace(node, body=body)
        inner.append(node)
    nodes = tuple(inner)
    siblings = tuple(node for node in nodes if isinstance(node, Task))
    gone: set[int] = set()
    for position, task in enumerate(siblings):
        for joined in join_tasks(kernel, siblings, position):
            numbers = {part.number for part in joined.parts}
            if numbers & (gone | planned.keys()):
                continue
            together = scheduler.find(joined)
            after = replace_joined(nodes, task, joined)
            if (
                isinstance(together, Answer)
                and _is_better(PlannedTask.scheduled(joined, together), scheduler)
                and keeps_order(kernel, after)
            ):
                planned[task.number] = PlannedTask.scheduled(joined, together)
                gone |= numbers
                nodes = after
                break
    return nodes, planned


def _is_better(together: PlannedTask, scheduler: TaskScheduler) -> bool:
    """Does the aim like the joined task better than its parts, or is it the only way? When it is
    late, only the latter counts.

    Where that was so for the same statements over longer ranges, it is taken to be so again: cut
    into many parts, they would all be scheduled twice. Dimensions in another order are another
    question: products that begin in a bias gain by it one way round, and lose the other. Sums that
    may be taken up again can do all that they can apart, without a copy of where they begin: the
    parts are not asked (that took half of the search for a GRU layer).
    """
    parts = together.task.parts
    kind = alike(parts)
    size = prod(loop.extent for loop in together.task.statement.loops)
    if size <= scheduler.known.joined.get(kind, 0):
        return True
    if _goes_on(together):
        return True
    apart = _apart(together, scheduler)
    is_late = scheduler.is_late and apart is not None
    is_better = apart is None or scheduler.rank([together]) < scheduler.rank(apart)
    if is_better and not is_late:
        scheduler.known.joined[kind] = size
    return is_better and not is_late


def _goes_on(together: PlannedTask) -> bool:
    """Does its sum begin in another buffer and may be taken up again in its own?"""
    assert together.answer is not None, "a joined task is scheduled"
    plans = together.answer.best.covering.operands
    return any(r.again and plan.inlet is not None for plan in plans for r in plan.residences)


def _apart(together: PlannedTask, scheduler: TaskScheduler) -> list[PlannedTask] | None:
    """The parts of a joined task each by itself; None where one has no way to run, or none that
    leaves them below the joined one. Those of few loops first: they leave less for the others."""
    apart: list[PlannedTask] = []
    for part in sorted(together.task.parts, key=lambda task: len(task.statement.loops)):
        if scheduler.wishes.aim.is_fastest:
            left = together.cycles - sum(one.cycles for one in apart)
            scheduler = replace(scheduler, most=min(scheduler.most, left))
        planned = plan_alone((part,), scheduler)
        if not planned:
            return None
        apart += planned.values()
    return apart


def _choose(
    task: Task, found: Answer | MappingError, scheduler: TaskScheduler
) -> PlannedTask | None:
    """The schedule, or the host where the aim likes that better or it is the only way; None if
    nothing runs the task by itself, or in less cycles than are of use."""
    hw = scheduler.hw
    choices: list[PlannedTask] = []
    if isinstance(found, Answer):
        choices.append(PlannedTask.scheduled(task, found))
    if hw.host is not None and (not choices or may_run_on_host(task)):
        answer, reason = (found, "") if isinstance(found, Answer) else (None, found.reason)
        choices.append(PlannedTask(task, answer, True, host_task_cycles(task, hw.host), reason))
    choices = [one for one in choices if one.cycles < scheduler.most]
    return min(choices, key=lambda one: scheduler.rank([one]), default=None)


def _shared_buffers(tasks: tuple[Task, ...]) -> frozenset[str]:
    """Buffers that one task writes and another one touches: their layout must suit both."""
    touched: dict[str, list[int]] = {}
    written: set[str] = set()
    for task in tasks:
        for buffer in task.kernel.buffers:
            touched.setdefault(buffer.name, []).append(task.number)
        written.add(task.statement.target.buffer)
    return frozenset(name for name in written if len(touched[name]) > 1)
