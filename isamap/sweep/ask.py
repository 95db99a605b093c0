"""One question of a sweep: a kernel on one machine.

In: a question. Out: an Outcome. Not its job: which questions there are, keeping answers.
"""

import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from types import FrameType

from isamap.compile import PlanResult, Result, map
from isamap.costmodels import FASTEST, Aim, CostModel
from isamap.errors import IsamapError, LimitError, MappingError
from isamap.hwdesc import Hardware
from isamap.scheduler import Schedule, Status, used_bytes

from .outcome import Outcome, Standing
from .variant import Workload

TIDY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Asking:
    """How every question is asked; the arguments of `map`."""

    cost: str | CostModel = "analytical"
    layouts: str = "natural"
    verify: str = "quick"
    time_limit_s: float = 10.0
    may_reassociate: bool = False
    aim: Aim = FASTEST
    effort: float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A workload on a machine."""

    workload: Workload
    hardware: Hardware
    asking: Asking


def ask(question: Question) -> Outcome:
    """Map, emulate and check; that there is no mapping is an outcome.

    Raises:
        IsamapError: the user's mistake, in a kernel or a cost model.
    """
    begin = time.perf_counter()
    work, asking = question.workload, question.asking
    try:
        result = map(
            work.kernel, question.hardware, sizes=dict(work.sizes),
            cost=asking.cost, layouts=asking.layouts, verify=asking.verify,
            time_limit_s=asking.time_limit_s,
            may_reassociate=asking.may_reassociate, aim=asking.aim, effort=asking.effort,
        )  # fmt: skip
        outcome = _outcome(result)
    except LimitError as error:
        outcome = Outcome(Standing.NOT_FOUND, error.reason)
    except MappingError as error:
        outcome = Outcome(Standing.NO_MAPPING, error.reason)
    except IsamapError:
        raise
    except Exception as error:  # ours: one machine of many must not end the others' sweep
        outcome = Outcome(Standing.FAILED, _where(error))
    return replace(outcome, seconds=time.perf_counter() - begin)


def _where(error: Exception) -> str:
    """What a report of the mistake needs, in a line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    what = f"{type(error).__name__}: {error}".partition("\n")[0]
    return f"a mistake of isamap, please report it: {what} ({frame.filename}:{frame.lineno})"


def ask_apart(question: Question) -> Outcome:
    """The same in a process of its own, which Ctrl-C stops only while it works."""
    before = signal.signal(signal.SIGINT, _stop)
    try:
        return ask(question)
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(number: int, frame: FrameType | None) -> None:
    """Once: a second one must not stop what tidies up after the first one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def stop(processes: Sequence[BaseProcess]) -> None:
    """End processes that ask, whose answers nobody awaits; but let them tidy up, unless the solver
    holds them up."""
    for number in [process.pid for process in processes if process.pid is not None]:
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGINT)
    end = time.monotonic() + TIDY_SECONDS
    try:
        for process in processes:
            process.join(max(0.0, end - time.monotonic()))
    finally:
        for process in processes:
            process.terminate()


def begin_apart() -> None:
    """How such a process begins: only `ask_apart` hears Ctrl-C, and it ends with the process that
    started it, which may be killed: it would wait for that one's next question for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = parent_process()
    assert parent is not None, "processes of a sweep are started by one"
    parent.join()
    os._exit(1)


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Processes that are started meanwhile begin so, and go on until `ask_apart`."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _outcome(result: Result | PlanResult) -> Outcome:
    check, timing = result.verification, result.timing
    if timing is None:
        return Outcome(Standing.REJECTED, check.failure, check=check.check.value)
    moved = timing.moved(result.hardware.external.name)
    standing = Standing.OPTIMAL if result.status is Status.OPTIMAL else Standing.FEASIBLE
    problem = check.failure
    if check.is_wrong:
        standing, problem = Standing.WRONG, problem or "an element differs"
    return Outcome(
        standing, problem, timing.cycles, result.analytical_cycles, result.bound_cycles,
        _gap(result), timing.energy_pj, moved.read_bytes, moved.written_bytes,
        _used(result), _computed_by(result), check.check.value, check.is_verified,
    )  # fmt: skip


def _gap(result: Result | PlanResult) -> float | None:
    """Of tasks, only cycles have a bound."""
    value, bound = float(result.analytical_cycles), float(result.bound_cycles)
    if not result.request.aim.is_fastest:
        if isinstance(result, PlanResult):
            return None
        value, bound = result.schedule.solution.value, result.answer.bound
    return max(0.0, 1 - bound / value) if value else 0.0


def _schedules(result: Result | PlanResult) -> list[Schedule]:
    if isinstance(result, Result):
        return [result.schedule]
    return [task.best for task in result.plan.tasks if not task.on_host]


def _used(result: Result | PlanResult) -> tuple[tuple[str, int], ...]:
    most: dict[str, int] = {}
    for schedule in _schedules(result):
        for memory, size in used_bytes(schedule.covering, schedule.tiling).items():
            most[memory] = max(size, most.get(memory, 0))
    return tuple(sorted(most.items()))


def _computed_by(result: Result | PlanResult) -> tuple[str, ...]:
    names = [schedule.covering.instruction for schedule in _schedules(result)]
    if isinstance(result, PlanResult) and any(task.on_host for task in result.plan.tasks):
        names.append("host")
    return tuple(dict.fromkeys(names))
