"""How long tasks take one after the other, each as early as units and data let it.

In: the tree of tasks, how each of them runs or may run, the machine. Out: cycles, or what no choice
goes below. Not its job: the program (`compose`), what a task takes by itself (`costmodels`).

A task keeps its shape (`Span`) and begins when every unit it needs is done with what came before,
and the elements that it fetches have been written. With tokens everybody waits for a task to end.
The first rounds of a loop are followed one by one; the others take as long as the last one of
these. Ports serve neighbours between each other's calls; all tasks together keep them busy at
least so long.
"""

from collections.abc import Mapping
from itertools import product
from math import ceil, inf

from isamap.costmodels import Span, Use, find_span
from isamap.hwdesc import Hardware, Synchronisation
from isamap.ir import may_distribute, may_swap
from isamap.mapper import Task, TaskLoop, TaskNode, flatten

from .plan import PlannedTask

ROUNDS = 4  # of a loop that are followed one by one

Ways = Mapping[int, tuple[PlannedTask, ...]]  # task number -> on the host, off it, or both


class Timeline:
    """The tasks of one tree; what is found for one choice of who runs them serves the others."""

    def __init__(self, nodes: tuple[TaskNode, ...], hw: Hardware) -> None:
        self.nodes = nodes
        self.hw = hw
        self.feeds: dict[tuple[int, int], tuple[bool, bool]] = {}
        self.spans: dict[tuple[int, bool, frozenset[str]], Span] = {}

    def cycles(self, ways: Ways) -> int:
        """Of all tasks, without what is laid out anew in between; of those with several ways to
        run, no more than the best choice takes."""
        line = _Line(self, ways)
        line.run(self.nodes, ())
        ports: dict[tuple[str, str], int] = {}
        for task in flatten(self.nodes):
            mine = ways[task.number]
            if not any(way.on_host for way in mine):
                for port, cycles in mine[0].best.estimate.port_cycles:
                    ports[port] = ports.get(port, 0) + cycles
        return ceil(max(line.end, *ports.values(), 0))


class _Line:
    """Tasks in their order. `free`: from when on units are; `written`: when what tasks write is,
    in the latest round and in the one before."""

    def __init__(self, known: Timeline, ways: Ways) -> None:
        self.ways = ways
        self.hw = known.hw
        self.is_token = known.hw.synchronisation is Synchronisation.TOKENS
        self.free: dict[str, float] = {}
        self.written: dict[int, tuple[float, float]] = {}
        self.feeds = known.feeds
        self.end = 0.0
        self.spans = known.spans

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
        span = _common([self._span(way, around) for way in self.ways[task.number]])
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
            writer = self.ways[number][0].task
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
        key = planned.task.number, planned.on_host, fresh
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
            names = [unit.name for unit in self.hw.units]
            busy = [self.hw.host.unit] if self.hw.host.is_apart else names
            uses = tuple(Use(name, 0.0, cycles) for name in busy)
            return Span(cycles, uses, tuple((name, 0.0) for name in sorted(planned.task.touched)))
        best = planned.best
        assert best.solution.tiling is not None, "a schedule has a tiling"
        shared = frozenset(name for name, _, _ in around)
        return find_span(best.covering, best.solution.tiling, self.hw, shared, fresh)


def _common(spans: list[Span]) -> Span:
    """What all of these take at least: no unit where they differ, each buffer as late as one of
    them."""
    if len(spans) == 1:
        return spans[0]
    firsts = {
        buffer: [min((c for n, c in span.fetched if n == buffer), default=inf) for span in spans]
        for buffer in dict(spans[0].fetched)
    }
    fetched = tuple((buffer, max(cycles)) for buffer, cycles in firsts.items())
    return Span(min(span.cycles for span in spans), (), fetched)
