"""Candidates of one kernel that are measured round by round.

In: candidates as they are proposed, a timer, a database. Out: prices that compare with each other,
and whether more candidates are worth their time. Not its job: proposing, timing (`timer`), storing
(`database`).

Each round is a race: the new candidates and the fastest ones so far, against each other. What the
new ones take beside those whose times are known compares with the rounds before, whatever the
machine does meanwhile. The fastest of many measured times is often the luckiest: what takes part in
several races has the mean of its times, and those that are close in the end are raced once more.
Races are remembered whole, with the seconds that they cost: a contest that was ended goes on where
it stopped, and the same one again takes no timer, nor another turn.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median

from isamap.codegen import find_toolchain
from isamap.costmodels import TERMS_VERSION, Candidate, Price
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel

from .database import Database, Race, Row
from .describe import Described, to_described
from .subject import make_subject
from .timer import Measurement, Timer

ANCHORS = 2  # of the fastest so far that are raced again beside new ones
GAIN = 0.01  # of the best time: a round that takes less off it brings nothing
STALE = 2  # rounds one after the other that bring nothing end it
FINALISTS = 6  # at most are raced again in the end
NEAR = 1.05  # times the best time: may be the best


class MeasuredContest:
    """One kernel's. `per_round`: how many candidates a round takes; `seconds`: by `clock`, after
    which no further round ends."""

    def __init__(
        self, kernel: Kernel, hw: Hardware, timer: Timer, database: Database, per_round: int,
        seconds: float, clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.hw = hw
        self.timer = timer
        self.database = database
        self.per_round = per_round
        self.seconds = seconds
        self.clock = clock
        self.toolchain = find_toolchain(hw)
        self.subject = make_subject(kernel, hw, self.toolchain)
        self.seen: list[Described] = []
        self.sources: dict[str, Described] = {}  # by program, of those that have any
        self.times: dict[str, Measurement] = {}  # by program; comparable with each other
        self.num_races: dict[str, int] = {}  # by program
        self.recalled: set[str] = set()  # programs that took no timer
        self.mark = 0.0  # when the last round ended, or the first one began
        self.spent_s = 0.0
        self.race_s = 0.0  # of the last race, and of what was proposed before it
        self.num_rounds = 0
        self.num_stale = 0

    @property
    def wanted(self) -> int:
        """A round more, unless it would end too late or the last ones brought nothing."""
        is_late = self.spent_s + self.race_s >= self.seconds
        is_over = self.num_rounds > 0 and (is_late or self.num_stale == STALE)
        return 0 if is_over else self.per_round

    def see(self, candidates: Sequence[Candidate]) -> tuple[Price, ...]:
        """As in `Contest`.

        Raises:
            IsamapError: none of the first ones runs.
        """
        if not self.num_rounds:  # what took all schedules to look at is no measure of a round
            self.mark = self.clock()
        rows = [to_described(candidate, self.hw) for candidate in candidates]
        self.seen += rows
        self.sources.update({row.program: row for row in rows if row.source is not None})
        new = [program for program in self.sources if program not in self.times]
        before = self._fastest(ANCHORS)
        if new:
            self._race([*(program for program, _ in before), *new])
        after = self._fastest(1)
        if not after:
            raise IsamapError(
                f"none of {len(rows)} candidates for {self.kernel.name} on {self.hw.name} can be"
                f" measured; the first: {self._price(rows[0]).problem}",
                hint="another --cost needs no processor",
            )
        is_better = not before or after[0][1] < (1 - GAIN) * before[0][1]
        self.num_stale = 0 if is_better else self.num_stale + 1
        self.num_rounds += 1
        return tuple(map(self._price, self.seen))

    def settle(self) -> tuple[Price, ...]:
        """As in `Contest`: those that came close are measured against each other."""
        order = self._fastest(FINALISTS)
        finalists = [program for program, seconds in order if seconds <= NEAR * order[0][1]]
        if self.num_rounds > 1 and len(finalists) > 1:
            self._race(finalists)
        return tuple(map(self._price, self.seen))

    def _race(self, programs: list[str]) -> None:
        """Measure them against each other, or recall it."""
        rows = [self.sources[program] for program in programs]
        race = self.database.recall_race(self.subject, programs) or self._older(programs)
        if race is None:
            found = self.timer.time([r.source for r in rows if r.source], self.toolchain)
            race = Race(dict(zip(programs, found, strict=True)), self.clock() - self.mark)
            self._enter(race)
            self._record(race, rows)
        else:
            self.recalled.update(program for program in programs if program not in self.times)
            self._enter(race)
        about = {row.program: row.about for row in rows}
        self.database.describe(self.subject, TERMS_VERSION, about)
        self.mark = self.clock()
        self.race_s = race.spent_s
        self.spent_s += race.spent_s

    def _older(self, programs: Sequence[str]) -> Race | None:
        """The first race, of single measurements, as older files hold them."""
        if self.times:
            return None
        known = self.database.recall(self.subject)
        if not all(program in known for program in programs):
            return None
        return Race({program: known[program].measurement for program in programs}, 0.0)

    def _enter(self, race: Race) -> None:
        """Times in units of those that are known; the mean of a program's logarithms."""
        ran = {p: (m, m.seconds) for p, m in race.measurements.items() if m.seconds is not None}
        known = [(self.times[p].seconds or 0.0) / s for p, (_, s) in ran.items() if p in self.times]
        scale = median(known) if known else 1.0
        for program, found in race.measurements.items():
            if program not in ran:
                self.times.setdefault(program, found)
                continue
            seconds = scale * ran[program][1]
            count = self.num_races.get(program, 0)
            before = self.times[program].seconds if count else None
            mean = seconds if before is None else (before**count * seconds) ** (1 / (count + 1))
            self.times[program] = replace(found, seconds=mean)
            self.num_races[program] = count + 1

    def _record(self, race: Race, rows: Sequence[Described]) -> None:
        """Keep what would be found again: the times, and the race if all of it would."""
        lasting = {
            row.program: Row(row.program, row.about.predicted_s, self.times[row.program])
            for row in rows
            if race.measurements[row.program].is_lasting
        }
        self.database.record(self.subject, lasting)
        if len(lasting) == len(rows):
            self.database.record_race(self.subject, race)

    def _fastest(self, count: int) -> list[tuple[str, float]]:
        """Programs with their seconds, the best first."""
        found = [(p, m.seconds) for p, m in self.times.items() if m.seconds is not None]
        return sorted(found, key=lambda pair: pair[1])[:count]

    def _price(self, row: Described) -> Price:
        if row.source is None:
            return Price(None, row.problem)
        measurement, is_recalled = self.times[row.program], row.program in self.recalled
        if measurement.seconds is None:
            return Price(None, measurement.problem, is_recalled)
        return Price(max(1, round(measurement.seconds * self.hw.clock_hz)), "", is_recalled)
