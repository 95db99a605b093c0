"""Give every call of a program for exposed timing the cycle in which it starts.

In: a Program whose calls have no cycles, a machine whose hardware does not wait. Out: the same
program with each call as early as the calls before it, its unit, the ports, the distances and the
calls per cycle allow. Not its job: the order of the calls (the scheduler), whether given cycles are
legal (`time_program`).

Calls are placed one by one in program order and never moved again. Without a limit on calls per
cycle and with ports that no two calls want at once this is the longest path through all least
distances: no earlier start exists for any call. Where an entry of a fifo memory would come too late
after the first read of the one before it, that read waits, and all is placed again.

Long series of short calls on two units may take every cycle, and a call that keeps its unit busy
for long then waits for their end. So all is also placed with some cycles kept free of short calls;
what ends clearly earlier is taken.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.program import Node, Program, Run, map_issues
from isamap.work_folder import work_folder

from .bind import Bound, bind
from .build import compile_c, run_executable
from .c_timing import emit_timing
from .optimisation import choose_optimisation, is_compiled
from .python_timing import interpret_starts
from .result import Timing
from .time_program import find_error, time_program

MAX_ROUNDS = 100

Floors = dict[str, dict[int, int]]  # per memory and entry: no first read before
Late = Mapping[tuple[str, int], int]
Placing = Callable[[Bound, Floors, int, float], tuple[np.ndarray, Late]]

KEPT = 8  # of so many cycles one is kept free of calls shorter than that
CLEARLY = 16  # cycles, and a hundredth of all


def set_starts(
    program: Program, hardware: Hardware, *, compiled: bool | None = None, timeout_s: float = 600.0
) -> Program:
    """`program` with `starts`; itself where the hardware waits, or it has them already.

    Args:
        compiled: as in `time_program`.

    Raises:
        ProgramError: an illegal call, or an entry that is there too late.
    """
    if not hardware.is_exposed:
        return program
    bound = bind(program, hardware)
    if bound.is_timed:
        return program
    use_c = is_compiled(bound, compiled)
    place = _run_compiled if use_c else _run_python
    pairs, is_legal = _place(bound, 0, place, timeout_s)
    if hardware.issue_width is not None:
        spread, is_better = _place(bound, KEPT, place, timeout_s)
        last, other = (int(rows[:, 1].max(initial=0)) for rows in (pairs, spread))
        is_better = is_better and (not is_legal or other + max(CLEARLY, last // 100) < last)
        pairs = spread if is_better else pairs
    by_call = iter([pairs[pairs[:, 0] == call.number, 1] for call in bound.calls])
    return replace(program, body=_with_starts(program.body, by_call))


def time_scheduled(program: Program, hardware: Hardware) -> Timing:
    """The time of a program whose starts may not be set yet."""
    return time_program(set_starts(program, hardware), hardware)


def _place(bound: Bound, kept: int, place: Placing, timeout_s: float) -> tuple[np.ndarray, bool]:
    """Rows (number of the call, start), and whether every entry comes in time; short calls leave
    every `kept`-th cycle free."""
    floors: Floors = {}
    rows = np.zeros((0, 2), np.int64)
    for _ in range(MAX_ROUNDS):  # what is still too late then, `time_program` rejects
        rows, late = place(bound, floors, kept, timeout_s)
        if not late:
            return rows, True
        for (memory, number), floor in late.items():
            known = floors.setdefault(memory, {})
            known[number] = max(floor, known.get(number, 0))
    return rows, False


def _run_python(
    bound: Bound, floors: Floors, kept: int, _timeout_s: float
) -> tuple[np.ndarray, Late]:
    """Rows (number of the call, start), and what is too late."""
    pairs, late = interpret_starts(bound, floors, kept)
    return np.array(pairs, np.int64).reshape(-1, 2), late


def _run_compiled(
    bound: Bound, floors: Floors, kept: int, timeout_s: float
) -> tuple[np.ndarray, Late]:
    """As `_run_python`."""
    text = emit_timing(bound)
    memories = [memory.name for memory in bound.hardware.memories]
    with work_folder() as folder:
        path, given = Path(folder, "starts"), Path(folder, "floors")
        np.array([n for name in memories for n in _listed(floors.get(name, {}))]).tofile(given)
        made = compile_c(text, choose_optimisation(bound))
        numbers = ("-1", str(path), str(given), str(kept))
        words = run_executable(made, numbers, timeout_s).split()
        if words[0] == "memory":
            raise IsamapError("the emulator ran out of memory for its hazard tables")
        if words[0] != "ok":
            raise find_error(bound, text, words, timeout_s)
        rows = np.fromfile(path, np.int64).reshape(-1, 3)
    late = {
        (memories[-1 - m], int(number)): int(floor) for m, number, floor in rows[rows[:, 0] < 0]
    }
    return rows[rows[:, 0] >= 0, :2], late


def _listed(floors: Mapping[int, int]) -> list[int]:
    """How many, and one per number from 0 on."""
    count = max(floors, default=-1) + 1
    return [count, *(floors.get(number, 0) for number in range(count))]


def _with_starts(body: tuple[Node, ...], starts: Iterator[np.ndarray]) -> tuple[Node, ...]:
    """The nodes with the cycles of their calls, which come in the order of the text."""
    return map_issues(body, lambda issue: replace(issue, starts=find_runs(next(starts))))


def find_runs(cycles: Sequence[int] | np.ndarray) -> tuple[Run, ...]:
    """Few runs that list `cycles`: each as long as its step allows."""
    values = np.asarray(cycles, np.int64)
    steps = np.diff(values)
    changes = np.flatnonzero(np.diff(steps)) + 1  # steps[n] differs from steps[n - 1]
    runs = []
    first = 0
    while first < len(values):
        if first == len(values) - 1:
            runs.append(Run(int(values[first]), 0, 1))
            break
        position = np.searchsorted(changes, first, side="right")
        last = int(changes[position]) if position < len(changes) else len(values) - 1
        runs.append(Run(int(values[first]), int(steps[first]), last - first + 1))
        first = last + 1
    return tuple(runs)
