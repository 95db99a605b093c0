"""Text of a binary program that a person can read, one line per call.

In: calls in normal form. Out: lines. Not its job: which calls.
"""

from collections.abc import Iterable

from isamap.hwdesc import CHAIN_BEGINS, CHAIN_ENDS

from .call import CallKind, Calls, HostStep, count_calls


def show_calls(batches: Iterable[Calls]) -> list[str]:
    """`gemm outer=3 inner=5 uop=1 A=0 W=256 .. pop load_to_compute`, in order; addresses are
    bytes."""
    batches = tuple(batches)
    lines = [""] * count_calls(batches)
    for calls in batches:
        for place, line in zip(calls.places.tolist(), _show(calls)):
            lines[place] = line
    return lines


def _show(calls: Calls) -> list[str]:
    form = calls.form
    words = [form.name]
    if form.kind in (CallKind.LOAD_TABLE, CallKind.SET_STATE):
        words = [form.kind.value, form.name]
    if form.kind is CallKind.IDLE:
        words += ["%d"]
    else:
        words += [f"{name}=%d" for name in calls.values]
    words += [f"with {state}[{copy}]" for state, copy in form.copies]
    kinds = (CHAIN_BEGINS, CHAIN_ENDS)
    words += [name if name in kinds else f"new {name}" for name in form.fresh]
    words += [f"pop {channel}" for channel in form.pops]
    words += [f"push {channel}" for channel in form.pushes]
    text = " ".join(words)
    if not calls.values:
        return [text] * len(calls)
    columns = [calls.column(name).tolist() for name in calls.values]
    return [text % row for row in zip(*columns)]


def show_host_step(step: HostStep) -> str:
    """`host host_0 x0=12288 by (32, 4)`."""
    operands = ", ".join(
        f"{name}={address} by ({', '.join(map(str, strides))})"
        for name, address, strides in step.operands
    )
    return f"host {step.name} {operands}"
