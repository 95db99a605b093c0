"""Points of a sweep: what other ways of asking say, each question once, and going on.

In: small kernels on a small machine. Out: verdicts. Not its job: comparing variants.
"""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from multiprocessing import active_children
from pathlib import Path

import pytest

import isamap
from isamap.compile import Result
from isamap.hwdesc import Setting
from isamap.resources import bundled
from isamap.sweep import Asking, Axis, Kept, Outcome, Point, Standing, Workload, combine, visit
from isamap.sweep.ask import Question, ask
from isamap.sweep.keep import question_key
from isamap.sweep.outcome import outcome_from_json, outcome_to_json
from tests.processes import awaited, is_there

VECDOT = bundled("hw_specs", ".yaml")["vecdot"]
SIZES = (("m", 6), ("n", 20), ("k", 12))
WORK = Workload("gemm", SIZES)
REGS = "memories.regs.size"
AXES = [Axis.of(REGS, ("2 KiB", "512 bytes"))]
SIZE = "size: 32 * vector bytes"
ASKING = Asking(time_limit_s=60)


class Counted:
    """Asks, and counts; raises at the question of that number."""

    def __init__(self, stop_at: int = 0) -> None:
        self.stop_at = stop_at
        self.count = 0
        self.ask = ask

    def __call__(self, question: Question) -> Outcome:
        self.count += 1
        if self.count == self.stop_at:
            raise KeyboardInterrupt
        return self.ask(question)


def install(monkeypatch: pytest.MonkeyPatch, stop_at: int = 0) -> Counted:
    counted = Counted(stop_at)
    monkeypatch.setattr(import_module("isamap.sweep.visit"), "ask", counted)
    return counted


def run(folder: Path, axes: list[Axis], *works: Workload, jobs: int = 1) -> list[Point]:
    variants = combine(["vecdot"], axes)
    return list(visit(works or (WORK,), variants, ASKING, Kept(folder), jobs=jobs))


def same(outcome: Outcome) -> Outcome:
    """But for the time that it took."""
    data = {**outcome_to_json(outcome), "seconds": 0.0}
    return outcome_from_json({**data, "used_bytes": [*data["used_bytes"]],  # type: ignore[misc]
                              "computed_by": [*outcome.computed_by]})  # fmt: skip


def test_a_point_says_what_map_says_of_an_edited_file(tmp_path: Path) -> None:
    text = VECDOT.read_text()
    points = run(tmp_path / "kept", AXES)
    assert [p.variant.settings[0].value for p in points] == ["2 KiB", "512 bytes"]
    for point in points:
        value = point.variant.settings[0].value
        assert text.count(SIZE) == 1, "the registers'"
        edited = tmp_path / "edited.yaml"
        edited.write_text(text.replace(SIZE, f"size: {value}"))
        found = isamap.map("gemm", edited, sizes=dict(SIZES), time_limit_s=60)
        assert isinstance(found, Result) and found.timing is not None
        outcome = point.outcome
        assert outcome.is_verified and found.verification.is_verified
        assert outcome.emulated_cycles == found.timing.cycles
        assert outcome.energy_pj == found.timing.energy_pj
        assert outcome.analytical_cycles == found.schedule.estimate.cycles
        assert outcome.bound_cycles == found.answer.bound_cycles
        assert outcome.standing.value == found.answer.status.value
        (dram,) = [t for t in found.timing.traffic if t.memory == "dram"]
        assert (outcome.read_bytes, outcome.written_bytes) == (dram.read_bytes, dram.written_bytes)


def test_a_gap_is_about_what_is_minimised(tmp_path: Path) -> None:
    variants = combine(["vecdot"], AXES)
    asking = Asking(time_limit_s=60, aim=isamap.Aim.least(isamap.Metric.ENERGY))
    for point in visit([WORK], variants, asking, Kept(tmp_path)):
        assert (point.outcome.standing, point.outcome.gap) == (Standing.OPTIMAL, 0.0)


def test_less_room_is_never_faster_where_both_are_proven_optimal(tmp_path: Path) -> None:
    axis = Axis.of(REGS, ("512 bytes", "1 KiB", "2 KiB"))
    points = run(tmp_path, [axis])
    assert {p.outcome.standing for p in points} == {Standing.OPTIMAL}
    cycles = [p.outcome.analytical_cycles or 0 for p in points]
    assert cycles == sorted(cycles, reverse=True) and cycles[0] > cycles[-1]


def test_what_was_answered_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = install(monkeypatch)
    first = run(tmp_path, AXES)
    assert counted.count == 2 and not any(point.is_recalled for point in first)
    again = run(tmp_path, AXES)
    assert counted.count == 2 and all(point.is_recalled for point in again)
    assert [p.outcome for p in again] == [p.outcome for p in first]


def test_ctrl_c_keeps_what_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, stop_at=2)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, AXES)
    counted = install(monkeypatch)
    assert [p.is_recalled for p in run(tmp_path, AXES)] == [True, False]
    assert counted.count == 1


def test_machines_that_are_equal_are_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = install(monkeypatch)
    axis = Axis.of(REGS, ("2 KiB", "2048 bytes", "1024 * 2 bytes"))
    points = run(tmp_path, [axis], WORK, WORK)
    assert counted.count == 1
    assert len({point.outcome for point in points}) == 1


def test_processes_say_the_same(tmp_path: Path) -> None:
    one = run(tmp_path / "one", AXES, WORK, WORK)
    two = run(tmp_path / "two", AXES, WORK, WORK, jobs=2)
    by_variant = sorted(two, key=lambda point: point.variant.number)
    assert [same(p.outcome) for p in by_variant] == [same(p.outcome) for p in one]
    assert sum(not point.is_recalled for point in two) == 2, "equal ones wait"


def test_a_variant_that_is_no_machine_does_not_end_the_sweep(tmp_path: Path) -> None:
    points = run(tmp_path, [Axis.of(REGS, ("2 KiB", "none", "1 KiB"))])
    standings = [point.outcome.standing for point in points]
    assert standings == [Standing.OPTIMAL, Standing.NO_MACHINE, Standing.OPTIMAL]
    refused = points[1]
    assert refused.hardware is None
    assert refused.outcome.problem.startswith("setting:1:20: 'none' has no unit")


def test_a_kernel_that_nothing_computes_is_an_outcome(tmp_path: Path) -> None:
    kernel = tmp_path / "odd.py"
    kernel.write_text(
        "from isamap.lang import In, Out, grid, f64, kernel\n\n\n@kernel\ndef odd(n=4):\n"
        "    A, B = In(f64, n), Out(f64, n)\n    for i in grid(n):\n        B[i] = A[i] / A[0]\n"
    )
    no_host = [Axis.of("host", ("null",))]
    (point,) = run(tmp_path / "kept", no_host, Workload(str(kernel), ()))
    assert point.outcome.standing is Standing.NO_MAPPING
    assert point.outcome.problem and point.outcome.emulated_cycles is None


def test_a_mistake_of_isamap_ends_one_question_and_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise AssertionError("a tile of nothing\nat all")

    with monkeypatch.context() as patched:
        patched.setattr(import_module("isamap.sweep.ask"), "map", fails)
        found = run(tmp_path, AXES)
    assert [p.outcome.standing for p in found] == [Standing.FAILED] * 2
    assert "report it: AssertionError: a tile of nothing (" in found[0].outcome.problem
    assert "test_visit.py:" in found[0].outcome.problem
    assert [p.outcome.standing for p in run(tmp_path, AXES)] == [Standing.OPTIMAL] * 2


def key(asking: Asking = ASKING, work: Workload = WORK, *settings: Setting) -> str | None:
    return question_key(Question(work, isamap.load_hardware(VECDOT), asking))


def test_a_key_holds_all_that_an_answer_depends_on(tmp_path: Path) -> None:
    kernel = tmp_path / "k.py"
    kernel.write_text((VECDOT.parents[1] / "kernels" / "gemm.py").read_text())
    model = tmp_path / "m.py"
    model.write_text("def f(c, hw): return 1\n")
    own = Asking(f"{model}:f")
    found = [
        key(), key(Asking(time_limit_s=61)), key(Asking(time_limit_s=60, verify="off")),
        key(Asking(time_limit_s=60, effort=60)),
        key(ASKING, Workload("gemm", (("m", 7), *SIZES[1:]))), key(own),
    ]  # fmt: skip
    model.write_text("def f(c, hw): return 2\n")
    found.append(key(own))
    path = Workload(str(kernel), SIZES)
    assert key(ASKING, path) == found[0], "the place of a file is not part of it"
    kernel.write_text(kernel.read_text().replace("+=", "-="))
    found.append(key(ASKING, path))
    assert None not in found and len(set(found)) == len(found)
    assert key(Asking("measured")) is None


def test_models_of_ones_own_may_read_a_machines_name_and_parameters(tmp_path: Path) -> None:
    model = tmp_path / "m.py"
    model.write_text("def f(c, hw): return dict(hw.parameters)[hw.name]\n")
    hw = isamap.load_hardware(VECDOT)
    others = [hw, replace(hw, name="other"), replace(hw, parameters=(*hw.parameters, ("own", 1)))]
    plain, own = ({question_key(Question(WORK, one, asking)) for one in others}
                  for asking in (ASKING, Asking(f"{model}:f")))  # fmt: skip
    assert len(plain) == 1, "isamap's own models read neither"
    assert len(own) == 3


def test_a_process_that_is_killed_is_told(tmp_path: Path) -> None:
    sizes = [f"{64 * count} bytes" for count in range(10, 30)]
    variants = combine(["vecdot"], [Axis.of(REGS, tuple(sizes))])
    others = active_children()
    stream = visit([WORK], variants, ASKING, Kept(tmp_path), jobs=2)
    first = next(stream)
    assert first.outcome.standing is Standing.OPTIMAL
    for process in active_children():
        if process not in others:
            process.kill()
    with pytest.raises(isamap.IsamapError, match="a process of the sweep ended from outside"):
        list(stream)
    (again,) = visit([WORK], [first.variant], ASKING, Kept(tmp_path))
    assert again.is_recalled, "it goes on from there"


def hear_ctrl_c() -> None:
    """Shells begin what they run in the background deaf to it, and it passes that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="sends signals")
def test_processes_of_a_sweep_that_is_stopped_leave_nothing_behind(tmp_path: Path) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text('#!/bin/sh\ntouch "$$.compiles"\nexec sleep 60\n')
    compiler.chmod(0o700)
    work = tmp_path / "work"
    work.mkdir()
    folders = {"TMPDIR": str(work), "ISAMAP_CACHE_DIR": str(tmp_path / "made")}
    sweep = subprocess.Popen(
        [sys.executable, "-m", "isamap", "explore", "gemm", "--hw", "vecdot", "--jobs", "2",
         "--set", f"{REGS}=2KiB,512bytes", "--cache", "kept"],
        cwd=tmp_path, env={**os.environ, **folders, "CC": str(compiler)}, preexec_fn=hear_ctrl_c,
    )  # fmt: skip
    assert awaited(lambda: len(list(tmp_path.glob("*.compiles"))) == 2)
    assert len(list(work.glob("isamap-work-*"))) == 2
    sweep.send_signal(signal.SIGINT)
    assert sweep.wait(60) == 130
    assert not list(work.glob("isamap-work-*"))


ENDLESS = """
import os, time
from pathlib import Path

def endless(candidate, hw):
    Path(f"{os.getpid()}.process").touch()
    while True:
        time.sleep(1)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_processes_end_with_a_sweep_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(ENDLESS)
    sweep = subprocess.Popen(
        [sys.executable, "-m", "isamap", "explore", "gemm", "--hw", "vecdot", "--jobs", "2",
         "--set", f"{REGS}=2KiB,512bytes", "--cost", "mine.py:endless", "--cache", "kept"],
        cwd=tmp_path,
    )  # fmt: skip
    assert awaited(lambda: len(list(tmp_path.glob("*.process"))) == 2)
    processes = [int(path.stem) for path in tmp_path.glob("*.process")]
    try:
        assert all(map(is_there, processes))
        sweep.kill()
        sweep.wait()
        assert awaited(lambda: not any(map(is_there, processes))), "they end too"
    finally:
        for process in filter(is_there, processes):
            os.kill(process, signal.SIGKILL)


def test_a_damaged_answer_is_asked_again(tmp_path: Path) -> None:
    axes = [Axis.of(REGS, ("2 KiB",))]
    run(tmp_path, axes)
    (file,) = tmp_path.iterdir()
    for text in ("", "{}", "[]", file.read_text().replace("optimal", "best")):
        file.write_text(text)
        (point,) = run(tmp_path, axes)
        assert not point.is_recalled
    (point,) = run(tmp_path, axes)
    assert point.is_recalled
