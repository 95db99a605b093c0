"""Calls of a machine with exposed timing, in the order and at the distance in which they start.

In: the calls of a run with their start cycles. Out: the calls by start, with idle cycles between
them; the end comes when the last call is finished. Not its job: when calls start (the program says
so), whether they may (`emulator`).
"""

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware

from .call import Call, CallKind


def idle_cycles(count: int) -> Call:
    """So many cycles in which nothing starts."""
    return Call(CallKind.IDLE, "idle", {"cycles": count})


def fill_idle(calls: tuple[Call, ...], hw: Hardware) -> tuple[Call, ...]:
    """The calls, one per cycle, from the first on.

    Raises:
        ProgramError: calls without a start, or two in one cycle.
    """
    timed = sorted((call for call in calls if call.kind is not CallKind.END), key=_start)
    result: list[Call] = []
    now = _start(timed[0]) if timed else 0
    finish = now
    for call in timed:
        start = _start(call)
        if start < now:
            raise ProgramError(
                f"{hw.name}: two calls start in cycle {start}, the second is '{call.name}'",
                hint="one record starts per cycle: give the machine 'issue_width: 1'",
            )
        result += [idle_cycles(start - now)] if start > now else []
        result.append(call)
        now = start + 1
        latency = hw.instruction(call.name).latency_cycles.evaluate(call.values)
        finish = max(finish, start + latency)
    if finish > now and len(timed) < len(calls):
        result.append(idle_cycles(finish - now))
    return (*result, *(call for call in calls if call.kind is CallKind.END))


def _start(call: Call) -> int:
    if call.start is None:
        raise ProgramError(f"the program does not say in which cycle '{call.name}' starts")
    return call.start
