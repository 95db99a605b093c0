"""A search that counts its work finds the same, however the computer's time goes.

In: kernels, efforts, a computer whose time leaps. Out: failures. Not its job: time limits.
"""

import time
from dataclasses import replace
from itertools import count

import pytest

import isamap
from isamap.cli.show_result import search_lines
from isamap.scheduler import EffortClock, Wishes

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
        "isamap.compile.EffortClock", lambda: clocks.append(EffortClock()) or clocks[-1]
    )
    sizes = {"m": 64, "n": 64, "k": 64}
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
