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

from isamap.hwdesc import Hardware, Obeyed, State

from .call import Call, CallKind
from .numbers import evaluate_form, integer_form, matters, not_whole

NEVER = 1 << 62
Demand = tuple[tuple[str, int], ...]


@dataclass(slots=True)
class _Copy:
    """What one copy holds, by the setter at `position` in the result (-1: not set yet)."""

    position: int = -1
    values: dict[str, int] = field(default_factory=dict)
    served: dict[Demand, None] = field(default_factory=dict)


def set_state(
    calls: tuple[Call, ...], hw: Hardware, constants: Mapping[str, int]
) -> tuple[Call, ...]:
    """The calls with setters; a run begins with nothing set. `constants`: the image's addresses."""
    assert hw.encoding is not None
    if not hw.encoding.states:
        return calls
    return tuple(_Setting(calls, hw, constants).run())


class _Setting:
    """One run's calls and what the copies of all states hold."""

    def __init__(self, calls: tuple[Call, ...], hw: Hardware, constants: Mapping[str, int]) -> None:
        assert hw.encoding is not None
        self.calls = calls
        self.constants = constants
        self.states = {state.name: state for state in hw.encoding.states}
        self.obeys = {item.name: item.obeys for item in hw.instructions if item.obeys}
        self.counts = {i.name: dict(i.bits.counts) for i in hw.instructions if i.bits is not None}
        self.forms = {
            (name, item.state, register): integer_form(value)
            for name, obeys in self.obeys.items()
            for item in obeys
            for register, value in item.values
        }
        self.copies = {s.name: [_Copy() for _ in range(s.copies)] for s in self.states.values()}
        self.demands: list[tuple[tuple[Obeyed, Demand], ...]] = [self._demand(c) for c in calls]
        self.uses: dict[tuple[str, Demand], list[int]] = {}
        for number, demands in enumerate(self.demands):
            for obeyed, demand in demands:
                self.uses.setdefault((obeyed.state, demand), []).append(number)
        self.result: list[Call] = []

    def run(self) -> list[Call]:
        """All calls with their setters."""
        for number, call in enumerate(self.calls):
            chosen = []
            for obeyed, demand in self.demands[number]:
                state = self.states[obeyed.state]
                copy = self._obtain(state, demand, number)
                if state.copies > 1:
                    chosen.append((state.name, copy))
            self.result.append(replace(call, copies=tuple(chosen)) if chosen else call)
        for name, copies in self.copies.items():
            for held in copies:
                self._complete(self.states[name], held)
        return self.result

    def _demand(self, call: Call) -> tuple[tuple[Obeyed, Demand], ...]:
        if call.kind is not CallKind.INSTRUCTION or call.name not in self.obeys:
            return ()
        return tuple((item, self._wanted(item, call)) for item in self.obeys[call.name])

    def _wanted(self, obeyed: Obeyed, call: Call) -> Demand:
        """The register values that matter to a call: strides of single steps do not."""
        found = []
        values = {**self.constants, **call.values}
        for register, value in obeyed.values:
            if matters(value, call.values, self.counts[call.name]):
                form = self.forms[call.name, obeyed.state, register]
                number, rest = evaluate_form(form, values)
                if rest:
                    raise not_whole(value, values, call.name)
                found.append((register, number))
        return tuple(found)

    def _obtain(self, state: State, demand: Demand, number: int) -> int:
        """The copy that holds what is wanted, set if none does."""
        copies = self.copies[state.name]
        for index, copy in enumerate(copies):
            if copy.position >= 0 and all(copy.values.get(n, v) == v for n, v in demand):
                copy.values.update(demand)
                copy.served[demand] = None
                return index
        unset = [index for index, copy in enumerate(copies) if copy.position < 0]
        by_next_use = max(
            range(len(copies)), key=lambda i: self._next_use(state, copies[i], number)
        )
        index = unset[0] if unset else by_next_use
        self._complete(state, copies[index])
        copies[index] = _Copy(len(self.result), dict(demand), {demand: None})
        values = {"copy": index} if state.copies > 1 else {}
        self.result.append(Call(CallKind.SET_STATE, state.name, values))
        return index

    def _next_use(self, state: State, copy: _Copy, number: int) -> int:
        """When a call wants again what the copy holds."""
        found = NEVER
        for demand in copy.served:
            uses = self.uses[state.name, demand]
            later = bisect_right(uses, number)
            found = min(found, uses[later] if later < len(uses) else NEVER)
        return found

    def _complete(self, state: State, copy: _Copy) -> None:
        """Write the setter's values, now that all its users are known; 0 where nobody cares."""
        if copy.position >= 0:
            setter = self.result[copy.position]
            values = {name: copy.values.get(name, 0) for name in state.registers}
            self.result[copy.position] = replace(setter, values={**values, **setter.values})
