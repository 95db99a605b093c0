"""`--cost learned`: what was measured of some shapes chooses for another one, and says what it
rests on; clocks are made up.

In: databases that a made-up truth filled. Out: verdicts. Not its job: the fit itself.
"""

import json
import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import isamap
from isamap.cli.main import main
from isamap.codegen import find_toolchain
from isamap.compile import build_kernel, cost_model
from isamap.costmodels import TERMS_VERSION, Candidate, Price
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.measured import Database, Learned, Measured, Measurement, make_subject
from isamap.measured.database import Row
from isamap.measured.describe import describe
from isamap.measured.subject import Subject
from isamap.scheduler import Answer, Wishes, find_schedule

CODEGEN = Path(__file__).parent.parent / "codegen"
SGEMM = f"{CODEGEN / 'c_kernels.py'}:sgemm"
VEC4 = CODEGEN / "vec4.yaml"
HW = isamap.load_hardware(VEC4)
SHAPES = [(5, 6, 7), (24, 20, 12), (4, 13, 5), (12, 5, 9), (7, 17, 4), (16, 16, 16)]
NEW = (11, 12, 8)
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)


def truth(candidate: Candidate) -> float:
    """Seconds: each doubling of the innermost loop costs half of the time again, of which the
    closed form knows nothing."""
    about = describe(candidate, HW)
    return about.predicted_s * (1 + about.terms.get("innermost rounds", 0.0) / 2)


class Teacher:
    """Writes what the truth says of every candidate into a database, as `Measured` would."""

    name = "teacher"
    num_candidates = 8

    def __init__(self, path: Path, **changed: str) -> None:
        self.path, self.changed = path, changed

    def check(self, hw: Hardware) -> None:
        pass

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        subject = make_subject(candidates[0].covering.kernel, hw, find_toolchain(hw))
        subject = replace(subject, **self.changed)
        about = {str(n): describe(c, hw) for n, c in enumerate(candidates)}
        rows = {
            str(n): Row(str(n), about[str(n)].predicted_s, Measurement(truth(c), 1e-9, 5))
            for n, c in enumerate(candidates)
        }
        Database(self.path).record(subject, rows)
        Database(self.path).describe(subject, TERMS_VERSION, about)
        return tuple(Price(round(truth(candidate) * 1e12)) for candidate in candidates)


def answer(model: Teacher | Learned, shape: tuple[int, int, int]) -> Answer:
    kernel, _ = build_kernel(SGEMM, dict(zip("mnk", shape, strict=True)), None)
    return find_schedule(kernel, HW, Wishes(cost=model, time_limit_s=60, may_reassociate=True))


def num_measured(path: Path) -> int:
    """Small shapes have fewer than 8 schedules that differ."""
    with sqlite3.connect(path) as connection:
        ((count,),) = connection.execute("SELECT COUNT(*) FROM measurement")
    assert 4 * len(SHAPES) <= count <= 8 * len(SHAPES)
    return int(count)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("taught") / "m"
    for shape in SHAPES:
        answer(Teacher(path), shape)
    return path


def test_a_shape_that_nobody_measured_gets_what_the_truth_likes(taught: Path) -> None:
    found = answer(Learned(8, taught), NEW)
    times = []
    for contender in found.contenders:
        schedule = contender.schedule
        times.append(
            truth(Candidate(schedule.covering, schedule.work, schedule.tiling, schedule.program))
        )
    chosen = [c.schedule for c in found.contenders].index(found.best)
    assert max(times) > 1.3 * min(times), "nothing to choose"
    assert times[chosen] <= 1.05 * min(times) < times[0]
    assert [c.price.is_recalled for c in found.contenders] == [False] * len(times)


def test_the_answer_says_what_it_rests_on(taught: Path) -> None:
    arguments = ["map", SGEMM, "--hw", str(VEC4), "--allow", "reassociate", "--cost", "learned"]
    arguments += ["--size", "m=11", "--size", "n=12", "--size", "k=8", "--database", str(taught)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    told = f"learned from {num_measured(taught)} measurements of 6 shapes of sgemm"
    assert f"of 8, priced by learned {told}" in text
    assert "on shapes left out: rank correlation " in text and "(closed form " in text
    again = CliRunner().invoke(main, [*arguments, "--json", "-"])
    rows = json.loads(again.output)["candidates"]
    assert len(rows) == 8 and all(len(row["notes"]) == 2 for row in rows)
    assert all(note in text for row in rows for note in row["notes"])


def test_a_built_function_is_chosen_likewise_and_tells_it(taught: Path, tmp_path: Path) -> None:
    arguments = ["build", SGEMM, "--hw", str(VEC4), "--allow", "reassociate", "--cost", "learned"]
    arguments += ["--size", "m=3", "--candidates", "4", "--database", str(taught)]
    done = CliRunner().invoke(main, [*arguments, "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "of 4, priced by learned" in done.output and "shapes left out" in done.output


def test_too_few_shapes_are_told_with_the_command_that_makes_more(tmp_path: Path) -> None:
    path = tmp_path / "m"
    for count, said in ((0, "no shapes"), (1, "1 shape"), (3, "3 shapes")):
        for shape in SHAPES[:count]:
            answer(Teacher(path), shape)
        with pytest.raises(IsamapError) as caught:
            answer(Learned(8, path), NEW)
        assert caught.value.message == (
            f"--cost learned: {said} of 3 schedules or more measured on this processor for vec4;"
            " it takes 4"
        )
    assert caught.value.hint == (
        "'isamap tune KERNEL --hw vec4 --size m=64,512,1760 ..' measures more; they are looked for"
        f" in {path}"
    )


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("processor", "another", "of another processor"),
        ("features", "more", "of another processor"),
        ("hardware", "vec8", "of vec8"),
        ("hardware_digest", "x", "of vec4 as it was described or with other threads"),
        ("compiler", "cc 0", "of another compiler"),
        ("flags", "-O0", "of another compiler"),
        ("version", "0.0.1", "of isamap 0.0.1"),
    ],
)
def test_what_was_measured_elsewhere_is_not_used(
    column: str, value: str, reason: str, taught: Path, tmp_path: Path
) -> None:
    path = tmp_path / "m"
    shutil.copy(taught, path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE subject SET {column} = ?", (value,))
    with pytest.raises(IsamapError, match="no shapes of 3") as caught:
        Learned(8, path).check(HW)
    count = num_measured(path)
    assert caught.value.message.endswith(f"it takes 4; not used: {count} {reason}")


def test_foreign_measurements_beside_own_ones_change_nothing(taught: Path, tmp_path: Path) -> None:
    path = tmp_path / "m"
    shutil.copy(taught, path)
    for shape in SHAPES[:2]:
        answer(Teacher(path, processor="another"), shape)
    assert prices(path) == prices(taught)


def prices(path: Path) -> list[Price]:
    return [contender.price for contender in answer(Learned(8, path), NEW).contenders]


def test_an_instruction_that_nobody_measured_is_told(taught: Path, tmp_path: Path) -> None:
    path = tmp_path / "m"
    shutil.copy(taught, path)
    (used,) = {c.schedule.covering.instruction for c in answer(Learned(8, taught), NEW).contenders}
    assert all(len(price.notes) == 2 for price in prices(taught))
    with sqlite3.connect(path) as connection:
        renamed = (f'"instruction {used}"', '"instruction other"')
        connection.execute("UPDATE description SET terms = REPLACE(terms, ?, ?)", renamed)
    for price in prices(path):
        assert price.notes[2:] == (
            f"{used} was not among them: what is said of its schedules, and how often it is right,"
            " comes from other instructions",
        )


class Fake:
    def time(self, sources: Sequence[object], toolchain: object) -> tuple[Measurement, ...]:
        return tuple(Measurement((1 + n) * 1e-6, 1e-6, 5) for n in range(len(sources)))


class Asleep:
    def time(self, sources: Sequence[object], toolchain: object) -> tuple[Measurement, ...]:
        raise AssertionError("what is known is measured again")


def test_times_of_an_older_isamap_are_described_without_measuring_again(tmp_path: Path) -> None:
    path = tmp_path / "m"
    for shape in SHAPES[:4]:
        measured(path, Fake(), shape)
    with sqlite3.connect(path) as connection:  # as the older one left it
        connection.execute("DROP TABLE description")
        connection.execute("DROP TABLE race")
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(IsamapError) as caught:
        Learned(8, path).check(HW)
    told = "16 without the terms that are learned from (tune again: times are kept)"
    assert caught.value.message.endswith(f"it takes 4; not used: {told}")
    for shape in SHAPES[:4]:
        measured(path, Asleep(), shape)
    Learned(8, path).check(HW)


def measured(path: Path, timer: Fake | Asleep, shape: tuple[int, int, int]) -> None:
    kernel, _ = build_kernel(SGEMM, dict(zip("mnk", shape, strict=True)), None)
    model = Measured(4, path, timer, seconds=0)
    find_schedule(kernel, HW, Wishes(cost=model, time_limit_s=60, may_reassociate=True))


def test_machines_that_are_not_this_processor_are_told_as_ever() -> None:
    with pytest.raises(IsamapError, match="vta cannot be measured: its instructions have no C"):
        isamap.map("gemm", "vta", cost="learned")
    assert cost_model("learned") == Learned()


def test_subjects_are_as_before(tmp_path: Path) -> None:
    """What older databases hold is found under the same keys."""
    assert Subject.__slots__ == (
        "processor", "features", "hardware", "hardware_digest", "kernel", "kernel_digest", "sizes",
        "compiler", "flags", "version",
    )  # fmt: skip
