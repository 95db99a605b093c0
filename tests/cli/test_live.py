"""The search as a person sees it, and Ctrl-C.

In: the command, real signals. Out: verdicts. Not its job: what the search decides.
"""

import json
import signal
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

import isamap
from isamap.cli import live, main
from isamap.files import evaluate
from isamap.scheduler import Progress

LARGE = ["conv2d", "--hw", "gemmini", "--size", "h=56", "--size", "w=56", "--size", "c=64"]
PROGRESS = Progress("conv2d", 2, 1200, 1190, 1180)


def test_lines_name_incumbent_bounds_and_gap() -> None:
    assert live.progress_text(PROGRESS) == (
        "conv2d, covering 2: bound 1 190 cycles\nbest 1 200 cycles, bound 1 180 cycles, gap 1.7 %"
    )
    nothing = live.progress_text(Progress("conv2d", 1, None, 90, 80))
    assert nothing == "conv2d, covering 1: bound 90 cycles\nbest nothing yet, bound 80 cycles"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_shown_on_terminals_only(is_terminal: bool) -> None:
    file = StringIO()
    console = Console(file=file, force_terminal=is_terminal, width=100)
    with live.LiveWatch().attached(console) as watch:
        watch.see(PROGRESS)
    assert ("best 1 200 cycles" in file.getvalue()) == is_terminal
    assert is_terminal or not file.getvalue()


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A real SIGINT as soon as there is a first schedule; a second one would end the search for
    good, and solvers may report again before the first is seen."""
    see = live.LiveWatch.see
    sent: list[Progress] = []

    def see_and_interrupt(self: live.LiveWatch, progress: Progress) -> None:
        see(self, progress)
        if not sent and progress.value is not None:
            sent.append(progress)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(live.LiveWatch, "see", see_and_interrupt)


@pytest.mark.usefixtures("interrupted")
def test_interrupt_keeps_the_best_so_far_and_writes_files(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    path = tmp_path / "answer.json"
    done = CliRunner().invoke(main, ["map", *LARGE, "--json", str(path)])
    assert done.exit_code == 130, done.output
    assert "interrupted" in done.stdout
    assert "verified (quick)" in done.stdout
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["is_interrupted"] is True
    assert data["bound_cycles"] <= data["analytical_cycles"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.usefixtures("interrupted")
def test_interrupted_plan_is_written_and_evaluates_to_the_same(tmp_path: Path) -> None:
    sizes = ["--size", "steps=3", "--size", "batch=2", "--size", "inputs=5", "--size", "hidden=7"]
    command = ["map", "gru:gru_i8", "--hw", "gemmini", *sizes, "-o", str(tmp_path)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 130, done.output
    assert "interrupted" in done.stdout and "verified" in done.stdout
    found = evaluate(tmp_path / "schedule.yaml")
    assert found.recorded.interrupted
    assert found.result.timing is not None
    assert found.recorded.emulated_cycles == found.result.timing.cycles


def test_ctrl_c_before_anything_is_found_is_no_wrong_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("isamap.cli.show_map.map", interrupt)
    done = CliRunner().invoke(main, ["map", "gemm", "--hw", "gemmini"])
    assert done.exit_code == 130 and "interrupted" in done.output


def test_interrupted_check_leaves_the_answer_unverified(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("isamap.compile.verify_quick", interrupt)
    watch, sizes = live.LiveWatch(), {"m": 40, "n": 24, "k": 36}
    with pytest.raises(KeyboardInterrupt):  # nobody asked for what there is
        isamap.map("gemm", "gemmini", sizes=sizes, watch=watch)
    watch.stop(signal.SIGINT, None)
    result = isamap.map("gemm", "gemmini", sizes=sizes, watch=watch)
    assert result.verification.failure == "interrupted"
    assert not result.verification.is_verified
    assert result.timing is not None
