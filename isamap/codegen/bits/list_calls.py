"""Text of a binary program that a person can read, one line per call.

In: calls in normal form. Out: lines. Not its job: which calls.
"""

from .call import Call, CallKind, HostStep


def show_call(call: Call) -> str:
    """`gemm outer=3 inner=5 uop=1 A=0 W=256 .. pop load_to_compute`; addresses are bytes."""
    words = [call.name]
    if call.kind is CallKind.IDLE:
        return f"idle {call.values['cycles']}"
    if call.kind in (CallKind.LOAD_TABLE, CallKind.SET_STATE):
        words = [call.kind.value, call.name]
    words += [f"{name}={value}" for name, value in call.values.items()]
    words += [f"with {state}[{copy}]" for state, copy in call.copies]
    words += [f"new {operand}" for operand in call.fresh]
    words += [f"pop {channel}" for channel in call.pops]
    words += [f"push {channel}" for channel in call.pushes]
    return " ".join(words)


def show_host_step(step: HostStep) -> str:
    """`host host_0 x0=12288 by (32, 4)`."""
    operands = ", ".join(
        f"{name}={address} by ({', '.join(map(str, strides))})"
        for name, address, strides in step.operands
    )
    return f"host {step.name} {operands}"
