"""Single calls of a program as its timing run sees them.

In: a Program and a Hardware. Out: a Trace, or ProgramError. Not its job: when calls start
(`c_timing`, `python_timing`), showing them (`report`).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.program import Program
from isamap.work_folder import work_folder

from .bind import Bound, bind
from .build import compile_c, run_executable
from .c_events import NUM_FIELDS, deepest, lanes
from .c_timing import emit_timing
from .optimisation import choose_optimisation, is_compiled
from .python_events import Recorder
from .python_timing import observe_timing
from .result import Timing
from .time_program import time_program
from .trace import Family, Place, Trace
from .waits import NUM_CODES

MAX_CALLS = 200_000
NUM_BUCKETS = 600  # of the whole program


def trace_program(
    program: Program,
    hardware: Hardware,
    *,
    max_calls: int = MAX_CALLS,
    timing: Timing | None = None,
    compiled: bool | None = None,
    timeout_s: float = 600.0,
) -> Trace:
    """The first `max_calls` calls one by one, and the history of all of them.

    Args:
        timing: of the program, if it is known already.
        compiled: as in `time_program`.

    Raises:
        ProgramError, IsamapError: as `time_program`.
    """
    if timing is None:
        timing = time_program(program, hardware, compiled=compiled, timeout_s=timeout_s)
    bound = bind(program, hardware)
    bucket_cycles = max(1, -(-timing.cycles // NUM_BUCKETS))
    num_buckets = max(1, -(-timing.cycles // bucket_cycles))
    use_c = is_compiled(bound, compiled)
    if use_c:
        events = _run_compiled(bound, max_calls, bucket_cycles, num_buckets, timeout_s)
    else:
        events = _run_python(bound, max_calls, bucket_cycles, num_buckets)
    assert events.cycles == timing.cycles, "one program has one time"
    return Trace(
        program,
        bound.hardware,
        timing,
        _places(bound),
        _families(bound, events.lost),
        events.rows,
        events.num_calls,
        timing.cycles if events.hidden is None else events.hidden,
        events.edges[np.lexsort((events.edges[:, 0], events.edges[:, 1]))],
        bucket_cycles,
        events.history,
    )


@dataclass(frozen=True, slots=True)
class _Events:
    """What both executions hand back. `lost`: a row per call: first start, last finish, cycles per
    reason; `hidden`: first start of a call that is not among `rows`."""

    rows: np.ndarray
    edges: np.ndarray
    history: np.ndarray
    lost: np.ndarray
    num_calls: int
    hidden: int | None
    cycles: int


def _run_compiled(
    bound: Bound, max_calls: int, bucket_cycles: int, num_buckets: int, timeout_s: float
) -> _Events:
    made = compile_c(emit_timing(bound, is_recorded=True), choose_optimisation(bound))
    with work_folder() as folder:
        numbers = (str(max_calls), str(bucket_cycles), str(num_buckets))
        words = run_executable(made, (folder, *numbers), timeout_s).split()
        if words[0] == "memory":
            raise IsamapError("the emulator ran out of memory for its tables")
        assert words[0] == "ok", f"timed before without a fault: {words}"
        read = {name: np.fromfile(Path(folder, name), np.int64) for name in FILES}
    sums = read["buckets"].reshape(len(lanes(bound)), 2, num_buckets + 3)
    history = sums[:, 0] + np.cumsum(sums[:, 1], axis=1)
    hidden = int(words[2])
    return _Events(
        read["calls"].reshape(-1, NUM_FIELDS + deepest(bound)),
        read["edges"].reshape(-1, 3),
        history[:, :num_buckets],
        read["lost"].reshape(-1, 2 + NUM_CODES),
        int(words[1]),
        None if hidden == np.iinfo(np.int64).max else hidden,
        int(words[3]),
    )


FILES = ("calls", "edges", "buckets", "lost")


def _run_python(bound: Bound, max_calls: int, bucket_cycles: int, num_buckets: int) -> _Events:
    seen = Recorder(bound, max_calls)
    observe_timing(bound, seen)
    seen.finish()
    history = np.zeros((len(lanes(bound)), num_buckets), np.int64)
    begins = np.arange(num_buckets) * bucket_cycles
    for lane, first, end, rate in seen.spans:
        inside = np.minimum(end, begins + bucket_cycles) - np.maximum(first, begins)
        history[lane] += rate * np.maximum(inside, 0)
    lost = np.zeros((len(bound.calls), 2 + NUM_CODES), np.int64)
    lost[:, 0] = -1
    for number, (first, last) in seen.around.items():
        lost[number, :2] = first, last
    for (number, code), cycles in seen.lost.items():
        lost[number, 2 + code] = cycles
    edges = [(*key, size) for key, size in seen.edges.items() if size]
    rows = np.array(seen.rows, np.int64).reshape(-1, NUM_FIELDS + deepest(bound))
    found = np.array(edges, np.int64).reshape(-1, 3)
    return _Events(rows, found, history, lost, seen.num_calls, seen.hidden, seen.cycles)


def _places(bound: Bound) -> tuple[Place, ...]:
    """One per lane."""
    hw = bound.hardware
    places = []
    for kind, number, copy in lanes(bound):
        if kind == "unit":
            unit = hw.units[number]
            core = copy if hw.num_copies(unit.name) > 1 else None
            places.append(Place(kind, unit.name, core, instances=unit.count))
            continue
        if kind == "port":
            memory, name = bound.ports[number].memory, bound.ports[number].name
            name = f"{memory}.{name}"
        else:
            memory = name = bound.extents[number].memory
        core = copy if hw.num_copies(memory) > 1 else None
        room = hw.memory(memory)
        places.append(Place(kind, name, core, 1, room.size_bytes, room.never_waits))
    return tuple(places)


def _families(bound: Bound, lost: np.ndarray) -> tuple[Family, ...]:
    """One per Issue, in the order of the text; those never executed start at -1."""
    every = lanes(bound)
    return tuple(
        Family(
            call.issue,
            tuple(name for name, _ in call.loops),
            every.index(("unit", call.unit, 0)),
            int(row[0]),
            int(row[1]),
            tuple((int(code), int(row[2 + code])) for code in np.flatnonzero(row[2:])),
        )
        for call, row in zip(bound.calls, lost, strict=True)
    )
