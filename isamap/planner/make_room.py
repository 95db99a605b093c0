"""Give tasks under a held loop less room where they do not fit on chip side by side.

In: the tree of tasks, how each of them runs by itself. Out: schedules that fit side by side. Not
its job: laying them out (`share_chip`).
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace

from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.mapper import Task, TaskNode, flatten
from isamap.scheduler import Answer

from .chip_homes import home_ends, place_homes
from .plan import PlannedTask
from .schedule_tasks import TaskScheduler, around_of
from .share_chip import Room, ends_of, kept_in, share_chip

Planned = Mapping[int, PlannedTask]


def make_room(
    nodes: tuple[TaskNode, ...], planned: Planned, scheduler: TaskScheduler
) -> dict[int, PlannedTask]:
    """Where tasks under a held loop do not fit on chip side by side, let one of those that keep
    data over it, or all the others, do with what the rest leaves; what costs least.

    Where nothing of that helps, the one that loses least thereby keeps nothing at all. Not tried:
    less room for several that keep data at once.

    Raises:
        MappingError: they do not fit even when nobody keeps anything.
    """
    now = dict(planned)
    while (room := _room(nodes, now, scheduler)).crowded:
        fitting = _squeezed(nodes, now, room, scheduler)
        rivals = [fitting] if fitting else []
        if len(room.crowded) > 2 or not fitting:
            rivals += _giving_up(now, room.crowded, scheduler)
        if not rivals:
            raise MappingError(
                f"statements under one loop do not fit side by side on the chip of"
                f" {scheduler.hw.name}",
                hint="make the loops inside smaller, or give its memories more room",
            )
        now = min(rivals, key=lambda one: scheduler.rank(one.values()))
    return now


def _room(nodes: tuple[TaskNode, ...], planned: Planned, scheduler: TaskScheduler) -> Room:
    pieces = {task.number: planned[task.number].piece for task in flatten(nodes)}
    return share_chip(nodes, pieces, scheduler.hw)


def _squeezed(
    nodes: tuple[TaskNode, ...], planned: Planned, room: Room, scheduler: TaskScheduler
) -> dict[int, PlannedTask] | None:
    """The best of what leaves other tasks crowded, or none: one task with less room, or several."""
    best = None
    for changes in _changes(nodes, planned, room, scheduler.hw):
        found = _changed(planned, changes, best, scheduler)
        if found is not None and _room(nodes, found, scheduler).crowded != room.crowded:
            best = found
    return best


def _changes(
    nodes: tuple[TaskNode, ...], planned: Planned, room: Room, hw: Hardware
) -> Iterator[dict[int, Mapping[str, int]]]:
    """Per task that is to do with less room what is taken: each crowded one, or all those beside
    them that keep nothing."""
    pieces = {task.number: planned[task.number].piece for task in flatten(nodes)}
    base = home_ends(place_homes(tuple(pieces.values()), hw), hw)
    numbers = (*room.crowded, *room.others)
    sizes = {n: ends_of(pieces[n], {}, hw) or {} for n in numbers}
    kept = {n: _only(sizes[n], kept_in(pieces[n])) for n in room.crowded}
    for number in room.crowded:
        rest = [n for n in numbers if n != number]
        passing = (_without(sizes[n], kept.get(n, {})) for n in rest)
        widest = _only(_largest(passing), kept[number])
        yield {number: _sum((base, widest, *(kept[n] for n in rest if n in kept)))}
    if room.others:
        yield dict.fromkeys(room.others, _sum((base, *kept.values())))


def _changed(
    planned: Planned,
    changes: Mapping[int, Mapping[str, int]],
    best: Planned | None,
    scheduler: TaskScheduler,
) -> dict[int, PlannedTask] | None:
    """The tasks with these changes; None where one cannot be, or the best ones are no worse however
    the changes end."""
    now = dict(planned)
    leasts = {n: _least(planned[n], taken, scheduler) for n, taken in changes.items()}
    known = {n: task for n, task in leasts.items() if task is not None}
    may_stop = scheduler.wishes.aim.is_separable and len(known) == len(leasts)
    for number, taken in changes.items():
        task = _again(planned[number], planned[number].task, taken, scheduler)
        if task is None:
            return None
        now[number] = known[number] = task
        least = scheduler.rank({**now, **known}.values())
        if best is not None and may_stop and least >= scheduler.rank(best.values()):
            return None
    return now


def _least(
    old: PlannedTask, taken: Mapping[str, int], scheduler: TaskScheduler
) -> PlannedTask | None:
    """A task no worse than it is beside what is taken, if any is known."""
    if old.on_host:
        return old
    found = scheduler.least(old.task, around_of(old.piece, taken))
    return None if found is None else _with(old, old.task, found)


def _giving_up(
    planned: Planned, crowded: tuple[int, ...], scheduler: TaskScheduler
) -> Iterator[dict[int, PlannedTask]]:
    """Each crowded task with nothing on chip from one iteration to the next."""
    for number in crowded:
        old = planned[number]
        names = [buffer.name for buffer in old.task.kernel.buffers]
        volatile = tuple((name, loop) for name in names for loop in old.task.held)
        if volatile != old.task.volatile:
            task = _again(old, replace(old.task, volatile=volatile), {}, scheduler)
            if task is not None:
                yield {**planned, number: task}


def _again(
    old: PlannedTask, task: Task, taken: Mapping[str, int], scheduler: TaskScheduler
) -> PlannedTask | None:
    """The task scheduled beside what is taken, its homes as they are."""
    if old.on_host:
        return old
    found = scheduler.find(task, around_of(old.piece, taken))
    if not isinstance(found, Answer):
        return None
    return _with(old, task, found)


def _with(old: PlannedTask, task: Task, found: Answer) -> PlannedTask:
    return replace(old, task=task, answer=found, cycles=found.best.estimate.cycles)


def _only(sizes: Mapping[str, int], names: Container[str]) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if name in names}


def _without(sizes: Mapping[str, int], names: Container[str]) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if name not in names}


def _sum(sizes: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for size in sizes:
        for memory, count in size.items():
            total[memory] = total.get(memory, 0) + count
    return total


def _largest(sizes: Iterable[Mapping[str, int]]) -> dict[str, int]:
    most: dict[str, int] = {}
    for size in sizes:
        for memory, count in size.items():
            most[memory] = max(most.get(memory, 0), count)
    return most
