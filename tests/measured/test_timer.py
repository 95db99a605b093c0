"""Programs under the clock: crashes, hangs, kills and compiler errors are told; samples take turns.

Times are never compared with anything but 0.
"""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

import isamap
from isamap.codegen import CSource, find_toolchain, generate_c, generate_timer
from isamap.hwdesc import Hardware
from isamap.measured import ProcessTimer
from isamap.measured.timed_process import Elapsed, RunError, TimedProcess
from isamap.measured.timer import BUDGET_S, LEAST_ROUNDS, MOST_ROUNDS, Run, race, settle, take_turns
from isamap.native.mapped import map_program
from isamap.scheduler import Wishes

CODEGEN = Path(__file__).parent.parent / "codegen"
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)
HW = isamap.load_hardware(CODEGEN / "vec4.yaml")


@pytest.fixture(scope="module")
def source() -> CSource:
    return made(HW)


def made(hw: Hardware) -> CSource:
    """A product for this machine."""
    sizes = {"m": 3, "n": 5, "k": 7}
    kernel = f"{CODEGEN / 'c_kernels.py'}:sgemm_adds"
    wishes = Wishes(time_limit_s=1.0, may_reassociate=True)
    return generate_c(map_program(kernel, hw, wishes, sizes=sizes).program, hw)


def altered(source: CSource, statement: str) -> CSource:
    """The function with another body."""
    head = source.text.index(") {", source.text.index(f"void {source.name}(")) + 3
    text = f"{source.text[:head]} (void)A, (void)B, (void)C; {statement} }}\n"
    return CSource(source.name, text, source.header, source.parameters)


def test_functions_that_run_have_times_and_the_others_problems(source: CSource) -> None:
    found = ProcessTimer(limit_s=1.0).time(
        [
            source,
            altered(source, "__builtin_trap();"),
            altered(source, "for (;;) __asm__ volatile(\"\");"),
            altered(source, "no_such_thing;"),
            altered(source, "__builtin_exit(3);"),
        ],
        find_toolchain(HW),
    )  # fmt: skip
    good, crashed, hung, wrong, left = found
    assert good.problem == "" and good.seconds is not None and good.least_s is not None
    assert 0 < good.least_s <= good.seconds
    assert LEAST_ROUNDS <= good.num_samples <= MOST_ROUNDS
    assert crashed.seconds is None and crashed.problem.startswith("crashed with SIG")
    assert hung.problem == "ran longer than 1 s" and hung.is_lasting
    assert "no_such_thing" in wrong.problem and wrong.seconds is None
    assert left.problem == "ended with status 3: "


def test_a_process_that_is_killed_says_so_and_that_is_not_remembered() -> None:
    command = ["sh", "-c", "kill -9 $$"]
    with TimedProcess(command, frozenset(), 5.0) as process:
        with pytest.raises(RunError, match="was ended by SIGKILL") as caught:
            process.ask(1)
        assert not caught.value.is_lasting


def test_a_process_that_is_killed_between_two_questions_says_so() -> None:
    answers = "while read count; do echo 5 6; done"
    with TimedProcess(["sh", "-c", answers], frozenset(), 5.0) as process:
        assert process.ask(1) == Elapsed(5e-9, 6e-9)
        os.kill(process.process.pid, signal.SIGKILL)
        process.process.wait()
        with pytest.raises(RunError, match="was ended by SIGKILL"):
            process.ask(1)


def test_a_process_that_ignores_its_alarm_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isamap.measured.timed_process.GRACE_S", 0.1)
    process = TimedProcess(["sh", "-c", "trap '' ALRM; exec sleep 60"], frozenset(), 0.1)
    with process, pytest.raises(RunError, match=r"ran longer than 0.1 s"):
        process.ask(1)
    assert process.process.returncode == -signal.SIGKILL


class Clock:
    """Processes that answer with made-up times, in the order of the questions."""

    def __init__(self, seconds: list[float]) -> None:
        self.seconds = seconds
        self.asked: list[int] = []
        self.counts: list[int] = []
        self.slow_until, self.slower = 0, 1.0  # the first questions take longer

    def runs(self) -> list[Run]:
        runs = [Run() for _ in self.seconds]
        for number, run in enumerate(runs):
            run.process = Fake(number, self)  # type: ignore[assignment]
        return runs


class Fake:
    def __init__(self, number: int, clock: Clock) -> None:
        self.number, self.clock = number, clock

    def ask(self, count: int) -> Elapsed:
        clock = self.clock
        clock.asked.append(self.number)
        clock.counts.append(count)
        pace = clock.slower if len(clock.asked) <= clock.slow_until else 1.0
        return Elapsed(pace * count * clock.seconds[self.number], 0.0)


@pytest.mark.parametrize("seconds, calls", [(0.001, [8, 4]), (0.02, [5, 1]), (0.1, [3, 1])])
def test_the_shorter_a_call_the_more_of_them_warm_caches_up(
    seconds: float, calls: list[int]
) -> None:
    """Not so many that they take more than a tenth of a second; none of calls that use no cache of
    the one before."""
    clock = Clock([seconds, 0.3])
    for run, expected in zip(clock.runs(), (calls, [1])):
        run.warm_up()
        clock.counts.clear()
        run.sample()
        assert clock.counts == expected


def test_samples_take_turns_and_the_clearly_slower_ones_drop_out() -> None:
    clock = Clock([0.01, 0.011, 0.012, 0.015, 0.021])
    runs = clock.runs()
    race(runs)
    found = [run.measurement() for run in runs]
    assert [m.seconds for m in found] == pytest.approx([0.01, 0.011, 0.012, 0.015, 0.021])
    assert [m.num_samples for m in found] == [MOST_ROUNDS, MOST_ROUNDS, 3, 2, 1]
    warm_up = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert clock.asked[: len(warm_up)] == warm_up
    turns = [0, 1, 2, 3, 4, 1, 2, 3, 0, 2, 0, 1]  # each brings its data back into the caches first
    asked = [number for number in turns for _ in range(2)]
    assert clock.asked[len(warm_up) : len(warm_up) + len(asked)] == asked


def test_warming_up_is_part_of_the_time_that_samples_take() -> None:
    """Of functions that take long to warm up fewer samples are taken."""
    runs = Clock([0.02] * 12).runs()
    for run in runs:
        run.warm_up()
    take_turns(runs)
    each = 0.02 * (runs[0].warm_ups + runs[0].count)
    assert sum(len(run.samples) for run in runs) * each <= BUDGET_S + each * len(runs)
    assert min(len(run.samples) for run in runs) >= LEAST_ROUNDS


def test_long_samples_end_after_the_least_rounds() -> None:
    clock = Clock([3.0, 3.0])
    runs = clock.runs()
    race(runs)
    assert [run.measurement().num_samples for run in runs] == [LEAST_ROUNDS] * 2
    assert clock.asked == [0, 0, 1, 1, 0, 1, 1, 0, 0, 1]  # no call leaves the next one anything


def test_who_drops_out_in_a_slow_second_is_not_slower_for_that() -> None:
    clock = Clock([0.01, 0.011, 0.0125])
    runs = clock.runs()
    for run in runs:
        run.warm_up()
    first = len(clock.asked) + 2 * LEAST_ROUNDS * len(runs)  # questions of the turns of all
    clock.slow_until, clock.slower = first, 2.0
    take_turns(runs)
    assert runs[2].seconds == pytest.approx(0.025)  # all that it knows
    settle(runs)
    assert [r.measurement().seconds for r in runs] == pytest.approx([0.01, 0.011, 0.0125])


def test_short_calls_are_timed_many_at_once() -> None:
    clock = Clock([1e-5])
    (run,) = clock.runs()
    race([run])
    assert run.count == 400
    assert run.measurement().seconds == pytest.approx(1e-5)


def test_arrays_lie_side_by_side_on_large_pages(source: CSource) -> None:
    text = generate_timer(source)
    (room,) = map(int, re.findall(r"isamap_room\((\d+)\)", text))
    assert room % 2**21 == 0 and "#define LARGE_PAGE 2097152" in text
    begins = [*map(int, re.findall(r"\(room \+ (\d+)\)", text)), room]
    assert begins[0] == 0 and all(begin % 4096 == 0 for begin in begins)
    for parameter, begin, end in zip(source.parameters, begins[:-1], begins[1:], strict=True):
        assert begin + parameter.layout.size_bytes <= end
