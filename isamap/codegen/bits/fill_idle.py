"""Calls of a machine with exposed timing, in the order and at the distance in which they start.

In: the calls of a run with their start cycles. Out: the calls by start, with idle cycles between
them; the end comes when the last call is finished. Not its job: when calls start (the program says
so), whether they may (`emulator`).
"""

from collections.abc import Iterator

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware

from .call import CallKind, Calls, Form, split_by

IDLE = Form(CallKind.IDLE, "idle")


def fill_idle(batches: tuple[Calls, ...], hw: Hardware) -> tuple[Calls, ...]:
    """The calls, one per cycle, from the first on.

    Raises:
        ProgramError: calls without a start, or two in one cycle.
    """
    timed = [calls for calls in batches if calls.form.kind is not CallKind.END]
    ends = [calls for calls in batches if calls.form.kind is CallKind.END]
    names = [calls.form.name for calls in timed for _ in range(len(calls))]
    starts = np.concatenate([np.zeros(0, np.int64), *map(_starts, timed)])
    order = np.argsort(starts, kind="stable")
    ordered = starts[order]
    gaps = np.diff(ordered) - 1
    if (gaps < 0).any():
        second = int(np.argmax(gaps < 0)) + 1
        raise ProgramError(
            f"{hw.name}: two calls start in cycle {ordered[second]}, the second is"
            f" '{names[order[second]]}'",
            hint="one record starts per cycle: give the machine 'issue_width: 1'",
        )
    result = []
    for calls in timed:
        ranks = np.searchsorted(ordered, _starts(calls))
        earlier = np.concatenate([[0], np.cumsum(gaps > 0)])  # idle calls before each
        by_start = np.argsort(ranks, kind="stable")
        result.append(_replaced(calls.take(by_start), (ranks + earlier[ranks])[by_start]))
    if len(ordered):
        finish = max(cycle for calls in timed for cycle in _finishes(calls, hw))
        last = max(0, finish - int(ordered[-1]) - 1) if ends else 0
        gaps = np.concatenate([gaps, [last]])
        before = np.flatnonzero(gaps > 0)
        places = before + 1 + np.arange(len(before))
        result.append(Calls(IDLE, places, {"cycles": gaps[before]}))
    place = sum(map(len, result))
    return (*(c for c in result if len(c)), *(_replaced(c, np.array([place])) for c in ends))


def _replaced(calls: Calls, places: np.ndarray) -> Calls:
    return Calls(calls.form, places, calls.values, calls.starts)


def _starts(calls: Calls) -> np.ndarray:
    if calls.starts is None:
        message = f"the program does not say in which cycle '{calls.form.name}' starts"
        raise ProgramError(message)
    return calls.starts


def _finishes(calls: Calls, hw: Hardware) -> Iterator[int]:
    """When the last of the calls finishes, per latency."""
    latency = hw.instruction(calls.form.name).latency_cycles
    if not latency.names:
        yield int(_starts(calls).max()) + latency.evaluate({})
        return
    keys = np.stack([calls.column(name) for name in latency.names], axis=1)
    for key, rows in split_by(keys):
        values = dict(zip(latency.names, map(int, key), strict=True))
        yield int(_starts(calls)[rows].max()) + latency.evaluate(values)
