"""`--cost measured`: what is measured decides, is remembered, and is told; clocks are made up."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import field, make_dataclass, replace
from math import inf
from pathlib import Path

import pytest
from click.testing import CliRunner

import isamap
from isamap.cli.main import main
from isamap.codegen import CSource, Toolchain, missing_features
from isamap.compile import Result, build_kernel, cost_model
from isamap.measured import Measured, Measurement, digest
from isamap.resources import find_hardware
from isamap.scheduler import Answer, Progress, Wishes, find_schedule, is_legal

CODEGEN = Path(__file__).parent.parent / "codegen"
SGEMM = f"{CODEGEN / 'c_kernels.py'}:sgemm"
HW = isamap.load_hardware(CODEGEN / "vec4.yaml")
SIZES = {"m": 5, "n": 6, "k": 7}
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)


class FakeTimer:
    """The last one listed is the fastest; `broken`: numbers of those that crash."""

    def __init__(self, *broken: int) -> None:
        self.broken = broken
        self.num_calls = 0

    def time(self, sources: Sequence[CSource], toolchain: Toolchain) -> tuple[Measurement, ...]:
        self.num_calls += 1
        return tuple(
            Measurement(None, problem="crashed with SIGILL")
            if number in self.broken
            else Measurement((1 + len(sources) - number) * 1e-6, 1e-7, 5)
            for number in range(len(sources))
        )


def once(count: int, folder: Path, timer: FakeTimer) -> Measured:
    """One round of so many."""
    return Measured(count, folder / "m", timer, seconds=0)


def answer(model: Measured, **sizes: int) -> Answer:
    kernel, _ = build_kernel(SGEMM, {**SIZES, **sizes}, None)
    return find_schedule(kernel, HW, Wishes(cost=model, time_limit_s=60, may_reassociate=True))


def test_the_fastest_candidate_wins_wherever_the_model_puts_it(tmp_path: Path) -> None:
    timer = FakeTimer()
    found = answer(once(4, tmp_path, timer))
    listed = [contender.schedule for contender in found.contenders]
    assert len(listed) == 4 and timer.num_calls == 1
    assert [s.estimate.cycles for s in listed] == sorted(s.estimate.cycles for s in listed)
    fastest = min(found.contenders, key=lambda one: one.price.cycles or inf)
    assert found.best == fastest.schedule != listed[0]
    assert found.best.cost_cycles == round(2e-6 * HW.clock_hz)
    assert found.bound <= listed[0].solution.value
    for schedule in listed:
        assert is_legal(schedule.covering, schedule.tiling, HW)
    assert len({(s.covering.instruction, s.solution.tiling) for s in listed}) == 4


def test_the_second_question_is_answered_from_the_database(tmp_path: Path) -> None:
    timer = FakeTimer()
    model = once(3, tmp_path, timer)
    first, second = answer(model), answer(model)
    assert timer.num_calls == 1
    assert [c.price.is_recalled for c in first.contenders] == [False] * 3
    assert [c.price.is_recalled for c in second.contenders] == [True] * 3
    assert [c.schedule.program for c in first.contenders] == [
        c.schedule.program for c in second.contenders
    ]
    answer(model, m=6)
    assert timer.num_calls == 2


class Stopped:
    """Ends the search at once."""

    is_stopped = True

    def see(self, progress: Progress) -> None:
        pass


def test_nothing_is_measured_once_the_search_was_stopped(tmp_path: Path) -> None:
    timer = FakeTimer()
    kernel, _ = build_kernel(SGEMM, SIZES, None)
    model = once(4, tmp_path, timer)
    found = find_schedule(kernel, HW, Wishes(cost=model, may_reassociate=True, watch=Stopped()))
    assert timer.num_calls == 0 and found.contenders == ()


def test_a_candidate_that_crashes_is_told_and_loses(tmp_path: Path) -> None:
    found = answer(once(3, tmp_path, FakeTimer(2)))
    assert found.contenders[2].price.problem == "crashed with SIGILL"
    assert found.best == found.contenders[1].schedule


def test_when_all_crash_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(
        isamap.IsamapError, match="none of 2 candidates for sgemm on vec4"
    ) as caught:
        answer(once(2, tmp_path, FakeTimer(0, 1)))
    assert "the first: crashed with SIGILL" in caught.value.message


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("compiler:\n", "compiler:\n  run: [env]\n", "cannot be measured here: they run under env"),
        ("compiler:\n", "compiler:\n  features: [no-such]\n", "this processor lacks no-such"),
    ],
)
def test_machines_that_are_not_this_processor_are_not_measured(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "far.yaml").write_text((CODEGEN / "vec4.yaml").read_text().replace(old, new))
    hw = isamap.load_hardware(tmp_path / "far.yaml")
    with pytest.raises(isamap.IsamapError, match=message):
        isamap.map(SGEMM, hw, cost="measured", may_reassociate=True)


def test_machines_without_c_text_are_not_measured() -> None:
    with pytest.raises(isamap.IsamapError, match="vta cannot be measured: its instructions have"):
        isamap.map("gemm", "vta", cost="measured")


def test_an_unknown_cost_model_is_told() -> None:
    with pytest.raises(isamap.IsamapError, match="no cost model 'mesured'") as caught:
        cost_model("mesured")
    assert caught.value.hint == "did you mean 'measured'?"


def test_digests_differ_with_what_is_compared_and_only_with_that() -> None:
    assert digest(HW) == digest(isamap.load_hardware(CODEGEN / "vec4.yaml"))
    assert digest(HW) == digest(replace(HW, files=("elsewhere",)))
    assert digest(HW) != digest(replace(HW, clock_hz=2e9))
    assert digest(("a", "b")) != digest(("a b",)) != digest(["a", ("b",)])


def test_what_a_value_notes_for_itself_does_not_change_its_digest() -> None:
    """Else times that were kept are lost with every such note that isamap adds."""
    plain = make_dataclass("Value", ["x"])
    noting = make_dataclass("Value", ["x", ("seen", int, field(default=0, compare=False))])
    assert digest(plain(1)) == digest(noting(1)) == digest(noting(1, seen=2)) != digest(plain(2))


def test_map_with_real_clocks_tells_what_it_measured(tmp_path: Path) -> None:
    database = str(tmp_path / "m")
    arguments = ["map", SGEMM, "--hw", str(CODEGEN / "vec4.yaml"), "--allow", "reassociate"]
    arguments += ["--cost", "measured", "--candidates", "2", "--seconds", "0"]
    arguments += ["--database", database]
    first = CliRunner().invoke(main, arguments)
    assert first.exit_code == 0, first.output
    assert "of 2, measured now" in first.output
    again = CliRunner().invoke(main, [*arguments, "--json", "-"])
    candidates = json.loads(again.output)["candidates"]
    assert [row["model_rank"] for row in candidates] == [1, 2]
    assert all(row["is_recalled"] and row["measured_s"] > 0 for row in candidates)


def test_options_of_the_measured_model_need_it(tmp_path: Path) -> None:
    answer = CliRunner().invoke(main, ["map", "gemm", "--hw", "vta", "--database", "x"])
    assert answer.exit_code == 2
    assert "--database is for --cost measured and --cost learned" in answer.output


def test_a_built_kernel_that_was_measured_is_right(tmp_path: Path) -> None:
    model = once(3, tmp_path, FakeTimer())
    found = isamap.map(SGEMM, HW, sizes=SIZES, cost=model, verify="full", may_reassociate=True)
    assert isinstance(found, Result) and found.request.cost == "measured"
    assert found.verification.is_verified


def test_map_tells_the_candidates_of_each_task(tmp_path: Path) -> None:
    kernel = f"{CODEGEN / 'c_kernels.py'}:sgemm_relu"
    arguments = ["map", kernel, "--hw", "x86_avx2", "--allow", "reassociate", "--size", "m=2"]
    arguments += ["--size", "n=9", "--size", "k=3", "--cost", "measured", "--candidates", "2"]
    arguments += ["--seconds", "0", "--database", str(tmp_path / "m")]
    hw = isamap.load_hardware(find_hardware("x86_avx2"))
    if hw.compiler is None or missing_features(hw.compiler):
        pytest.skip("this processor lacks AVX2")
    first = CliRunner().invoke(main, arguments)
    assert first.exit_code == 0, first.output
    assert "measured task " in " ".join(first.output.split())
    assert "of 2, measured now" in first.output
    again = CliRunner().invoke(main, [*arguments, "--json", "-"])
    tasks = json.loads(again.output)["tasks"]
    assert [len(task["candidates"]) for task in tasks] == [0 if t["on_host"] else 2 for t in tasks]
    assert all(row["is_recalled"] for task in tasks for row in task["candidates"])
