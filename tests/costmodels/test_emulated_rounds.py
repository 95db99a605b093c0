"""The emulator as a judge of what lies near the closed form's best.

Oracle: the emulator itself, and the same search without it.
"""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import isamap
from isamap.cli import main
from isamap.costmodels import Emulated
from isamap.costmodels.emulated import EmulatedContest
from isamap.emulator import time_program
from isamap.hwdesc import load_hardware
from isamap.ir import parse_semantics
from isamap.mapper import layout_rank
from tests.scheduler.cases import ROOT

FILE = ROOT / "tests" / "scheduler" / "rows_and_numbers.yaml"
LARGE = load_hardware(FILE)
ROOM = {"rows": 12 * 32, "numbers": 4 * 4}
HW = replace(
    LARGE,
    memories=tuple(replace(m, size_bytes=ROOM.get(m.name, m.size_bytes)) for m in LARGE.memories),
)
PRODUCT = """
A, B, C = In(i32, 16, 9), In(i32, 9, 12), InOut(i32, 16, 12)
for i, j, p in grid(16, 12, 9):
  C[i, j] += A[i, p] * B[p, j]
"""


def rounds(counts: tuple[int, ...], model: Emulated, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many candidates are wanted before rounds of one each, of so many cycles and of as many
    calls as cycles, and after them."""
    module = sys.modules[EmulatedContest.__module__]
    contest, wanted = EmulatedContest(model, HW), []
    for cycles in counts:
        wanted.append(contest.wanted)
        timing = SimpleNamespace(cycles=cycles, calls=(("load", cycles),))
        monkeypatch.setattr(module, "_timings", lambda *_, timing=timing: [timing])
        contest.see([])
    assert [price.cycles for price in contest.settle()] == [*counts]
    return [*wanted, contest.wanted]


def test_rounds_end_when_two_bring_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = rounds((9, 8, 8, 7, 7, 7), Emulated(2), monkeypatch)
    assert wanted == [2, 2, 2, 2, 2, 2, 0]


def test_rounds_end_before_they_take_too_many_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """A third round is as long as the second one, it is assumed; tasks share calls out."""
    assert rounds((9, 8), Emulated(2, 25), monkeypatch) == [2, 2, 2]
    assert rounds((9, 8), Emulated(2, 24), monkeypatch) == [2, 2, 0]
    assert rounds((9,), Emulated(2, 1), monkeypatch) == [2, 0]
    assert Emulated(2, 25).shared(2) == Emulated(2, 12)


def test_the_best_that_was_emulated_is_the_answer() -> None:
    """Where one queue brings rows and numbers the closed form takes what waits to be as good."""
    kernel = parse_semantics(PRODUCT, "product")
    plain = isamap.map(kernel, HW, verify="off")
    found = isamap.map(kernel, HW, cost=Emulated(8), verify="full")
    assert isinstance(found, isamap.Result) and isinstance(plain, isamap.Result)
    assert found.verification.is_verified and found.timing and plain.timing
    contenders = found.answer.contenders
    assert len(contenders) > 8
    for contender in contenders:
        counted = time_program(contender.schedule.program, HW).cycles
        assert contender.price.cycles == counted == contender.schedule.cost_cycles
    assert found.timing.cycles == min(c.schedule.cost_cycles for c in contenders)
    assert found.timing.cycles < 0.9 * plain.timing.cycles
    stays = {c.schedule.tiling.stays for c in contenders}
    assert len(stays) > 4, "what stays differs, too"


def test_tasks_of_a_plan_are_judged_each_and_the_better_whole_is_kept() -> None:
    plain = isamap.map("mlp", "gemmini", cost="emulated", verify="off")
    found = isamap.map("mlp", "gemmini", cost=Emulated(4), verify="quick")
    assert isinstance(found, isamap.PlanResult) and found.verification.is_verified
    assert found.timing and plain.timing and found.timing.cycles <= plain.timing.cycles


def test_the_command_asks_for_candidates() -> None:
    sizes = [word for size in ("m=6", "n=16", "k=12") for word in ("--size", size)]
    command = ["map", "gemm", "--hw", "gemmini", *sizes, "--cost", "emulated"]
    text = CliRunner().invoke(main, [*command, "--candidates", "3"]).output
    assert "priced by emulated" in text, text


def test_more_candidates_are_never_worse_among_the_same_layouts() -> None:
    """The best of each covering that the closed form found comes first."""
    kernel = parse_semantics(PRODUCT, "product")
    for layouts in ("natural", "packed"):
        plain = isamap.map(kernel, LARGE, cost="emulated", layouts=layouts, verify="off")
        found = isamap.map(kernel, LARGE, cost=Emulated(2), layouts=layouts, verify="off")
        assert isinstance(plain, isamap.Result) and plain.timing
        assert isinstance(found, isamap.Result) and found.timing
        if layout_ranks(found) == layout_ranks(plain):
            assert found.timing.cycles <= plain.timing.cycles


def layout_ranks(found: isamap.Result) -> list[int]:
    return [layout_rank(plan) for plan in found.schedule.covering.operands]
