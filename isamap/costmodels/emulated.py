"""The emulator as a cost model that also looks at what lies near the closed form's best.

In: candidates as they are proposed. Out: the emulator's counts, and whether more are worth asking
for. Not its job: proposing, counting (the emulator).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from isamap.emulator import Timing, time_scheduled
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.program import Program

from .registry import EMULATED, Candidate, CostModel, Price

STALE = 2  # rounds one after the other that bring nothing end it
MOST_CALLS = 40_000_000  # of programs that are emulated: a quarter of a minute's


@dataclass(frozen=True, slots=True)
class Emulated:
    """Round by round, `num_candidates` each; nothing is remembered, and nothing depends on a clock.
    `most_calls`: of all programs of a kernel, after which no further round ends."""

    num_candidates: int
    most_calls: int = MOST_CALLS
    name: str = field(default="emulated", init=False)

    def check(self, hw: Hardware) -> None:
        """Every machine will do."""

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        """One after the other."""
        return tuple(Price(timing.cycles) for timing in _timings(candidates, hw))

    def open_contest(self, kernel: Kernel, hw: Hardware) -> "EmulatedContest":
        """As in `TakesRounds`."""
        return EmulatedContest(self, hw)

    def shared(self, count: int) -> "Emulated":
        """As in `TakesRounds`."""
        return replace(self, most_calls=self.most_calls // max(1, count))

    def one_by_one(self) -> CostModel:
        """As in `CountsPrograms`."""
        return EMULATED

    def program_cycles(self, program: Program, hw: Hardware) -> int:
        """As in `CountsPrograms`."""
        return time_scheduled(program, hw).cycles


class EmulatedContest:
    """One kernel's, as in `Contest`."""

    def __init__(self, model: Emulated, hw: Hardware) -> None:
        self.model = model
        self.hw = hw
        self.prices: tuple[Price, ...] = ()
        self.num_stale = 0
        self.num_calls = 0
        self.last_calls = 0  # in the last round

    @property
    def wanted(self) -> int:
        """A round more, unless it would take too many calls or the last ones brought nothing."""
        is_late = self.num_calls + self.last_calls > self.model.most_calls
        is_over = bool(self.prices) and (is_late or self.num_stale == STALE)
        return 0 if is_over else self.model.num_candidates

    def see(self, candidates: Sequence[Candidate]) -> tuple[Price, ...]:
        """As in `Contest`."""
        before = self._least()
        timings = _timings(candidates, self.hw)
        self.prices += tuple(Price(timing.cycles) for timing in timings)
        self.last_calls = sum(count for timing in timings for _, count in timing.calls)
        self.num_calls += self.last_calls
        is_better = before is None or self._least() != before
        self.num_stale = 0 if is_better else self.num_stale + 1
        return self.prices

    def settle(self) -> tuple[Price, ...]:
        """As in `Contest`: counts do not change."""
        return self.prices

    def _least(self) -> int | None:
        return min((p.cycles for p in self.prices if p.cycles is not None), default=None)


def _timings(candidates: Sequence[Candidate], hw: Hardware) -> list[Timing]:
    return [time_scheduled(candidate.program, hw) for candidate in candidates]
