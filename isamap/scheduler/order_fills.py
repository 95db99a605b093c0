"""In which order what is fetched at one point of a nest stands in its queue.

In: a nest's frame, its stays. Out: the stays in that order. Not its job: the fetches themselves,
what leaves (`late`).

A queue runs its calls in order: one that waits until its place is free holds up those behind it,
whose places may long be free. So the place that is free first is filled first.
"""

from collections.abc import Iterable
from math import inf

from .frame import Frame
from .place import Slot


def order_fills(frame: Frame, slots: Iterable[Slot]) -> list[Slot]:
    """What others are fetched from comes before these; else as the module says."""

    def key(slot: Slot) -> tuple[int, float]:
        return -slot.stay.residence, -calls_ahead(frame, slot)

    return sorted(slots, key=key)


def calls_ahead(frame: Frame, slot: Slot) -> float:
    """Calls of the computation between the last one that uses what lies at a place and the first
    that uses what comes there next."""
    tiling, stay = frame.tiling, slot.stay
    if frame.hw.memory(slot.residence.memory).never_waits:
        return inf
    still = (*stay.kept_units, *(slot.plan.loops if stay.level else ()))
    units = [(loop, tiling.tile(loop), loop in still) for loop in tiling.inner]
    tiles = [(loop, frame.trips[loop], loop in stay.kept_tiles) for loop in tiling.outer]
    used, calls = 0, 1  # from the first to the last use; in an iteration of the loop
    for loop, count, has_places in reversed([*tiles, *units]):
        if loop not in slot.plan.loops:
            used += (count - 1) * calls
        elif count > 1 and not has_places:
            return stay.slots * calls - used - 1
        calls *= count
    return inf
