"""Does a schedule leave room in its calls?

In: an answer, its machine. Out: yes or no. Not its job: finding a form that fills them
(`find_best_plan`, `turn_handed_on`).
"""

from math import prod

from isamap.hwdesc import Hardware
from isamap.scheduler import Answer

LOW_USE = 0.5  # of an instruction's room: below, other forms may do better


def uses_little(answer: Answer, hw: Hardware) -> bool:
    """Does the schedule leave most of its instruction's room empty, so that other forms may win?"""
    best = answer.best
    instruction = hw.instruction(best.covering.instruction)
    room = best.work.calls * prod(rule.maximum for _, rule in instruction.extents)
    return prod(loop.kernel_extent for loop in best.covering.loops) < LOW_USE * room
