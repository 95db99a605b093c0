"""The emulator as a cost model that also looks at what lies near the closed form's best.

In: candidates as they are proposed. Out: the emulator's counts, and whether more are worth asking
for. Not its job: proposing, counting (the emulator).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from isamap.hwdesc import Hardware
from isamap.ir import Kernel

from .registry import Candidate, Price, emulated_cycles

STALE = 2  # rounds one after the other that bring nothing end it


@dataclass(frozen=True, slots=True)
class Emulated:
    """Round by round, `num_candidates` each; nothing is remembered."""

    num_candidates: int
    name: str = field(default="emulated", init=False)

    def check(self, hw: Hardware) -> None:
        """Every machine will do."""

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        """One after the other."""
        return tuple(Price(emulated_cycles(candidate, hw)) for candidate in candidates)

    def open_contest(self, kernel: Kernel, hw: Hardware) -> "EmulatedContest":
        """As in `TakesRounds`."""
        return EmulatedContest(self, hw)

    def shared(self, count: int) -> "Emulated":
        """The same: it has no time to share out."""
        return self


class EmulatedContest:
    """One kernel's, as in `Contest`."""

    def __init__(self, model: Emulated, hw: Hardware) -> None:
        self.model = model
        self.hw = hw
        self.prices: tuple[Price, ...] = ()
        self.num_stale = 0

    @property
    def wanted(self) -> int:
        """A round more, unless the last ones brought nothing."""
        return 0 if self.num_stale == STALE else self.model.num_candidates

    def see(self, candidates: Sequence[Candidate]) -> tuple[Price, ...]:
        """As in `Contest`."""
        before = self._least()
        self.prices += self.model.price(candidates, self.hw)
        is_better = before is None or self._least() != before
        self.num_stale = 0 if is_better else self.num_stale + 1
        return self.prices

    def settle(self) -> tuple[Price, ...]:
        """As in `Contest`: counts do not change."""
        return self.prices

    def _least(self) -> int | None:
        return min((p.cycles for p in self.prices if p.cycles is not None), default=None)
