"""When schedules on one machine use what and where, each found once.

In: schedules, the loops that other tasks share. Out: their spans, the bytes of their stays. Not its
job: how tasks follow each other (`timeline`).

Forms of a kernel have most tasks in common, with the same schedules.
"""

from isamap.costmodels import Round, Span, Tiling, find_span, one_round
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from isamap.scheduler import Schedule, place

Region = tuple[str, int, int]  # a memory, first byte of a stay in it, end of the last
Regions = dict[tuple[str, int], Region]  # by operand and residence
Decided = tuple[int, int]  # identities of a covering and its tiling


class KnownSpans:
    """All on one machine; coverings and tilings are told apart by identity, and kept alive."""

    def __init__(self) -> None:
        self._rounds: dict[tuple[int, frozenset[str]], Round] = {}
        self._spans: dict[tuple[Decided, frozenset[str], frozenset[str]], Span] = {}
        self._regions: dict[Decided, Regions] = {}
        self._alive: dict[Decided, tuple[Covering, Tiling]] = {}

    def span(
        self, schedule: Schedule, hw: Hardware, shared: frozenset[str], fresh: frozenset[str]
    ) -> Span:
        """As `find_span`."""
        decided, tiling = self._decided(schedule)
        key = decided, shared, fresh
        if key not in self._spans:
            rounds = decided[0], shared
            if rounds not in self._rounds:
                self._rounds[rounds] = one_round(schedule.covering, hw, shared)
            self._spans[key] = find_span(self._rounds[rounds], tiling, hw, fresh)
        return self._spans[key]

    def regions(self, schedule: Schedule, hw: Hardware) -> Regions:
        """Where the stays lie in a task that begins at the first byte of each memory."""
        decided, tiling = self._decided(schedule)
        if decided not in self._regions:
            places = place(schedule.covering, tiling, hw)
            assert places is not None, "a schedule has a place"
            self._regions[decided] = {
                (slot.stay.operand, slot.stay.residence): (
                    slot.residence.memory, slot.base, slot.base + slot.slot_bytes * slot.stay.slots
                )
                for slot in places.slots
            }  # fmt: skip
        return self._regions[decided]

    def _decided(self, schedule: Schedule) -> tuple[Decided, Tiling]:
        tiling = schedule.tiling
        decided = id(schedule.covering), id(tiling)
        self._alive[decided] = schedule.covering, tiling
        return decided, tiling
