"""Why a call did not start before it did.

In: nothing but these values. Out: reasons as the numbers that both executions record. Not its job:
finding them (`c_events`, `python_timing`), wording them (`report`).
"""

from enum import IntEnum


class Wait(IntEnum):
    """What a call waited for last (docs/timing.md, section 2); each has a detail."""

    QUEUE = 0  # the call before it in its unit's queue, and nothing else
    TOKEN = 1  # detail: the channel
    TURN = 2  # the host runs, and nothing beside it
    WRITER = 3  # detail: the operand whose bytes were not written yet
    READERS = 4  # detail: the operand whose bytes were still read
    PORT = 5  # detail: position in `Bound.ports`
    PROGRAM = 6  # the cycle that the program gives
    ENTRY = 7  # distances, and room in fifo memories


DETAILS = 256  # details per reason
NUM_CODES = len(Wait) * DETAILS


def wait_code(wait: Wait, detail: int = 0) -> int:
    """Reason and detail as one number."""
    assert 0 <= detail < DETAILS, f"detail {detail}"
    return wait * DETAILS + detail


def read_code(code: int) -> tuple[Wait, int]:
    """Reason and detail."""
    return Wait(code // DETAILS), code % DETAILS
