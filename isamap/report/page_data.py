"""The numbers that a page draws, as JSON values.

In: a Trace, a Page, how many calls are shown one by one. Out: dictionaries, lists, strings and
numbers for `page.js`. Not its job: HTML.
"""

from itertools import groupby
from operator import attrgetter

import numpy as np

from isamap.emulator import Family, Trace
from isamap.ir import Affine
from isamap.program import Operand, Span

from .find_roofs import Roofs
from .page import Page
from .wording import show_core, show_lane, show_wait

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def page_data(trace: Trace, page: Page, max_calls: int) -> dict[str, Json]:
    """Everything that the page draws."""
    shown = min(max_calls, len(trace.rows))
    complete = trace.complete_cycles
    if shown < len(trace.rows):
        complete = int(trace.rows[shown:, 3].min(initial=complete))
    reserved = dict(page.reserved_bytes)
    return {
        "clock_hz": trace.hardware.clock_hz,
        "cycles": trace.timing.cycles,
        "num_calls": trace.num_calls,
        "shown": shown,
        "complete": min(complete, trace.complete_cycles),
        "bucket": trace.bucket_cycles,
        "history": _history(trace, reserved),
        "losses": _losses(trace),
        "instructions": _instructions(trace),
        "lanes": _lanes(trace),
        "families": [_family(family, dict(page.task_names)) for family in trace.families],
        "calls": _calls(trace, shown),
        "live": _live(trace, reserved, shown),
        "tasks": _tasks(trace, dict(page.task_names)),
        "roofs": None if page.roofs is None else _roofs(page.roofs),
        "bars_note": page.bars_note,
        "bars": [[bar.name, bar.cycles, bar.reason] for bar in page.bars],
    }


def _instructions(trace: Trace) -> list[Json]:
    """Those that are called, most often called first."""
    counts = dict(trace.timing.calls)
    return [*sorted(counts, key=lambda name: (-counts[name], name))]


def _history(trace: Trace, reserved: dict[str, int]) -> list[Json]:
    """Per unit, port and memory (all cores together) its share of what is possible, per bucket."""
    rows: list[Json] = []
    numbered = list(enumerate(trace.places))
    for (kind, name), group in groupby(numbered, key=lambda p: (p[1].kind, p[1].name)):
        mine = list(group)
        place = mine[0][1]
        history = trace.history[[number for number, _ in mine]].sum(axis=0)
        if not history.any():
            continue
        each = place.size_bytes if kind == "memory" else place.instances
        room = _bucket_lengths(trace) * each * len(mine)
        rows.append(
            {
                "kind": kind,
                "name": name,
                "copies": len(mine),
                "size": place.size_bytes,
                "renamed": place.is_renamed,
                "reserved": reserved.get(name) if kind == "memory" else None,
                "share": np.round(history / room, 4).tolist(),
            }
        )
    return rows


def _bucket_lengths(trace: Trace) -> np.ndarray:
    """The last one may be shorter."""
    begins = np.arange(trace.history.shape[1]) * trace.bucket_cycles
    ends = np.minimum(begins + trace.bucket_cycles, max(1, trace.timing.cycles))
    lengths: np.ndarray = ends - begins
    return lengths


def _losses(trace: Trace) -> list[Json]:
    """Per unit (all instances and cores together): cycles of work, cycles it waited for what,
    longest first, and the rest: after its last call, or while the host runs alone."""
    rows: list[Json] = []
    for unit in trace.timing.unit_busy:
        places = [p for p in trace.places if (p.kind, p.name) == ("unit", unit.unit)]
        capacity = trace.timing.cycles * places[0].instances * len(places)
        lost: dict[str, int] = {}
        for family in trace.families:
            if trace.places[family.place].name == unit.unit:
                for code, cycles in family.lost:
                    reason = show_wait(*trace.reason(family, code))
                    lost[reason] = lost.get(reason, 0) + cycles
        if not unit.busy_cycles and not lost:
            continue
        rest = capacity - unit.busy_cycles - sum(lost.values())
        waits: list[Json] = [[w, c] for w, c in sorted(lost.items(), key=lambda p: -p[1]) if c]
        rows.append(
            {
                "unit": unit.unit,
                "capacity": capacity,
                "busy": unit.busy_cycles,
                "waits": waits,
                "rest": rest,
            }
        )
    return rows


def _lanes(trace: Trace) -> list[Json]:
    """Per number of a place its lanes' names, one per instance; units only."""
    lanes: list[Json] = []
    for place in trace.places:
        if place.kind == "unit":
            core = "" if place.core is None else show_core(place.core, trace.hardware)
            names: list[Json] = [show_lane(place, i) for i in range(place.instances)]
            lanes.append({"names": names, "core": core})
    return lanes


def _family(family: Family, task_names: dict[int, str]) -> dict[str, Json]:
    """What the page says of a call when it is pointed at, with the loops' values put in there."""
    issue = family.issue
    spans = (*issue.extents, *((repeat.name, repeat.span) for repeat in issue.repeats))
    task = None if issue.task is None else task_names.get(issue.task, str(issue.task))
    return {
        "instruction": issue.instruction,
        "task": task,
        "place": family.place,
        "loops": list(family.loops),
        "extents": [[name, _span(span, family)] for name, span in spans],
        "operands": [_operand(operand, family) for operand in issue.operands],
    }


def _affine(affine: Affine, family: Family) -> list[Json]:
    """[constant, [[number of the loop, factor], ..]]."""
    terms: list[Json] = [[family.loops.index(name), factor] for name, factor in affine.terms]
    return [affine.constant, terms]


def _span(span: Span, family: Family) -> list[Json]:
    return [span.limit, span.total, _affine(span.offset, family), span.unit]


def _operand(operand: Operand, family: Family) -> list[Json]:
    turns: list[Json] = [
        [_affine(turn.counter, family), turn.modulo, turn.stride_bytes]
        for turn in operand.address.rotations
    ]
    return [operand.name, operand.memory, _affine(operand.address.offset, family), turns]


def _calls(trace: Trace, shown: int) -> dict[str, Json]:
    """Columns. Starts are distances from the call before; `loops` has as many columns as the
    deepest call has loops; `waits` are numbers of `words`."""
    rows = trace.rows[:shown]
    words: dict[str, int] = {}
    waits = []
    for number, code in rows[:, [0, 7]].tolist():
        text = show_wait(*trace.reason(trace.families[number], code))
        waits.append(words.setdefault(text, len(words)))
    columns = {"family": 0, "copy": 1, "instance": 2, "issue": 4, "latency": 5, "stall": 6}
    return {
        **{name: _column(rows[:, column]) for name, column in columns.items()},
        "start": _column(np.diff(rows[:, 3], prepend=0)),
        "wait": list(waits),
        "words": list(words),
        "loops": [_column(rows[:, column]) for column in range(8, rows.shape[1])],
    }


def _column(values: np.ndarray) -> Json:
    """The values; one alone where all are equal."""
    if len(values) and (values == values[0]).all():
        return int(values[0])
    column: list[Json] = values.tolist()
    return column


def _live(trace: Trace, reserved: dict[str, int], shown: int) -> list[Json]:
    """Per memory and core the cycles at which its live bytes change, and to how many, while the
    calls shown run."""
    rows: list[Json] = []
    last = int((trace.rows[:shown, 3] + trace.rows[:shown, 5]).max(initial=0))
    edges = trace.edges[trace.edges[:, 1] <= last]
    for number, place in enumerate(trace.places):
        mine = edges[edges[:, 0] == number]
        if place.kind != "memory" or not len(mine):
            continue
        core = "" if place.core is None else show_core(place.core, trace.hardware)
        cycles, sizes = mine[:, 1], np.cumsum(mine[:, 2])
        rows.append(
            {
                "name": place.name,
                "core": core,
                "size": place.size_bytes,
                "renamed": place.is_renamed,
                "reserved": reserved.get(place.name),
                "cycles": np.diff(cycles, prepend=0).tolist(),
                "bytes": sizes.tolist(),
            }
        )
    return rows


def _tasks(trace: Trace, names: dict[int, str]) -> list[Json]:
    """Title, first start and last finish of each task, of all calls of the program; its name."""
    families = [f for f in trace.families if f.issue.task is not None and f.first_start >= 0]
    tasks: list[Json] = []
    key = attrgetter("issue.task")
    for number, group in groupby(sorted(families, key=key), key=key):
        mine = list(group)
        first, last = min(f.first_start for f in mine), max(f.last_finish for f in mine)
        name = names.get(number, str(number))
        tasks.append([f"task {name}", first, last, name])
    return tasks


def _roofs(roofs: Roofs) -> dict[str, Json]:
    return {
        "operations": roofs.operations,
        "cycles": roofs.cycles,
        "least_bytes": roofs.least_bytes,
        "units": [[r.unit, r.instruction, r.operations_per_cycle] for r in roofs.units],
        "memories": [[r.memory, r.bytes_per_cycle, r.moved_bytes] for r in roofs.memories],
    }
