"""What happened when: single calls, and histories of everything that can be busy or full.

In: nothing but these values. Out: frozen values. Not its job: recording them (`trace_program`),
showing them (`report`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from isamap.hwdesc import Hardware
from isamap.program import Issue, Program

from .c_events import NUM_FIELDS
from .result import Timing
from .waits import Wait, read_code


@dataclass(frozen=True, slots=True)
class Place:
    """A unit, a port or a memory of one core. `core`: None for what all cores share, and where
    there is but one; `instances`: that run side by side; `size_bytes`, `is_renamed`: of memories
    (writes do not wait for readers there, so more bytes can live in it than it has)."""

    kind: str
    name: str
    core: int | None
    instances: int = 1
    size_bytes: int = 0
    is_renamed: bool = False


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One execution of an Issue. `stall_cycles`: how long its unit instance did nothing before it;
    `wait`, `at`: what for last, and the name of the channel, operand or port."""

    issue: Issue
    place: Place
    instance: int
    start: int
    issue_cycles: int
    latency_cycles: int
    stall_cycles: int
    wait: Wait
    at: str
    loops: tuple[tuple[str, int], ...]

    @property
    def finish(self) -> int:
        """When its results are there."""
        return self.start + self.latency_cycles

    @property
    def extents(self) -> tuple[tuple[str, int], ...]:
        """The extents of its loops and repeats."""
        values = dict(self.loops)
        spans = (*self.issue.extents, *((r.name, r.span) for r in self.issue.repeats))
        return tuple((name, span.value(values)) for name, span in spans)

    @property
    def addresses(self) -> tuple[tuple[str, str, int], ...]:
        """Per operand its name, its memory and the byte it begins at."""
        values = dict(self.loops)
        return tuple((o.name, o.memory, o.address.value(values)) for o in self.issue.operands)


@dataclass(frozen=True, slots=True)
class Family:
    """All executions of an Issue: the first start, the last finish, and per reason (a number, see
    `waits`) how long its unit did nothing before them.

    `loops`: those around it, outermost first. `place`: number of its unit's first copy.
    """

    issue: Issue
    loops: tuple[str, ...]
    place: int
    first_start: int
    last_finish: int
    lost: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A program's time in detail: the very times of its `timing`.

    `rows`: the first calls in program order, as `c_events` lays them out; `num_calls`: how many
    there are in all; before `complete_cycles` no call starts that is not among the rows. `edges`:
    (number of a place, cycle, bytes) by how much the live bytes of a memory change: those that one
    of the rows' calls wrote, and that will be read again. `history`: per place and bucket of
    `bucket_cycles` of the whole program, all calls included, busy cycles, or bytes times cycles.
    """

    program: Program
    hardware: Hardware
    timing: Timing
    places: tuple[Place, ...]
    families: tuple[Family, ...]
    rows: np.ndarray
    num_calls: int
    complete_cycles: int
    edges: np.ndarray
    bucket_cycles: int
    history: np.ndarray

    @property
    def is_complete(self) -> bool:
        """Is every call among the rows?"""
        return len(self.rows) == self.num_calls

    def calls(self) -> Iterator[TracedCall]:
        """The rows' calls, in program order."""
        for row in self.rows.tolist():
            number, copy, instance, start, issue, latency, stall, code = row[:NUM_FIELDS]
            family = self.families[number]
            wait, at = self.reason(family, code)
            loops = tuple(zip(family.loops, row[NUM_FIELDS:]))
            place = self.places[family.place + copy]
            times = start, issue, latency, stall
            yield TracedCall(family.issue, place, instance, *times, wait, at, loops)

    def reason(self, family: Family, code: int) -> tuple[Wait, str]:
        """What a number (see `waits`) says of a call: the reason, and the name of the channel, the
        operand or the port."""
        wait, detail = read_code(code)
        match wait:
            case Wait.TOKEN:
                return wait, self.hardware.channels[detail].name
            case Wait.WRITER | Wait.READERS:
                operand = family.issue.operands[detail]
                return wait, f"{operand.name} in {operand.memory}"
            case Wait.PORT:
                memories = self.hardware.memories
                ports = [f"{m.name}.{port.name}" for m in memories for port in m.ports]
                return wait, ports[detail]
            case _:
                return wait, ""
