"""`isamap tune`: many shapes, what is done stays done; clocks are made up."""

import json
import shutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import isamap
from isamap.cli.main import main
from isamap.cli.read_shapes import read_shapes
from isamap.cli.show_tune import show_tune, summary_lines, tuned_line
from isamap.codegen import CSource, Toolchain
from isamap.errors import MappingError
from isamap.ir import interpret, random_arrays
from isamap.measured import Measured, Measurement, Outcome, correlate_ranks
from isamap.native import Tuned, tune
from isamap.scheduler.clock import WallClock
from tests.ir.float_bounds import BOUNDS

CODEGEN = Path(__file__).parent.parent / "codegen"
SGEMM = f"{CODEGEN / 'c_kernels.py'}:sgemm"
VEC4 = CODEGEN / "vec4.yaml"
needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)


class FakeTimer:
    """The later in the list, the faster; interrupted at call `stop`."""

    def __init__(self, stop: int = -1) -> None:
        self.stop = stop
        self.num_calls = 0

    def time(self, sources: Sequence[CSource], toolchain: Toolchain) -> tuple[Measurement, ...]:
        if self.num_calls == self.stop:
            raise KeyboardInterrupt
        self.num_calls += 1
        return tuple(Measurement((9 - n) * 1e-6, 1e-6, 5) for n in range(len(sources)))


SHAPES = [{"m": m, "n": 3, "k": 5} for m in (2, 3, 4)]


@needs_compiler
def test_an_interrupted_run_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    begun = []
    with pytest.raises(KeyboardInterrupt):
        model = Measured(3, tmp_path / "m", FakeTimer(stop=2), seconds=0)
        for tuned in tune(SGEMM, VEC4, SHAPES, model=model, may_reassociate=True):
            begun.append(tuned)
    assert [tuned.shape for tuned in begun] == SHAPES[:2]
    timer = FakeTimer()
    model = Measured(3, tmp_path / "m", timer, seconds=0)
    done = list(tune(SGEMM, VEC4, SHAPES, model=model, may_reassociate=True))
    assert [tuned.is_recalled for tuned in done] == [True, True, False]
    assert timer.num_calls == 1
    assert [tuned.outcome for tuned in done[:2]] == [tuned.outcome for tuned in begun]
    outcome = done[2].outcome
    assert outcome is not None
    assert outcome.winner == outcome.num_candidates - 1 > 0
    assert outcome.seconds == pytest.approx((9 - outcome.winner) * 1e-6)
    assert outcome.first_s == pytest.approx(9e-6)
    assert outcome.correlation is None or outcome.correlation < 0


@needs_compiler
def test_by_effort_a_busy_computer_measures_the_same_schedules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To one whose clock makes leaps, a time limit leaves one covering, and effort all of them."""
    leaps = count(step=1000)

    def measured(name: str, *asked: str) -> int:
        arguments = ["tune", SGEMM, "--hw", str(VEC4), "--allow", "reassociate", "--seconds", "0"]
        arguments += ["--candidates", "99", "--size", "m=4", "--size", "n=8", "--size", "k=12"]
        arguments += ["--database", str(tmp_path / name), "--json", str(tmp_path / "outcome.json")]
        answer = CliRunner().invoke(main, [*arguments, *asked])
        assert answer.exit_code == 0, answer.output
        (row,) = json.loads((tmp_path / "outcome.json").read_text())["shapes"]
        return int(row["num_candidates"])

    monkeypatch.setattr(
        "isamap.measured.Measured",
        lambda number, path, seconds: Measured(number, path, FakeTimer(), seconds=seconds),
    )
    idle = measured("idle", "--effort", "5")
    monkeypatch.setattr(WallClock, "now", lambda _: float(next(leaps)))
    assert measured("busy", "--effort", "5") == idle > measured("limited", "--time-limit", "5")


@needs_compiler
def test_a_kernel_of_several_tasks_is_timed_as_a_whole(tmp_path: Path) -> None:
    timer = FakeTimer()
    (done,) = tune(
        f"{CODEGEN / 'c_kernels.py'}:sgemm_relu", "x86_avx2", [{"m": 2, "n": 3, "k": 2}],
        model=Measured(2, tmp_path / "m", timer, seconds=0), may_reassociate=True, time_limit_s=2,
    )  # fmt: skip
    assert done.problem == "" and done.outcome is not None
    assert done.outcome.num_candidates >= 2


@needs_compiler
def test_each_product_of_a_recurrent_layer_is_compared_and_the_layer_stays_right(
    tmp_path: Path,
) -> None:
    timer = FakeTimer()
    model = Measured(3, tmp_path / "m", timer, seconds=0)
    sizes = {"steps": 3, "batch": 2, "inputs": 5, "hidden": 17}
    built = isamap.build(
        "gru", "x86_avx2", sizes=sizes, cost=model, may_reassociate=True, time_limit_s=1
    )
    assert [len(contenders) for contenders in built.mapped.compared] == [3, 3]
    assert timer.num_calls == 2  # nothing is measured for plans that were not chosen
    for contenders in built.mapped.compared:
        assert contenders[-1].schedule.cost == min(c.schedule.cost for c in contenders)
    arrays = random_arrays(built.kernel, seed=1)
    expected = interpret(built.kernel, arrays)["h"]
    both = 2 * BOUNDS["gru"](arrays)  # each may be off by as much
    np.testing.assert_allclose(built(**arrays), expected, rtol=0, atol=both)


@needs_compiler
@pytest.mark.parametrize("ahead", [(), ("A",), ("B",)])
def test_what_is_measured_is_what_is_built(ahead: tuple[str, ...], tmp_path: Path) -> None:
    """Inputs that are packed ahead lie in the order of each program's own use."""
    texts: list[str] = []

    class Listening(FakeTimer):
        def time(self, sources: Sequence[CSource], toolchain: Toolchain) -> tuple[Measurement, ...]:
            texts.extend(source.text for source in sources)
            return super().time(sources, toolchain)

    model = Measured(4, tmp_path / "m", Listening(), seconds=0)
    sizes = {"m": 24, "n": 20, "k": 12}
    built = isamap.build(
        SGEMM, VEC4, sizes=sizes, cost=model, may_reassociate=True, ahead=ahead, verify="off"
    )
    assert built.source.text in texts


@needs_compiler
def test_a_shape_that_cannot_be_mapped_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    model = Measured(2, tmp_path / "m", FakeTimer(), seconds=0)
    shapes = [{"m": 2**40, "n": 2, "k": 2}, {"m": 2, "n": 2, "k": 2}]
    first, second = tune(SGEMM, VEC4, shapes, model=model, may_reassociate=True)
    assert first.outcome is None and first.problem
    assert second.outcome is not None


@needs_compiler
def test_a_shape_that_is_none_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    model = Measured(2, tmp_path / "m", FakeTimer(), seconds=0)
    shapes = [{"m": 0, "n": 2, "k": 2}, {"m": 2, "n": 2, "k": 2}]
    first, second = tune(SGEMM, VEC4, shapes, model=model, may_reassociate=True)
    assert first.outcome is None
    assert first.problem == "an extent of 'A' must be at least 1, but m is 0"
    assert second.outcome is not None
    with pytest.raises(isamap.IsamapError, match="has no kernel 'none'"):
        next(tune(SGEMM, VEC4, shapes, model=model, name="none"))


@needs_compiler
def test_a_problem_is_told_with_its_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise MappingError("nothing fits:\nhere", hint="give it more room")

    monkeypatch.setattr(import_module("isamap.native.tune"), "map_program", fails)
    file = tmp_path / "tune.json"
    arguments = ["tune", SGEMM, "--hw", str(VEC4), "--size", "m=2", "--json", str(file)]
    answer = CliRunner().invoke(main, [*arguments, "--database", str(tmp_path / "m")])
    assert "m 2: nothing fits\nhint: give it more room\n1 shape could not be" in answer.output
    (row,) = json.loads(file.read_text())["shapes"]
    assert (row["problem"], row["hint"]) == ("nothing fits", "give it more room")


@needs_compiler
def test_where_no_shape_can_be_measured_the_command_fails(tmp_path: Path) -> None:
    file = tmp_path / "tune.json"
    arguments = ["tune", SGEMM, "--hw", str(VEC4), "--size", "m=0", "--json", str(file)]
    answer = CliRunner().invoke(main, [*arguments, "--database", str(tmp_path / "m")])
    assert answer.exit_code == 3
    assert "1 shape could not be measured" in answer.output
    assert [row["problem"] for row in json.loads(file.read_text())["shapes"]] == [
        "an extent of 'A' must be at least 1, but m is 0"
    ]


def test_where_outcomes_cannot_be_written_nothing_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "none" / "tune.json"
    answer = CliRunner().invoke(main, ["tune", SGEMM, "--hw", str(VEC4), "--json", str(file)])
    assert answer.exit_code == 2
    assert answer.output == f"error: cannot write {file}: No such file or directory\n"


@needs_compiler
def test_the_command_tells_shapes_and_a_summary(tmp_path: Path) -> None:
    (tmp_path / "shapes.csv").write_text("m,n,note\n2,3,a\n4,3,b\n2,3,again\n")
    arguments = ["tune", SGEMM, "--hw", str(VEC4), "--allow", "reassociate", "--candidates", "2"]
    arguments += ["--seconds", "1"]
    arguments += ["--sizes", str(tmp_path / "shapes.csv"), "--size", "k=2"]
    arguments += ["--database", str(tmp_path / "m")]
    first = CliRunner().invoke(main, arguments)
    assert first.exit_code == 0, first.output
    assert "m 2, n 3, k 2: " in first.output and "m 4, n 3, k 2: " in first.output
    assert "2 shapes: the model's first reaches" in first.output
    again = CliRunner().invoke(main, [*arguments, "--json", "-"])
    data = json.loads(again.output)
    assert data["is_whole"] and [row["is_recalled"] for row in data["shapes"]] == [True, True]


def test_ctrl_c_ends_the_command_with_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Outcome(1e-6, 2e-6, 1e-6, 1, 4, -1.0)

    def stream() -> Iterator[Tuned]:
        yield Tuned({"m": 2}, outcome)
        yield Tuned({"m": 3}, None, "no such thing")
        raise KeyboardInterrupt

    shown = show_tune(stream(), 5, None)
    assert not shown.is_whole and shown.num_measured == 1
    assert capsys.readouterr().out.splitlines() == [
        "m 2: 1 µs, the model's number 2 of 4 (its first 2 µs), rank correlation -1.00",
        "m 3: no such thing",
        "stopped: 2 of 5 shapes are done; run it again to go on",
        "1 shape could not be measured",
        "1 shape: the model's first reaches 50.0 % of the speed of the best one in the geometric"
        " mean, and at least 95% of it for 0",
        "rank correlation of predicted and measured times over the candidates of a shape: median"
        " -1.00, least -1.00",
    ]


def test_a_shape_without_candidates_says_so_and_counts_for_nothing() -> None:
    outcome = Outcome(1e-6, 1e-6, 1e-6, 0, 0, None)
    line = tuned_line(Tuned({"m": 2}, outcome))
    assert line.startswith("m 2: 1 µs, nothing to compare (")
    assert summary_lines([Tuned({"m": 2}, outcome)]) == []


KNOWN = ("m", "n", "k")


def test_ranges_are_combined() -> None:
    found = read_shapes(("m=1,5", "n=4..12:4"), None, KNOWN)
    assert found == tuple({"m": m, "n": n} for m in (1, 5) for n in (4, 8, 12))
    assert read_shapes((), None, KNOWN) == ({},)
    assert read_shapes(("n=0,1",), None, KNOWN) == ({"n": 0}, {"n": 1})  # a padding may be 0


def test_a_size_that_is_given_twice_is_told() -> None:
    with pytest.raises(isamap.IsamapError, match="--size m is given twice") as caught:
        read_shapes(("m=1", "n=2", "m=3,4"), None, KNOWN)
    assert caught.value.hint == "for example --size m=64,128 or --size n=16..64:16"


@pytest.mark.parametrize(
    "text, message",
    [
        ("q=1", "the kernel has no size 'q'"),
        ("m=1..x", "is not NAME=NUMBERS"),
        ("m=9..3", "has no number"),
        ("m=1..10000000", "more than 100000 numbers"),
    ],
)
def test_a_range_that_is_none_is_told(text: str, message: str) -> None:
    with pytest.raises(isamap.IsamapError, match=message) as caught:
        read_shapes((text,), None, KNOWN)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text, message, line",
    [
        ("a,b\n1,2\n", "is a size of the kernel", 1),
        ("m,n\n1,2\n3,x\n", "n is 'x', expected a number", 3),
        ("m,n\n1\n", "n is '', expected a number", 2),
        ("", "is a size of the kernel", 1),
        ("m,n,m\n1,2,3\n", "2 columns are named m", 1),
        ("m,n\n , \n", "has no row below its first line", 1),
    ],
)
def test_a_table_that_cannot_be_read_is_told(
    text: str, message: str, line: int, tmp_path: Path
) -> None:
    file = tmp_path / "shapes.csv"
    file.write_text(text)
    with pytest.raises(isamap.IsamapError, match=message) as caught:
        read_shapes((), str(file), KNOWN)
    assert caught.value.loc is not None and caught.value.loc.line == line


def test_a_table_may_begin_with_a_byte_order_mark_and_repeat_what_does_not_count(
    tmp_path: Path,
) -> None:
    file = tmp_path / "shapes.csv"
    file.write_text("m,note,n,note\n1,a,2,b\n", encoding="utf-8-sig")
    assert read_shapes((), str(file), KNOWN) == ({"m": 1, "n": 2},)


def test_a_table_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(isamap.IsamapError, match="cannot read"):
        read_shapes((), str(tmp_path / "none.csv"), KNOWN)


def test_ranks_agree_or_not() -> None:
    assert correlate_ranks([1, 2, 3], [10, 20, 30]) == pytest.approx(1)
    assert correlate_ranks([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert correlate_ranks([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]) == pytest.approx(0.8207827)
    assert correlate_ranks([1, 2], [1, 2]) is None
    assert correlate_ranks([1, 1, 1], [1, 2, 3]) is None
