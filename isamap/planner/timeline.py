"""How long tasks take one after the other, each as early as units and data let it.

In: the tree of tasks, how each of them runs, the machine. Out: cycles. Not its job: the program
(`compose`), what a task takes by itself (`costmodels`).

A task keeps its shape (`Span`) and begins when every unit it needs is done with what came before,
and the elements that it fetches have been written. With tokens everybody waits for a task to end.
The first rounds of a loop are followed one by one; the others take as long as the last one of
these. Ports serve neighbours between each other's calls; all tasks together keep them busy at
least so long.
"""

from collections.abc import Mapping
from itertools import product
from math import ceil

from isamap.costmodels import Span, Use, find_span
from isamap.hwdesc import Hardware, Synchronisation
from isamap.ir import may_distribute, may_swap
from isamap.mapper import Task, TaskLoop, TaskNode, flatten

from .plan import PlannedTask

ROUNDS = 4  # of a loop that are followed one by one


def timeline(nodes: tuple[TaskNode, ...], planned: Mapping[int, PlannedTask], hw: Hardware) -> int:
    """Cycles of all tasks, without what is laid out anew in between."""
    line = _Line(planned, hw)
    line.run(nodes, ())
    ports: dict[tuple[str, str], int] = {}
    for task in flatten(nodes):
        if not planned[task.number].on_host:
            for port, cycles in planned[task.number].best.estimate.port_cycles:
                ports[port] = ports.get(port, 0) + cycles
    return ceil(max(line.end, *ports.values(), 0))


class _Line:
    """Tasks in their order. `free`: from when on units are; `written`: when what tasks write is,
    in the latest round and in the one before."""

    def __init__(self, planned: Mapping[int, PlannedTask], hw: Hardware) -> None:
        self.planned = planned
        self.hw = hw
        self.is_token = hw.synchronisation is Synchronisation.TOKENS
        self.free: dict[str, float] = {}
        self.written: dict[int, tuple[float, float]] = {}
        self.feeds: dict[tuple[int, int], tuple[bool, bool]] = {}
        self.end = 0.0
        self.spans: dict[tuple[int, frozenset[str]], Span] = {}

    def run(self, nodes: tuple[TaskNode, ...], around: tuple[tuple[str, bool, int], ...]) -> None:
        """One after the other; `around`: loops, whether in their first round, and their extents."""
        for node in nodes:
            if isinstance(node, Task):
                self._place(node, around)
            else:
                self._repeat(node, around)

    def _repeat(self, node: TaskLoop, around: tuple[tuple[str, bool, int], ...]) -> None:
        last = 0.0
        extent = node.loop.extent
        for number in range(min(extent, ROUNDS)):
            begin = self.end
            self.run(node.body, (*around, (node.loop.name, number == 0, extent)))
            last = self.end - begin
        self._skip(max(0, extent - ROUNDS) * last)

    def _skip(self, cycles: float) -> None:
        self.end += cycles
        self.free = {name: time + cycles for name, time in self.free.items()}
        self.written = {n: (old + cycles, new + cycles) for n, (old, new) in self.written.items()}

    def _place(self, task: Task, around: tuple[tuple[str, bool, int], ...]) -> None:
        planned = self.planned[task.number]
        span = self._span(planned, around)
        begin = 0.0
        for use in span.uses:
            begin = max(begin, self.free.get(use.unit, 0.0) - use.first)
        for buffer, fetched in span.fetched:
            begin = max(begin, self._ready(buffer, task) - fetched)
        if self.is_token:
            begin = self.end
        for use in span.uses:
            self.free[use.unit] = begin + use.last
        _, latest = self.written.get(task.number, (0.0, 0.0))
        self.written[task.number] = latest, begin + span.cycles
        self.end = max(self.end, begin + span.cycles)

    def _ready(self, buffer: str, reader: Task) -> float:
        """From when on the reader finds its elements of a buffer."""
        ready = 0.0
        for number, (before, latest) in self.written.items():
            writer = self.planned[number].task
            if any(s.target.buffer == buffer for s in writer.statements):
                same_round, next_round = self._feeds(writer, reader)
                if number < reader.number:
                    ready = max(ready, latest if same_round else before if next_round else 0.0)
                elif next_round:
                    ready = max(ready, latest)
        return ready

    def _feeds(self, writer: Task, reader: Task) -> tuple[bool, bool]:
        """Does the reader depend on the writer in the same round of the loops around both? In a
        later one?"""
        key = writer.number, reader.number
        if key not in self.feeds:
            shared = tuple(name for name in writer.held if name in reader.held)
            pairs = list(product(writer.statements, reader.statements))
            self.feeds[key] = (
                not all(may_swap(a, b, may_reassociate=False, fixed=shared) for a, b in pairs),
                not all(may_distribute(b, a, shared) for a, b in pairs),
            )
        return self.feeds[key]

    def _span(self, planned: PlannedTask, around: tuple[tuple[str, bool, int], ...]) -> Span:
        """One round of a task."""
        fresh = frozenset(name for name, is_first, _ in around if is_first)
        key = planned.task.number, fresh
        if key not in self.spans:
            self.spans[key] = self._find_span(planned, around, fresh)
        return self.spans[key]

    def _find_span(
        self,
        planned: PlannedTask,
        around: tuple[tuple[str, bool, int], ...],
        fresh: frozenset[str],
    ) -> Span:
        if planned.on_host:
            assert self.hw.host is not None, "only a host runs such tasks"
            cycles: float = planned.cycles
            for _, _, extent in around:
                cycles /= extent
            uses = (Use(self.hw.host.unit, 0.0, cycles),)
            return Span(cycles, uses, tuple((name, 0.0) for name in sorted(planned.task.touched)))
        best = planned.best
        assert best.solution.tiling is not None, "a schedule has a tiling"
        shared = frozenset(name for name, _, _ in around)
        return find_span(best.covering, best.solution.tiling, self.hw, shared, fresh)
