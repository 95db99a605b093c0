"""What the timing mode in Python remembers of single calls (as `c_events` in C).

In: the calls of an execution, one by one. Out: rows, changes of live bytes, histories, waiting. Not
its job: when calls start.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from .bind import Bound
from .c_events import deepest, has_life, lane_of, lanes
from .python_walk import Step
from .region import Region
from .waits import Wait, wait_code


class Observer:
    """Somebody who looks on and remembers nothing."""

    def begin(self, idle_from: int, start: int) -> None:
        """A call may start at `start` as far as its unit goes, one of whose instances is free from
        `idle_from` on."""

    def later(self, start: int, other: int, wait: Wait, detail: int = 0) -> int:
        """The later of the two; a reason why it is `other`."""
        return max(start, other)

    def call(
        self,
        step: Step,
        place: tuple[int, int],
        times: tuple[int, int, int],
        ports: Sequence[tuple[tuple[int, int], int]],
    ) -> None:
        """A call: copy of its unit and instance, start, issue and latency, cycles of ports."""

    def touch(self, start: int, issue: int, touched: list[tuple[Region, np.ndarray]]) -> None:
        """What the call reads and writes: granules, numbered over all copies of a memory."""


NOBODY = Observer()


class Recorder(Observer):
    """Everything that a `Trace` is made of; `limit`: calls that are remembered."""

    def __init__(self, bound: Bound, limit: int) -> None:
        self.bound = bound
        self.limit = limit
        self.rows: list[tuple[int, ...]] = []
        self.num_calls = 0
        self.cycles = 0
        self.hidden: int | None = None  # first start of a call that is not remembered
        self.spans: list[tuple[int, int, int, int]] = []  # lane, from, to, rate
        self.edges: Counter[tuple[int, int]] = Counter()  # lane and cycle: bytes
        self.lost: Counter[tuple[int, int]] = Counter()  # call and reason: cycles
        self.around: dict[int, tuple[int, int]] = {}  # per call first start, last finish
        self.born: dict[tuple[int, int], tuple[int, bool]] = {}  # lane, granule
        self.used: dict[tuple[int, int], int] = {}
        self.depth = deepest(bound)

    def begin(self, idle_from: int, start: int) -> None:
        """The reason is the queue until something else delays the call."""
        self.idle_from = idle_from
        self.why = 0

    def later(self, start: int, other: int, wait: Wait, detail: int = 0) -> int:
        """Remembers the reason if it delays the call."""
        if other > start:
            self.why = wait_code(wait, detail)
        return max(start, other)

    def call(
        self,
        step: Step,
        place: tuple[int, int],
        times: tuple[int, int, int],
        ports: Sequence[tuple[tuple[int, int], int]],
    ) -> None:
        """Adds it up, and keeps it while there is room."""
        start, issue, latency = times
        number, stall = step.call.number, start - self.idle_from
        values = step.values + (0,) * (self.depth - len(step.values))
        if self.num_calls < self.limit:
            self.rows.append((number, *place, *times, stall, self.why, *values))
        else:
            self.hidden = start if self.hidden is None else min(self.hidden, start)
        first, last = self.around.get(number, (start, 0))
        self.around[number] = min(first, start), max(last, start + latency)
        self.lost[number, self.why] += stall
        lane = lane_of(self.bound, "unit", step.call.unit) + place[0]
        self.spans.append((lane, start, start + issue, 1))
        for (port, copy), length in ports:
            first_lane = lane_of(self.bound, "port", port)
            self.spans.append((first_lane + copy, start, start + length, 1))
        self.num_calls += 1
        self.cycles = max(self.cycles, start + latency)

    def touch(self, start: int, issue: int, touched: list[tuple[Region, np.ndarray]]) -> None:
        """Bytes live from the start of who writes them to the end of who reads them last."""
        is_kept = self.num_calls <= self.limit  # the call itself is counted already
        for region, where in touched:
            for key in self._keys(region, where) if region.is_read else ():
                if key in self.born:
                    self.used[key] = max(self.used.get(key, 0), start + issue)
        for region, where in touched:
            is_renamed = self.bound.hardware.memory(region.memory).never_waits
            for key in self._keys(region, where) if region.is_written else ():
                self._end(key, None if is_renamed else start)
                self.born[key] = start, is_kept

    def _keys(self, region: Region, where: np.ndarray) -> Iterator[tuple[int, int]]:
        """Lane and number of every granule whose life is followed."""
        number = self.bound.extent_number(region.memory)
        if not has_life(self.bound, region.memory):
            return
        first = lane_of(self.bound, "memory", number)
        extent = self.bound.extents[number]
        for granule in np.unique(where):
            copy = int(granule) * extent.granule_bytes // extent.size_bytes
            yield first + copy, int(granule)

    def _end(self, key: tuple[int, int], latest: int | None) -> None:
        """Of what a granule holds."""
        used = self.used.pop(key, 0)
        born, is_kept = self.born.pop(key, (0, False))
        end = used if latest is None else min(used, latest)
        if end <= born:
            return
        lane = key[0]
        size = self.bound.extents[lanes(self.bound)[lane][1]].granule_bytes
        self.spans.append((lane, born, end, size))
        if is_kept:
            self.edges[lane, born] += size
            self.edges[lane, end] -= size

    def finish(self) -> None:
        """End what still lives."""
        for key in list(self.born):
            self._end(key, None)
