"""Words for what a trace says in numbers.

In: waits, places, parts of a trace. Out: text. Not its job: where it is put.
"""

from isamap.emulator import Place, Trace, Wait
from isamap.hwdesc import Hardware

WORDS = {
    Wait.QUEUE: "the call before it",
    Wait.TOKEN: "a token from {at}",
    Wait.TURN: "the host's turn",
    Wait.WRITER: "{at} to be written",
    Wait.READERS: "{at} to be read",
    Wait.PORT: "port {at}",
    Wait.PROGRAM: "the program's cycle",
    Wait.ENTRY: "distances and fifo entries",
}


def show_wait(wait: Wait, at: str) -> str:
    """What a call waited for: `B in scratchpad to be written`."""
    return WORDS[wait].format(at=at)


def show_core(core: int, hw: Hardware) -> str:
    """`core 5 (row 1, column 1)`."""
    assert hw.cores is not None, "a place has a core where there are several"
    steps = dict(hw.cores.steps)
    parts = [f"{axis} {core // steps[axis] % size}" for axis, size in hw.cores.axes]
    return f"core {core} ({', '.join(parts)})"


def show_lane(place: Place, instance: int) -> str:
    """`matrix`, or `load #1` of a unit that there are several of."""
    return f"{place.name} #{instance}" if place.instances > 1 else place.name


def show_number(value: int) -> str:
    """`28 858 944`."""
    return f"{value:,}".replace(",", " ")


def show_left_out(trace: Trace, shown: int) -> str:
    """Which calls are not shown; empty if all are."""
    if shown == trace.num_calls:
        return ""
    return f"the first {show_number(shown)} of {show_number(trace.num_calls)} calls"
