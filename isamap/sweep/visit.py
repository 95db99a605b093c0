"""Ask what kernels take on every variant of a machine.

In: workloads, variants, how to ask. Out: a Point per question, as soon as it is known. Not its job:
comparing variants (`compare`), showing progress.
"""

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context

from isamap.errors import IsamapError, SpecErrors
from isamap.hwdesc import Hardware, load_hardware
from isamap.resources import find_hardware

from .ask import Asking, Question, ask, ask_apart, begin_apart, interrupts_ignored, stop
from .keep import Kept, question_key
from .outcome import Outcome, Standing
from .variant import Variant, Workload

QUEUED = 2  # questions per process that are handed out ahead


@dataclass(frozen=True, slots=True)
class Point:
    """What a workload takes on a variant; `hardware` is None where the variant is no machine.

    `is_recalled`: the answer was known.
    """

    variant: Variant
    workload: Workload
    hardware: Hardware | None
    outcome: Outcome
    is_recalled: bool = False


def visit(
    workloads: Sequence[Workload],
    variants: Sequence[Variant],
    asking: Asking,
    kept: Kept,
    *,
    jobs: int = 1,
) -> Generator[Point]:
    """Every workload on every variant; equal questions are asked once.

    With one job in the order of the variants, else as they come. Whatever ends it, the points that
    were handed out are kept.

    Raises:
        IsamapError: the user's mistake in a kernel or a cost model, no such hardware file.
    """
    if jobs == 1:
        yield from _one_by_one(_points(workloads, variants, asking), kept)
    else:
        yield from _together(_points(workloads, variants, asking), kept, jobs)


@dataclass(frozen=True, slots=True)
class _Open:
    """A question without an answer, and the key to keep it under."""

    variant: Variant
    question: Question
    key: str | None

    def answered(self, outcome: Outcome, *, is_recalled: bool = False) -> Point:
        asked = self.question
        return Point(self.variant, asked.workload, asked.hardware, outcome, is_recalled)


def _points(
    workloads: Sequence[Workload], variants: Sequence[Variant], asking: Asking
) -> Iterator[Point | _Open]:
    """All questions; those of variants that are no machine are answered."""
    for variant in variants:
        try:
            hw = load_hardware(find_hardware(variant.hardware), variant.settings)
        except SpecErrors as errors:
            refused = Outcome(Standing.NO_MACHINE, _first_of(errors))
            yield from (Point(variant, work, None, refused) for work in workloads)
            continue
        for work in workloads:
            question = Question(work, hw, asking)
            yield _Open(variant, question, question_key(question))


def _first_of(errors: SpecErrors) -> str:
    """One mistake is enough: others often follow from it."""
    first, *others = errors.errors
    count = len(others)
    more = f"\n({count} more mistake{'s' if count > 1 else ''} of this variant)" if count else ""
    return f"{first}{more}"


def _recalled(found: _Open, kept: Kept) -> Point | None:
    known = None if found.key is None else kept.recall(found.key)
    return None if known is None else found.answered(known, is_recalled=True)


def _keep(found: _Open, outcome: Outcome, kept: Kept) -> Point:
    if found.key is not None and outcome.standing is not Standing.FAILED:
        kept.keep(found.key, outcome)
    return found.answered(outcome)


def _one_by_one(stream: Iterator[Point | _Open], kept: Kept) -> Iterator[Point]:
    for found in stream:
        if isinstance(found, Point):
            yield found
        else:
            yield _recalled(found, kept) or _keep(found, ask(found.question), kept)


def _together(stream: Iterator[Point | _Open], kept: Kept, jobs: int) -> Iterator[Point]:
    """In processes; a question that equals one under way waits for its answer."""
    context = get_context("spawn")  # the solver's threads do not survive a fork
    others = active_children()
    executor = ProcessPoolExecutor(jobs, context, begin_apart)
    under_way: dict[Future[Outcome], list[_Open]] = {}
    by_key: dict[str, Future[Outcome]] = {}
    try:
        for found in stream:
            known = found if isinstance(found, Point) else _recalled(found, kept)
            if known is not None:
                yield known
                continue
            assert isinstance(found, _Open)
            if found.key in by_key:
                under_way[by_key[found.key]].append(found)
                continue
            with interrupts_ignored(), _told():
                future = executor.submit(ask_apart, found.question)
            under_way[future] = [found]
            if found.key is not None:
                by_key[found.key] = future
            while len(under_way) >= QUEUED * jobs:
                yield from _finished(under_way, by_key, kept)
        while under_way:
            yield from _finished(under_way, by_key, kept)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        if under_way:
            stop([process for process in active_children() if process not in others])


def _finished(
    under_way: dict[Future[Outcome], list[_Open]], by_key: dict[str, Future[Outcome]], kept: Kept
) -> Iterator[Point]:
    done, _ = wait(under_way, return_when=FIRST_COMPLETED)
    for future in [future for future in under_way if future in done]:
        first, *others = under_way.pop(future)
        if first.key is not None:
            del by_key[first.key]
        with _told():
            outcome = future.result()
        yield _keep(first, outcome, kept)
        yield from (other.answered(outcome, is_recalled=True) for other in others)


@contextmanager
def _told() -> Iterator[None]:
    """Processes that end before they answer are told as what they are."""
    try:
        yield
    except (OSError, BrokenExecutor) as error:
        raise IsamapError(
            f"a process of the sweep ended from outside: {error}",
            hint="if memory was short, fewer --jobs; what was answered is kept: run it again to"
            " go on",
        ) from error
