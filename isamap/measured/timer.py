"""Time several generated functions against each other.

In: C functions, a toolchain. Out: a measurement per function: seconds per call, or why there are
none. Not its job: which functions, remembering.

All wait in processes of their own, on one core, and take turns, so that whatever disturbs the
machine disturbs all. A sample is the processor time of a few milliseconds of calls after a warm-up;
of functions that start threads, the time by the wall clock. What is clearly slower than the best is
dropped from further turns. The measurement is the median of what one takes beside the best one in
the same turn, times the best one's own median: a slow second hits those who took part in it alike,
also where others outlived it.
"""

import os
import statistics
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Protocol

from isamap.codegen import CSource, Toolchain, generate_timer
from isamap.errors import IsamapError
from isamap.work_folder import work_folder

from .timed_process import RunError, TimedProcess

SAMPLE_S = 0.004
LONG_S = 0.2  # a call that leaves nothing in caches that the next one uses
# Calls: shared caches keep lines from the third to eighth pass on (75 MiB on a Golden Cove server).
LEAST_WARM_UPS, MOST_WARM_UPS = 3, 8
WARM_UP_S = 0.1  # more than the least take no longer: long calls seldom wait for memory
LEAST_ROUNDS, MOST_ROUNDS = 3, 11
BUDGET_S = 4.0  # for the samples of all functions; the least rounds are run nevertheless
# Times the best median after one, two, three turns and more: such a function is not asked again.
HOPELESS = 2.0, 1.4, 1.15
TOGETHER_BYTES = 2**31  # of arrays in memory at a time
COMPILERS = 2  # at a time


@dataclass(frozen=True, slots=True)
class Measurement:
    """Seconds per call, typical and least over the samples; None and a problem if it cannot run.

    `is_lasting`: worth remembering.
    """

    seconds: float | None
    least_s: float | None = None
    num_samples: int = 0
    problem: str = ""
    is_lasting: bool = True


class Timer(Protocol):
    """Runs functions and says how long they take."""

    def time(self, sources: Sequence[CSource], toolchain: Toolchain) -> tuple[Measurement, ...]:
        """A measurement per function, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessTimer:
    """The real one. `limit_s`: for a single sample."""

    limit_s: float = 30.0

    def time(self, sources: Sequence[CSource], toolchain: Toolchain) -> tuple[Measurement, ...]:
        """As in `Timer`."""
        size = sum(p.layout.size_bytes for p in sources[0].parameters) if sources else 1
        batch = max(1, TOGETHER_BYTES // max(1, size))
        found: list[Measurement] = []
        for first in range(0, len(sources), batch):
            found += self._time(sources[first : first + batch], toolchain)
        return tuple(found)

    def _time(self, sources: Sequence[CSource], toolchain: Toolchain) -> list[Measurement]:
        threads = max(source.num_threads for source in sources)
        with work_folder() as name, ExitStack() as open_:
            folders = [Path(name, str(number)) for number in range(len(sources))]
            with ThreadPoolExecutor(COMPILERS) as pool:
                made = [pool.submit(compile_timer, *p, toolchain) for p in zip(sources, folders)]
                problems = [job.result() for job in made]
            runs: list[Run] = []
            for folder, problem in zip(folders, problems, strict=True):
                run = Run(problem=problem)
                if not problem:
                    command = [str(folder / "timer")]
                    process = TimedProcess(command, cores(threads), self.limit_s)
                    run = Run(open_.enter_context(process), is_threaded=threads > 1)
                runs.append(run)
            race(runs)
        return [run.measurement() for run in runs]


class Run:
    """One function while it is timed."""

    def __init__(
        self, process: TimedProcess | None = None, problem: str = "", *, is_threaded: bool = False
    ) -> None:
        self.process = process
        self.is_threaded = is_threaded
        self.count = 1  # calls per sample
        self.warm_ups = MOST_WARM_UPS  # calls before each
        self.is_long = False
        self.samples: list[float] = []  # one per turn
        self.beside = 1.0  # of what the median says: see `settle`
        self.problem = problem
        self.is_lasting = True

    def warm_up(self) -> None:
        """Touch the arrays and choose how many calls make a sample."""
        self._ask(1)
        once = self._ask(1)
        if once is not None:
            self.is_long = once > LONG_S
            self.count = ceil(min(1e7, max(1.0, SAMPLE_S / max(once, 1e-9))))
            calls = int(min(MOST_WARM_UPS, WARM_UP_S / max(once, 1e-9)))
            self.warm_ups = max(LEAST_WARM_UPS, calls)

    def sample(self) -> float:
        """Take one more; the seconds that it took, warm-up included."""
        warming = 0.0 if self.is_long else self._ask(self.warm_ups)  # others have used the caches
        seconds = self._ask(self.count)
        if warming is None or seconds is None:
            return 0.0
        self.samples.append(seconds / self.count)
        return warming + seconds

    def _ask(self, count: int) -> float | None:
        if self.process is None or self.problem:
            return None
        try:
            elapsed = self.process.ask(count)
            return elapsed.wall_s if self.is_threaded else elapsed.own_s
        except RunError as error:
            self.problem, self.is_lasting = str(error), error.is_lasting
            return None

    @property
    def seconds(self) -> float:
        """The median so far."""
        return statistics.median(self.samples)

    def measurement(self) -> Measurement:
        """What is known in the end."""
        if self.problem:
            return Measurement(None, problem=self.problem, is_lasting=self.is_lasting)
        return Measurement(self.beside * self.seconds, min(self.samples), len(self.samples))


def race(runs: Sequence[Run]) -> None:
    """Sample all in turn until the slower ones are known to be slower, or time is up."""
    for run in runs:
        run.warm_up()
    take_turns(runs)
    settle(runs)


def settle(runs: Sequence[Run]) -> None:
    """Compare each with the best of those that had most turns, turn by turn."""
    running = [run for run in runs if not run.problem]
    if not running:
        return
    most = max(len(run.samples) for run in running)
    best = min((r for r in running if len(r.samples) == most), key=lambda run: run.seconds)
    for run in running:
        pace = statistics.median(own / its for own, its in zip(run.samples, best.samples))
        run.beside = pace * best.seconds / run.seconds


def take_turns(runs: Sequence[Run]) -> None:
    """As `race`, of runs that are warm."""
    spent = 0.0
    for number in range(MOST_ROUNDS):
        if number >= LEAST_ROUNDS and spent > BUDGET_S:
            return
        alive = [run for run in runs if not run.problem]
        if number:
            best = min((run.seconds for run in alive), default=0.0)
            most = best * HOPELESS[min(number, len(HOPELESS)) - 1]
            alive = [run for run in alive if run.seconds <= most]
        turn = number % len(alive) if alive else 0
        for run in (*alive[turn:], *alive[:turn]):
            spent += run.sample()


def compile_timer(source: CSource, folder: Path, toolchain: Toolchain) -> str:
    """Write and compile `folder/timer`; what went wrong, if anything."""
    folder.mkdir()
    c_file, main = folder / f"{source.name}.c", folder / "isamap_timer_main.c"
    c_file.write_text(source.text)
    (folder / f"{source.name}.h").write_text(source.header)
    main.write_text(generate_timer(source))
    try:
        toolchain.compile_program((c_file, main), folder / "timer", source.flags)
    except IsamapError as error:
        return error.message
    return ""


def cores(count: int) -> frozenset[int]:
    """So many cores that this process may use; none where that cannot be told."""
    if not hasattr(os, "sched_getaffinity"):
        return frozenset()
    return frozenset(sorted(os.sched_getaffinity(0))[-count:])
