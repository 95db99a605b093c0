"""A search that counts its work finds the same, however the computer's time goes.

In: kernels, efforts, a computer whose time leaps. Out: failures. Not its job: time limits.
"""

import time
from dataclasses import replace
from itertools import count

import pytest

import isamap
from isamap.cli.show_result import search_lines
from isamap.costmodels import Metric
from isamap.pareto import pareto
from isamap.scheduler import EffortClock, Wishes
from isamap.sweep import Asking, Workload
from isamap.sweep.ask import Question, ask
from tests.scheduler.cases import machine

METRICS = (Metric.CYCLES, Metric.ENERGY)
CASES = [("gemm", "gemmini", 0.01), ("gemm_epilogue", "gemmini", 0.3), ("softmax", "gemmini", 0.05)]


def leap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a minute pass between two looks at the computer's time."""
    real, minutes = time.perf_counter, count()
    monkeypatch.setattr(time, "perf_counter", lambda: real() + 60 * next(minutes))


@pytest.mark.parametrize(("kernel", "hw", "effort"), CASES)
def test_the_same_effort_finds_the_same_on_a_slow_computer(
    kernel: str, hw: str, effort: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = isamap.map(kernel, hw, effort=effort, verify="off")
    leap(monkeypatch)
    again = isamap.map(kernel, hw, effort=effort, verify="off")
    assert again.program == first.program
    assert (again.status, again.bound_cycles) == (first.status, first.bound_cycles)
    assert again.request.effort == effort


def test_so_does_a_front_of_several_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    first = pareto("gemm_epilogue", "gemmini", METRICS, effort=0.1).front
    leap(monkeypatch)
    again = pareto("gemm_epilogue", "gemmini", METRICS, effort=0.1).front
    assert (again.costs, again.cut) == (first.costs, first.cut)


def test_a_front_is_searched_to_its_end_on_a_slow_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    leap(monkeypatch)
    sizes = {"m": 16, "n": 24, "k": 40}
    assert pareto("gemm", "gemmini", METRICS, sizes=sizes, effort=20.0).front.is_complete


def test_so_does_what_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def build() -> str:
        return isamap.build(
            "gemm:gemm_f32", "x86_avx2", sizes={"m": 40, "n": 40, "k": 40}, effort=0.2,
            may_reassociate=True, verify="off",
        ).source.text  # fmt: skip

    first = build()
    leap(monkeypatch)
    assert build() == first


def test_so_does_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(verify="off", effort=0.01)
    question = Question(Workload("gemm", ()), machine("gemmini"), asking)
    first = ask(question)
    leap(monkeypatch)
    assert replace(ask(question), seconds=first.seconds) == first


def test_a_time_limit_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    proven = isamap.map("gemm", "gemmini", verify="off")
    leap(monkeypatch)
    cut = isamap.map("gemm", "gemmini", verify="off")
    assert proven.status.name == "OPTIMAL" and cut.status.name == "FEASIBLE"
    assert isinstance(cut, isamap.Result) and cut.answer.seconds > 20
    said = "the time limit of 20 s ended it: a busy computer finds less; --effort N finds"
    assert said in search_lines(cut)[1]
    assert len(search_lines(replace(cut, request=replace(cut.request, effort=20)))) == 1


def test_more_effort_proves_what_less_does_not() -> None:
    little, much = (isamap.map("gemm", "gemmini", effort=e, verify="off") for e in (0.001, 20.0))
    assert (little.status.name, much.status.name) == ("FEASIBLE", "OPTIMAL")
    assert much.analytical_cycles <= little.analytical_cycles
    assert much.bound_cycles >= little.bound_cycles


def test_estimates_are_work_where_caches_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """No solver runs there: the clock would hardly go on."""
    clocks: list[EffortClock] = []
    monkeypatch.setattr(
        "isamap.scheduler.wishes.EffortClock", lambda: clocks.append(EffortClock()) or clocks[-1]
    )
    sizes = {"m": 200, "n": 300, "k": 500}
    found = [
        isamap.map(
            "gemm:gemm_f32", "x86_avx512", sizes=sizes, effort=e, verify="off", may_reassociate=True
        )
        for e in (0.05, 20.0)
    ]
    little, much = (clock.spent_s for clock in clocks)
    assert 0.05 <= little < much / 2
    assert found[1].analytical_cycles <= found[0].analytical_cycles


def test_several_workers_find_something_else_each_time() -> None:
    with pytest.raises(isamap.IsamapError, match="4 workers do not find the same") as raised:
        Wishes(workers=4, clock=EffortClock())
    assert raised.value.hint == "one worker, or a time limit"
    with pytest.raises(isamap.IsamapError, match="an effort of -1, expected a number of seconds"):
        isamap.map("gemm", "gemmini", effort=-1)
