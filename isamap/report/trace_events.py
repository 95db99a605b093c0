"""A trace in the Trace Event Format, for Perfetto and chrome://tracing.

In: a Trace. Out: JSON text. Not its job: files.

A process per core (and one for what all cores share), a thread per instance of a unit: each call is
a complete event from its start for as long as it keeps the unit, its results are there at
`finish_cycle`. Counters say how many live bytes each managed memory holds: written, and to be read
again. Times are microseconds of the machine's clock.

Source: "Trace Event Format", Google, 2016 (catapult project).
"""

import json
from collections.abc import Iterator

from isamap.emulator import Trace, TracedCall

from .wording import show_core, show_lane, show_left_out, show_number, show_wait

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Event = dict[str, Json]

SHARED, FIRST_CORE = 1, 2  # process numbers; 0 is the idle process of operating systems
TASKS = 1_000_000  # the process of a plan's tasks
DIGITS = 6  # of a microsecond: picoseconds


def trace_text(trace: Trace, task_names: dict[int, str]) -> str:
    """One JSON object, an event per line; `task_names`: of a plan's tasks, by number."""
    head: dict[str, Json] = {"displayTimeUnit": "ns", "otherData": _other_data(trace)}
    lines = (json.dumps(event, separators=(",", ":")) for event in _events(trace, task_names))
    body = ",\n".join(lines)
    return f'{json.dumps(head)[:-1]}, "traceEvents": [\n{body}\n]}}\n'


def _other_data(trace: Trace) -> dict[str, Json]:
    """What the whole is about, and what is left out."""
    shown = len(trace.rows)
    rest = show_left_out(trace, shown)
    return {
        "program": trace.program.name,
        "machine": trace.hardware.name,
        "clock_hz": trace.hardware.clock_hz,
        "cycles": trace.timing.cycles,
        "calls": trace.num_calls,
        "calls_here": shown,
        "complete_until_cycle": trace.complete_cycles,
        "left_out": f"only {rest}" if rest else "nothing",
    }


def _events(trace: Trace, task_names: dict[int, str]) -> Iterator[Event]:
    clock = _Clock(trace.hardware.clock_hz)
    yield from _names(trace)
    yield from _task_events(trace, task_names, clock)
    threads = _threads(trace)
    for call in trace.calls():
        thread = threads[call.place.name, call.instance]
        yield _call_event(call, _process(call.place.core), thread, task_names, clock)
    yield from _counters(trace, clock)
    if not trace.is_complete:
        what = f"from here on calls are missing: only {show_left_out(trace, len(trace.rows))}"
        yield _mark(what + " are in this trace", trace.complete_cycles, clock)
    yield _mark("end of the program", trace.timing.cycles, clock)


class _Clock:
    """Cycles as microseconds."""

    def __init__(self, clock_hz: float) -> None:
        self.clock_hz = clock_hz

    def at(self, cycle: int) -> float:
        """When a cycle begins."""
        return round(cycle * 1e6 / self.clock_hz, DIGITS)

    def between(self, start: int, end: int) -> float:
        """From one to the other: what follows never begins before what was there ends."""
        return round(self.at(end) - self.at(start), DIGITS)


def _process(core: int | None) -> int:
    return SHARED if core is None else FIRST_CORE + core


def _threads(trace: Trace) -> dict[tuple[str, int], int]:
    """Unit and instance: number of the thread."""
    units = [(p.name, i) for p in trace.places if p.kind == "unit" for i in range(p.instances)]
    return {lane: number for number, lane in enumerate(dict.fromkeys(units), 1)}


def _names(trace: Trace) -> Iterator[Event]:
    """Metadata: names and order of processes and threads."""
    cores = sorted({place.core for place in trace.places if place.core is not None})
    shared = f"{trace.hardware.name}: shared by all cores" if cores else trace.hardware.name
    names = [(SHARED, shared), *((_process(c), show_core(c, trace.hardware)) for c in cores)]
    for process, name in names:
        yield _name("process_name", process, 0, {"name": name})
        yield _name("process_sort_index", process, 0, {"sort_index": process})
    threads = _threads(trace)
    for place in trace.places:
        for instance in range(place.instances) if place.kind == "unit" else ():
            process, thread = _process(place.core), threads[place.name, instance]
            yield _name("thread_name", process, thread, {"name": show_lane(place, instance)})
            yield _name("thread_sort_index", process, thread, {"sort_index": thread})


def _name(kind: str, process: int, thread: int, args: dict[str, Json]) -> Event:
    return {"name": kind, "ph": "M", "ts": 0, "pid": process, "tid": thread, "args": args}


def _task_events(trace: Trace, names: dict[int, str], clock: _Clock) -> Iterator[Event]:
    """A thread per task of a plan: from its first call's start to its last one's finish, of all
    calls of the program."""
    spans: dict[int, tuple[int, int]] = {}
    for family in trace.families:
        task = family.issue.task
        if task is not None and family.first_start >= 0:
            first, last = spans.get(task, (family.first_start, 0))
            spans[task] = min(first, family.first_start), max(last, family.last_finish)
    if spans:
        yield _name("process_name", TASKS, 0, {"name": "tasks, first call to last result"})
        yield _name("process_sort_index", TASKS, 0, {"sort_index": 0})
    for task, (first, last) in sorted(spans.items()):
        name = f"task {names.get(task, task)}"
        yield _name("thread_name", TASKS, 1 + task, {"name": name})
        args: dict[str, Json] = {"start_cycle": first, "finish_cycle": last}
        yield _complete(name, "task", (TASKS, 1 + task), (first, last), args, clock)


def _complete(
    name: str,
    category: str,
    place: tuple[int, int],
    cycles: tuple[int, int],
    args: dict[str, Json],
    clock: _Clock,
) -> Event:
    """An event with a beginning and an end."""
    times: Event = {"ts": clock.at(cycles[0]), "dur": clock.between(*cycles)}
    lane: Event = {"pid": place[0], "tid": place[1]}
    return {"name": name, "cat": category, "ph": "X", **times, **lane, "args": args}


def _call_event(
    call: TracedCall, process: int, thread: int, task_names: dict[int, str], clock: _Clock
) -> Event:
    args: dict[str, Json] = {
        "start_cycle": call.start,
        "issue_cycles": call.issue_cycles,
        "finish_cycle": call.finish,
    }
    if call.stall_cycles:
        args["unit_idle_before_cycles"] = call.stall_cycles
        args["waited_for"] = show_wait(call.wait, call.at)
    if call.issue.task is not None:
        args["task"] = task_names.get(call.issue.task, str(call.issue.task))
    if call.loops:
        args["loops"] = ", ".join(f"{name}={value}" for name, value in call.loops)
    if call.extents:
        args["extents"] = ", ".join(f"{name}={count}" for name, count in call.extents)
    for name, memory, address in call.addresses:
        args[f"operand {name}"] = f"{memory} byte {address}"
    cycles = call.start, call.start + call.issue_cycles
    return _complete(call.issue.instruction, "call", (process, thread), cycles, args, clock)


def _counters(trace: Trace, clock: _Clock) -> Iterator[Event]:
    """Live bytes of each memory whenever they change."""
    levels: dict[int, int] = {}
    edges = trace.edges.tolist()
    for position, (number, cycle, size) in enumerate(edges):
        levels[number] = levels.get(number, 0) + size
        is_last = position + 1 == len(edges) or edges[position + 1][:2] != [number, cycle]
        if is_last:
            yield _counter(trace, number, cycle, levels[number], clock)


def _counter(trace: Trace, number: int, cycle: int, level: int, clock: _Clock) -> Event:
    place = trace.places[number]
    name = f"live bytes in {place.name} (of {show_number(place.size_bytes)} bytes)"
    lane: Event = {"pid": _process(place.core), "tid": 0}
    return {"name": name, "ph": "C", "ts": clock.at(cycle), **lane, "args": {"bytes": level}}


def _mark(text: str, cycle: int, clock: _Clock) -> Event:
    """Something that concerns all processes."""
    lane: Event = {"pid": SHARED, "tid": 0, "s": "g"}
    return {"name": text, "ph": "i", "ts": clock.at(cycle), **lane, "args": {"cycle": cycle}}
