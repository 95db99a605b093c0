"""Measure the candidates of many shapes of one kernel.

In: a kernel, a machine that is this processor, shapes, a measured cost model. Out: an outcome per
shape, as soon as it is known. Not its job: measuring (`measured`), showing progress.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from isamap.codegen import find_toolchain, generate_c
from isamap.compile import build_kernel, kernel_sizes, load_machine
from isamap.costmodels import TERMS_VERSION
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.measured import Database, Measured, Outcome, correlate_ranks, digest, make_subject
from isamap.scheduler import Contender, Wishes

from .mapped import Mapped, map_program
from .threads import on_threads

Shape = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Tuned:
    """A shape's outcome, or the problem that it has, and what may help. `is_recalled`: it was
    finished before."""

    shape: Shape
    outcome: Outcome | None
    problem: str = ""
    is_recalled: bool = False
    hint: str = ""


def tune(
    kernel: str | PathLike[str],
    hw: str | PathLike[str] | Hardware,
    shapes: Sequence[Shape],
    *,
    model: Measured,
    name: str | None = None,
    layouts: str = "natural",
    time_limit_s: float = 10.0,
    effort: float | None = None,
    may_reassociate: bool = False,
    threads: int = 1,
) -> Iterator[Tuned]:
    """One shape after the other; those that the database knows to be finished take no time.

    Whatever interrupts it, all shapes that were handed out are finished. Arguments as for `build`;
    limits are each shape's.

    Raises:
        IsamapError: there is no such kernel, the machine is not this processor, or the database
            cannot be used.
    """
    kernel_sizes(kernel, name)  # is there one?
    machine = on_threads(load_machine(hw), threads)
    model.check(machine)
    toolchain = find_toolchain(machine)
    database = Database(model.path)
    wishes = Wishes(model, layouts, time_limit_s, may_reassociate=may_reassociate)
    for shape in shapes:
        try:
            built, _ = build_kernel(kernel, shape, name, may_reassociate)
        except IsamapError as error:
            yield _failed(shape, error)
            continue
        subject = make_subject(built, machine, toolchain)
        asked = (
            layouts, may_reassociate, model.num_candidates, model.seconds, TERMS_VERSION,
        )  # fmt: skip
        key = digest((subject.key, *asked))
        known = database.outcome(key)
        if known is not None:
            yield Tuned(shape, known, is_recalled=True)
            continue
        try:
            mapped = map_program(built, machine, wishes.within(effort))
            outcome = _outcome(mapped, model)
        except IsamapError as error:
            yield _failed(shape, error)
            continue
        database.finish(key, subject, outcome)
        yield Tuned(shape, outcome)


def _failed(shape: Shape, error: IsamapError) -> Tuned:
    return Tuned(shape, None, error.message.partition("\n")[0].rstrip(":"), hint=error.hint)


def _outcome(mapped: Mapped, model: Measured) -> Outcome:
    """Of one comparison; of several tasks, the whole program is timed, and what is said of
    candidates is the median over tasks.

    Raises:
        IsamapError: the whole program does not run.
    """
    clock_hz = mapped.hardware.clock_hz
    rows = [_Comparison(contenders, clock_hz) for contenders in mapped.compared]
    predicted_s = mapped.cycles / clock_hz
    found = [row.correlation for row in rows if row.correlation is not None]
    correlation = statistics.median(found) if found else None
    if len(rows) == 1 and rows[0].is_about(mapped):
        row = rows[0]
        return Outcome(
            row.measured[row.winner], row.measured[0], row.predicted[row.winner],
            row.number, len(row.contenders), correlation,
        )  # fmt: skip
    source = generate_c(mapped.program, mapped.hardware, mapped.given)
    (whole,) = model.timer.time([source], find_toolchain(mapped.hardware))
    if whole.seconds is None:
        raise IsamapError(f"the program of all tasks cannot be measured: {whole.problem}")
    lost = sum(row.measured[0] - row.measured[row.winner] for row in rows)
    count = sum(len(row.contenders) for row in rows)
    number = max((row.number for row in rows), default=0)
    return Outcome(whole.seconds, whole.seconds + lost, predicted_s, number, count, correlation)


class _Comparison:
    """Predicted and measured seconds of the contenders that run."""

    def __init__(self, contenders: tuple[Contender, ...], clock_hz: float) -> None:
        self.contenders = contenders
        self.running = [c.schedule for c in contenders if c.price.cycles is not None]
        self.predicted = [s.estimate.cycles / clock_hz for s in self.running]
        self.measured = [s.cost_cycles / clock_hz for s in self.running]
        self.winner = min(range(len(self.running)), key=lambda n: self.running[n].cost)

    @property
    def number(self) -> int:
        """The winner's, in the order of the closed form."""
        chosen = self.running[self.winner]
        return next(n for n, c in enumerate(self.contenders) if c.schedule is chosen)

    @property
    def correlation(self) -> float | None:
        """Of predicted and measured times."""
        return correlate_ranks(self.predicted, self.measured)

    def is_about(self, mapped: Mapped) -> bool:
        """Is the winner's program the whole program?"""
        return self.running[self.winner].program == mapped.program
