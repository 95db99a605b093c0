"""Give every call of a program for exposed timing the cycle in which it starts.

In: a Program whose calls have no cycles, a machine whose hardware does not wait. Out: the same
program with each call as early as the calls before it, its unit, the ports, the distances and the
calls per cycle allow. Not its job: the order of the calls (the scheduler), whether given cycles are
legal (`time_program`).

Calls are placed one by one in program order and never moved again. Without a limit on calls per
cycle and with ports that no two calls want at once this is the longest path through all least
distances: no earlier start exists for any call.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from isamap.errors import IsamapError
from isamap.hwdesc import Hardware, Synchronisation
from isamap.program import For, Issue, Node, Program, Run, When

from .bind import Bound, bind
from .build import compile_c, find_compiler, run_executable
from .c_timing import emit_timing
from .python_timing import interpret_starts
from .time_program import find_error


def set_starts(
    program: Program, hardware: Hardware, *, compiled: bool | None = None, timeout_s: float = 600.0
) -> Program:
    """`program` with `starts`; itself where the hardware waits, or it has them already.

    Args:
        compiled: as in `time_program`.

    Raises:
        ProgramError: an illegal call, or an entry that is there too late.
    """
    if hardware.synchronisation is not Synchronisation.EXPOSED:
        return program
    bound = bind(program, hardware)
    if bound.is_timed:
        return program
    use_c = find_compiler() is not None if compiled is None else compiled
    pairs = _run_compiled(bound, timeout_s) if use_c else np.array(interpret_starts(bound))
    pairs = pairs.reshape(-1, 2)
    by_call = iter([pairs[pairs[:, 0] == call.number, 1] for call in bound.calls])
    return replace(program, body=_with_starts(program.body, by_call))


def _run_compiled(bound: Bound, timeout_s: float) -> np.ndarray:
    """Rows (number of the call, start)."""
    text = emit_timing(bound)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "starts")
        words = run_executable(compile_c(text), ("-1", str(path)), timeout_s).split()
        if words[0] == "memory":
            raise IsamapError("the emulator ran out of memory for its hazard tables")
        if words[0] != "ok":
            raise find_error(bound, text, words, timeout_s)
        return np.fromfile(path, np.int64)


def _with_starts(body: tuple[Node, ...], starts: Iterator[np.ndarray]) -> tuple[Node, ...]:
    """The nodes with the cycles of their calls, which come in the order of the text."""
    nodes: list[Node] = []
    for node in body:
        match node:
            case Issue():
                nodes.append(replace(node, starts=find_runs(next(starts))))
            case For() | When():
                nodes.append(replace(node, body=_with_starts(node.body, starts)))
    return tuple(nodes)


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
