"""The cost model that runs candidates on this processor.

In: candidates. Out: cycles of the machine's clock that they took, measured now or before. Not its
job: running (`timer`), storing (`database`), making candidates.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from isamap.codegen import find_toolchain, missing_features
from isamap.costmodels import Candidate, Contest, CostModel, Price
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel

from .contest import MeasuredContest
from .database import Database, default_path
from .timer import ProcessTimer, Timer

PER_ROUND = 10
SECONDS = 22.0


@dataclass(frozen=True, slots=True)
class Measured:
    """Measures candidates round by round, those of a round against each other, and remembers what
    they took.

    `num_candidates`: of a round. `database`: a file; the user's own if None. `timer`: how programs
    are timed. `seconds`: by `clock`, for the rounds of a kernel; 0: a single round.
    """

    num_candidates: int = PER_ROUND
    database: Path | None = None
    timer: Timer = field(default_factory=ProcessTimer)
    seconds: float = SECONDS
    clock: Callable[[], float] = time.perf_counter

    @property
    def name(self) -> str:
        """As in `--cost measured`."""
        return "measured"

    @property
    def path(self) -> Path:
        """Where measurements are kept."""
        return self.database or default_path()

    def check(self, hw: Hardware) -> None:
        """Raise an IsamapError unless programs of the machine run on this processor."""
        check_runs_here(hw)

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        """All against each other.

        Raises:
            IsamapError: none of them runs.
        """
        return self.open_contest(candidates[0].covering.kernel, hw).see(candidates)

    def open_contest(self, kernel: Kernel, hw: Hardware) -> Contest:
        """As in `TakesRounds`."""
        return MeasuredContest(
            kernel, hw, self.timer, Database(self.path), self.num_candidates, self.seconds,
            self.clock,
        )  # fmt: skip

    def shared(self, count: int) -> CostModel:
        """As in `TakesRounds`."""
        return replace(self, seconds=self.seconds / max(1, count))


def check_runs_here(hw: Hardware) -> None:
    """Raise an IsamapError unless programs of the machine run on this processor."""
    if all(instruction.c_form is None for instruction in hw.instructions):
        raise IsamapError(
            f"programs for {hw.name} cannot be measured: its instructions have no C text",
            hint="measure a machine that 'isamap detect' lists, or use another --cost",
        )
    toolchain = find_toolchain(hw)
    reason = f"they run under {toolchain.run[0]}" if toolchain.run else ""
    if not reason and hw.compiler and (missing := missing_features(hw.compiler)):
        reason = f"this processor lacks {', '.join(missing)}"
    if reason:
        raise IsamapError(
            f"programs for {hw.name} cannot be measured here: {reason}",
            hint="'isamap detect' says which machines this processor is",
        )
