"""Calls that set registers, as rarely as possible.

In: the calls of a run. Out: the same calls, each saying which copy of a state it obeys, with
setters before those that need them. Not its job: what registers mean.

Every loop is written out here, so the whole future is known. A setter is needed only where no copy
holds what a call obeys; it then replaces the copy whose values are needed again latest (Belady's
rule, IBM Systems Journal 1966, optimal for equal costs). A register that no call since the setter
cares about takes the value that a later call wants, so setters serve as many calls as they can.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from isamap.hwdesc import Hardware, Obeyed, State

from .call import CallKind, Calls, Column, Form, in_order, one_call, split_by
from .numbers import evaluate_all, idle_terms, number_at

NEVER = 1 << 62
Demand = tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Copy:
    """What one copy holds, by the setter at `position` among the setters (-1: not set yet), and the
    demands that it has served."""

    position: int = -1
    values: dict[str, int] = field(default_factory=dict)
    served: dict[int, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Use:
    """Where calls obey a state: the batch, their places, the number of what each demands."""

    batch: int
    places: np.ndarray
    demands: np.ndarray


def set_state(
    batches: tuple[Calls, ...], hw: Hardware, constants: Mapping[str, int]
) -> tuple[Calls, ...]:
    """The calls with setters; a run begins with nothing set. `constants`: the image's addresses."""
    assert hw.encoding is not None
    setters: list[Calls] = []
    result = list(batches)
    for state in hw.encoding.states:
        demands: dict[Demand, int] = {}
        uses = []
        for number, calls in enumerate(batches):
            obeyed = _obeyed(calls, state, hw)
            if obeyed is not None:
                wanted = _demands(calls, obeyed, demands, hw, constants)
                uses.append(_Use(number, calls.places, wanted))
        if not uses:
            continue
        setting = _Setting(state, tuple(demands), uses)
        for use, copies in zip(uses, setting.run(), strict=True):
            result[use.batch] = result[use.batch].with_values({f"copy of {state.name}": copies})
        setters += setting.setters
    told = [part for calls in result for part in _told(calls, hw)]
    return in_order([*setters, *told])


def _obeyed(calls: Calls, state: State, hw: Hardware) -> Obeyed | None:
    if calls.form.kind is not CallKind.INSTRUCTION:
        return None
    found = (o for o in hw.instruction(calls.form.name).obeys if o.state == state.name)
    return next(found, None)


def _told(calls: Calls, hw: Hardware) -> list[Calls]:
    """Calls that know which copy they obey, of the one state that has several."""
    assert hw.encoding is not None
    columns = [n for n in calls.values if n.startswith("copy of ")]
    several = [s.name for s in hw.encoding.states if s.copies > 1]
    rest = {name: value for name, value in calls.values.items() if name not in columns}
    own = replace(calls, values=rest)
    for name in several:
        if f"copy of {name}" in columns:
            return [
                own.take(rows, replace(own.form, copies=((name, int(copy)),)))
                for copy, rows in split_by(calls.column(f"copy of {name}"))
            ]
    return [own]


def _demands(
    calls: Calls,
    obeyed: Obeyed,
    known: dict[Demand, int],
    hw: Hardware,
    constants: Mapping[str, int],
) -> np.ndarray:
    """The number of the register values that matter to each call, in `known` (which grows): strides
    of single steps do not matter."""
    bits = hw.instruction(calls.form.name).bits
    counts = dict(bits.counts) if bits is not None else {}
    values: dict[str, Column] = {**constants, **calls.values}
    numbers: list[tuple[str, Column, np.ndarray]] = []  # register, its value, does it matter
    columns = [np.zeros(len(calls), np.int64)]
    for register, value in obeyed.values:
        matters = np.broadcast_to(~np.asarray(idle_terms(value, values, counts)), len(calls))
        number = evaluate_all(value, values, calls.form.name, matters)
        numbers.append((register, number, matters))
        columns.append(matters)
        columns += [] if isinstance(number, int) else [np.where(matters, number, 0)]
    found = np.zeros(len(calls), np.int64)
    for _, rows in split_by(np.stack(columns, axis=1)):
        row = int(np.argmax(rows))
        demand = tuple((n, number_at(v, row)) for n, v, matters in numbers if matters[row])
        found[rows] = known.setdefault(demand, len(known))
    return found


class _Setting:
    """One state's copies through a run; `setters` are the calls that set them."""

    def __init__(self, state: State, demands: tuple[Demand, ...], uses: list[_Use]) -> None:
        self.state = state
        self.demands = demands
        self.copies = [_Copy() for _ in range(state.copies)]
        self.setters: list[Calls] = []
        self.places = np.concatenate([np.zeros(0, np.int64), *(use.places for use in uses)])
        self.order = np.argsort(self.places, kind="stable")
        wanted = np.concatenate([np.zeros(0, np.int64), *(use.demands for use in uses)])[self.order]
        self.wanted: list[int] = wanted.tolist()
        self.lengths = [len(use.places) for use in uses]
        self.uses: list[list[int]] = [[] for _ in demands]
        for number, demand in enumerate(self.wanted):
            self.uses[demand].append(number)

    def run(self) -> list[np.ndarray]:
        """The copy that each call obeys, per batch."""
        chosen = []
        serving: dict[int, int] = {}  # demand: a copy that holds it
        for number, demand in enumerate(self.wanted):
            index = serving.get(demand)
            if index is None:
                index = self._obtain(demand, number, serving)
            chosen.append(index)
        for copy in self.copies:
            self._complete(copy)
        found = np.empty(len(chosen), np.int64)
        found[self.order] = chosen
        return np.split(found, np.cumsum(self.lengths)[:-1])

    def _obtain(self, wanted: int, number: int, serving: dict[int, int]) -> int:
        """A copy that holds what is wanted, set if none does."""
        demand = self.demands[wanted]
        for index, copy in enumerate(self.copies):
            if copy.position >= 0 and all(copy.values.get(n, v) == v for n, v in demand):
                copy.values.update(demand)
                copy.served[wanted] = None
                serving[wanted] = index
                return index
        unset = [index for index, copy in enumerate(self.copies) if copy.position < 0]
        by_next_use = max(
            range(len(self.copies)), key=lambda i: self._next_use(self.copies[i], number)
        )
        index = unset[0] if unset else by_next_use
        self._complete(self.copies[index])
        for served in self.copies[index].served:
            serving.pop(served, None)
        serving[wanted] = index
        self.copies[index] = _Copy(len(self.setters), dict(demand), {wanted: None})
        place = int(self.places[self.order[number]])
        values = {"copy": index} if self.state.copies > 1 else {}
        self.setters.append(one_call(Form(CallKind.SET_STATE, self.state.name), place, values))
        return index

    def _next_use(self, copy: _Copy, number: int) -> int:
        """When a call wants again what the copy holds."""
        found = NEVER
        for demand in copy.served:
            uses = self.uses[demand]
            later = bisect_right(uses, number)
            found = min(found, uses[later] if later < len(uses) else NEVER)
        return found

    def _complete(self, copy: _Copy) -> None:
        """Write the setter's values, now that all its users are known; 0 where nobody cares."""
        if copy.position >= 0:
            setter = self.setters[copy.position]
            values = {name: copy.values.get(name, 0) for name in self.state.registers}
            self.setters[copy.position] = replace(setter, values={**values, **setter.values})
