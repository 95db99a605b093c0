"""Start cycles that the program gives, and fifo memories, in Python (as `c_exposed` in C).

In: a Bound program, its calls one by one. Out: where they may start, or ProgramError. Not its job:
units, ports and hazards themselves.
"""

from collections.abc import Mapping

from isamap.hwdesc import Distance, Fifo, Memory, Which

from .bind import Bound
from .c_exposed import takes_slot, writes_entry
from .c_text import Fault
from .faults import show_call
from .python_walk import Step, step_error

Names = list[tuple[int, tuple[int, ...]]]  # per serial: number of the call, values of its loops


class _Entries:
    """What a fifo memory holds: per entry the number of its writing, from 1, and when it is
    there."""

    def __init__(self, memory: Memory, fifo: Fifo) -> None:
        self.granule_bytes = memory.granule_bytes
        self.amount = memory.num_entries
        self.fifo = fifo
        self.numbers: dict[int, int] = {}
        self.arrivals: dict[int, int] = {}
        self.newest = 0
        self.front = 0  # number of the entry read last
        self.opened: list[int] = []  # start of the first read of every entry

    @property
    def room_from(self) -> int:
        """When there is room for one more."""
        return self.opened[self.newest - self.amount] if self.newest >= self.amount else 0


class Exposed:
    """Everything beside units, ports and hazards that decides when a call may start."""

    def __init__(
        self, bound: Bound, floors: Mapping[str, Mapping[int, int]], kept: int = 0
    ) -> None:
        self.bound = bound
        self.kept = kept  # short calls leave every so many-th cycle to others
        self.floors = floors
        self.late: dict[tuple[str, int], int] = {}  # memory, number: no first read before
        self.starts: list[int] = []
        self.is_new = False
        self.entries = {
            memory.name: _Entries(memory, memory.fifo)
            for memory in bound.hardware.memories
            if memory.fifo is not None
        }
        self.cycles = {
            call.number: [r.first + r.step * n for r in call.issue.starts for n in range(r.count)]
            for call in bound.calls
        }
        self.executed = dict.fromkeys(self.cycles, 0)
        self.after = [0] * len(bound.hardware.distances)
        self.by = [-1] * len(bound.hardware.distances)
        self.on: dict[tuple[int, int], int] = {}
        self.slots: dict[int, int] = {}

    def read_entry(self, step: Step) -> None:
        """Is the call the first to read its entry?"""
        self.is_new = False
        found = self._entry(step)
        if found is None:
            return
        operand, entries, entry, is_read = found
        number = entries.numbers.get(entry, 0)
        if not is_read:
            is_full = entries.newest >= entries.front + entries.amount
            if is_full or number > entries.front:
                raise step_error(self.bound, step, Fault.OVERRUN, operand, entry)
            return
        self.is_new = number != entries.front
        if not number or (self.is_new and number != entries.front + 1):
            raise step_error(self.bound, step, Fault.ORDER, operand, entry)

    def _entry(self, step: Step) -> tuple[int, _Entries, int, bool] | None:
        """Operand, memory, entry, and whether the call reads it."""
        read = self.bound.hardware.entry_operand(step.call.instruction)
        for position, operand in enumerate(step.call.instruction.operands):
            entries = self.entries.get(operand.memory)
            if entries is not None:
                entry = step.addresses[position] // entries.granule_bytes
                return position, entries, entry, operand.name == read
        return None

    def timed_start(self, step: Step, free: tuple[int, int], names: Names) -> int | None:
        """The program's start, which the unit (free from cycle, instance) and the distances must
        allow; None if it gives none."""
        if not self.bound.is_timed:
            return None
        number = step.call.number
        if self.executed[number] == len(self.cycles[number]):
            raise step_error(self.bound, step, Fault.UNTIMED, len(self.cycles[number]))
        asked = self.cycles[number][self.executed[number]]
        self.executed[number] += 1
        if asked < free[0]:
            other = show_call(self.bound, *names[self.on[step.call.unit, free[1]]])
            raise step_error(self.bound, step, Fault.BUSY, other=other, cycles=(free[0], asked))
        for rule in self._rules(step, is_first=False):
            if asked < self.after[rule]:
                other = show_call(self.bound, *names[self.by[rule]])
                cycles = (self.after[rule], asked)
                raise step_error(self.bound, step, Fault.DISTANCE, rule, other=other, cycles=cycles)
        room = self._room(step)
        if asked < room[1]:
            cycles = (room[1], asked)
            raise step_error(self.bound, step, Fault.FULL, room[0], cycles=cycles)
        return asked

    def _room(self, step: Step) -> tuple[int, int]:
        """The entry that a call writes: its operand, and when there is room for it."""
        found = self._entry(step)
        return (0, 0) if found is None or found[3] else (found[0], found[1].room_from)

    def _rules(self, step: Step, is_first: bool) -> list[int]:
        """Numbers of the distances that concern the call."""
        name = step.call.instruction.name

        def concerns(rule: Distance) -> bool:
            is_counted = self.is_new or rule.which is Which.ALWAYS
            return is_counted and name == (rule.first if is_first else rule.then)

        return [n for n, rule in enumerate(self.bound.hardware.distances) if concerns(rule)]

    def earliest(self, step: Step) -> int:
        """What the distances allow."""
        after = [self.after[rule] for rule in self._rules(step, is_first=False)]
        found = self._entry(step)
        if found is not None and self.is_new:
            memory = step.call.issue.operands[found[0]].memory
            after.append(self.floors.get(memory, {}).get(found[1].numbers[found[2]], 0))
        return max([self._room(step)[1], *after])

    def fit_slot(self, step: Step, start: int) -> int:
        """The first cycle from `start` on in which one more call may start."""
        width = takes_slot(self.bound, step.call)
        if width is None:
            return start
        issue = step.call.instruction.issue_cycles
        names = {name: step.extents[name] for name in issue.names}
        is_short = self.kept > 0 and issue.evaluate(names) < self.kept
        is_short = is_short and not writes_entry(self.bound, step.call)
        while self.slots.get(start, 0) >= width or (is_short and start % self.kept == 0):
            start += 1
        return start

    def check_ports(self, step: Step, start: int, fits: list[tuple[int, int]]) -> None:
        """Every port, and the number of calls per cycle, must allow the start."""
        for port, fit in fits:
            if fit != start:
                raise step_error(self.bound, step, Fault.PORT, port, cycles=(fit, start))
        fit = self.fit_slot(step, start)
        if fit != start:
            width = takes_slot(self.bound, step.call) or 0
            raise step_error(self.bound, step, Fault.WIDTH, 0, width, cycles=(fit, start))

    def mark(self, step: Step, when: tuple[int, int], latency: int, serial: int) -> None:
        """Remember a call by its start and the instance of its unit."""
        start, instance = when
        self.starts.append(start)
        self.on[step.call.unit, instance] = serial
        if takes_slot(self.bound, step.call) is not None:
            self.slots[start] = self.slots.get(start, 0) + 1
        for rule in self._rules(step, is_first=True):
            extents = {name: step.extents[name] for name, _ in step.call.issue.extents}
            cycles = self.bound.hardware.distances[rule].cycles.evaluate(extents)
            self.after[rule] = max(self.after[rule], start + cycles)
            self.by[rule] = serial
        self._mark_entry(step, start, latency)

    def _mark_entry(self, step: Step, start: int, latency: int) -> None:
        found = self._entry(step)
        if found is None:
            return
        operand, entries, entry, is_read = found
        if not is_read:
            entries.newest += 1
            entries.numbers[entry] = entries.newest
            entries.arrivals[entry] = start + latency
            return
        if not self.is_new:
            return
        within = entries.fifo.within_cycles
        if within is not None and entries.opened:
            times = (entries.opened[-1] + within, entries.arrivals[entry])
            memory = step.call.issue.operands[operand].memory
            if times[1] > times[0] and self.bound.is_timed:
                raise step_error(self.bound, step, Fault.LATE, operand, entry, cycles=times)
            if times[1] > times[0]:  # the one before it must be read later
                self.late[memory, entries.front] = times[1] - within
        entries.front += 1
        entries.opened.append(start)
