"""Schedule files: what is written is read back as it was.

In: answers on shipped machines. Out: verdicts. Not its job: mistakes in files
(test_schedule_errors.py).
"""

import re
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest
import yaml

import isamap
from isamap.compile import PlanResult, Result
from isamap.costmodels import Stay, Tiling
from isamap.files import evaluate, schedule_text, summary_text
from isamap.files.schedule_text import hardware_digest
from isamap.hwdesc import load_hardware
from isamap.mapper import Task
from isamap.resources import find_hardware
from isamap.verify import Reference

HERE = Path(__file__).parent
Sizes = dict[str, int]
SINGLE: list[tuple[str, str, Sizes]] = [
    ("gemm", "gemmini", {"m": 40, "n": 24, "k": 36}),
    ("gemm", "vta", {"m": 7, "n": 5, "k": 33}),
    ("gemm:gemm_nt", "outer", {"m": 17, "n": 5, "k": 3}),
    ("gemm", "vecdot", {"m": 5, "n": 13, "k": 9}),
    ("conv1d", "vta", {"w": 9, "c": 18, "k": 17, "stride": 2}),
    ("gemm", "mesh", {"m": 130, "n": 170, "k": 70}),
    (str(HERE / "batched.py"), "x86_avx2", {}),  # loops that are one in the covering
]
PLANS: list[tuple[str, str, Sizes]] = [
    ("gru:gru_i8", "gemmini", {"steps": 3, "batch": 2, "inputs": 5, "hidden": 7}),
    ("gemm_epilogue", "vta", {"m": 20, "n": 24, "k": 36}),
    ("mlp", "fused_npu", {"n": 5, "c": 7, "first": 7, "second": 7}),
    ("softmax", "vta", {}),
    ("wrapped:separable_conv_wrapped", "opentpu", {"h": 4, "w": 5, "c": 7, "k": 18}),
    ("conv1d", "fused_npu", {"w": 11, "c": 3, "k": 5}),  # a copy of which nothing stays anywhere
    ("gru", "x86_avx2", {"steps": 2, "batch": 3, "inputs": 5, "hidden": 9}),
]


def decisions(text: str) -> str:
    """A schedule file without what was measured."""
    return re.sub("sha256-[0-9a-f]+", "sha256-0", text.partition("recorded:\n")[0])


def masked(text: str) -> str:
    """A schedule file whose measured numbers are 0: they change with machines and models."""
    head, tail = decisions(text), text.partition("recorded:\n")[2]
    return head + "recorded:\n" + re.sub(r"(: )[0-9.]+", r"\g<1>0", tail)


@pytest.mark.parametrize(("kernel", "machine", "sizes"), SINGLE + PLANS)
def test_unedited_schedule_reproduces_the_answer(
    tmp_path: Path, kernel: str, machine: str, sizes: Sizes
) -> None:
    result = isamap.map(
        kernel, machine, sizes=sizes, verify="off", effort=0.1, may_reassociate=True
    )
    path = tmp_path / "schedule.yaml"
    text = schedule_text(result, tmp_path)
    path.write_text(text, encoding="utf-8")
    found = evaluate(path, verify="full")
    assert found.result.program == result.program
    assert found.result.timing == result.timing
    assert found.result.timing is not None
    assert found.recorded.emulated_cycles == found.result.timing.cycles
    assert found.recorded.analytical_cycles == (
        found.result.plan.cycles
        if isinstance(found.result, PlanResult)
        else found.result.schedule.estimate.cycles
    )
    assert found.result.verification.is_verified
    assert not found.changes
    assert decisions(schedule_text(found.result, tmp_path)) == decisions(text)
    assert isinstance(yaml.safe_load(text), dict), "other readers of YAML understand it"


def test_a_statement_without_loops_has_no_tiles(tmp_path: Path) -> None:
    kernel = tmp_path / "one.py"
    kernel.write_text(
        "from isamap.lang import In, Out, i8, kernel\n\n\n@kernel\ndef one():\n"
        "    A, B = In(i8), Out(i8)\n    B[()] = A[()]\n"
    )
    result = isamap.map(str(kernel), "fused_npu", verify="off")
    path = tmp_path / "schedule.yaml"
    path.write_text(schedule_text(result, tmp_path), encoding="utf-8")
    found = evaluate(path, verify="full").result
    assert found.program == result.program
    assert found.verification.is_verified


def test_schedule_files_know_every_decision() -> None:
    """Who adds a decision to a tiling or a task writes it to schedule files too."""
    assert [f.name for f in fields(Tiling) if f.init] == ["tiles", "outer", "inner", "stays"]
    stay = ["operand", "residence", "level", "slots", "kept"]
    assert [f.name for f in fields(Stay) if f.init] == stay
    known = ["kernel", "number", "held", "volatile", "ends", "parts"]
    follow = ["late", "begins"]  # from the others
    assert [f.name for f in fields(Task) if f.init] == [*known, *follow]


@pytest.mark.parametrize("name", ["gemm_on_gemmini", "gemm_epilogue_on_vta", "gru_on_gemmini"])
def test_files_look_as_a_person_has_read(name: str, golden: Callable[[Path, str], None]) -> None:
    path = HERE / "golden" / f"{name}.yaml"
    found = evaluate(path, verify="off")
    golden(path, masked(schedule_text(found.result, path.parent)))


def test_edited_tiles_change_the_cycles_and_stay_right(tmp_path: Path) -> None:
    golden_file = HERE / "golden" / "gemm_on_gemmini.yaml"
    before = evaluate(golden_file, verify="off")
    text = golden_file.read_text(encoding="utf-8")
    for old, new in (("p: 36 ", "p: 16 "), ("keeps: [i]", "keeps: [i, p]"), ("[j]}", "[j, p]}")):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / "edited.yaml"
    path.write_text(text, encoding="utf-8")
    after = evaluate(path, verify="full")
    assert isinstance(before.result, Result) and isinstance(after.result, Result)
    assert after.result.verification.is_verified
    tiling = after.result.schedule.tiling
    assert tiling.tile("p") == 1
    assert after.result.schedule.program != before.result.schedule.program
    assert after.changes == ("the kernel", "the hardware file"), "the golden file has no digests"


def test_a_schedule_knows_when_what_its_machine_builds_on_has_changed(tmp_path: Path) -> None:
    base, path = tmp_path / "base.yaml", tmp_path / "hw.yaml"
    base.write_text(find_hardware("vecdot").read_text(encoding="utf-8"))
    path.write_text("base: base\nname: hw\nsource: estimate\n")
    before = hardware_digest(load_hardware(path))
    assert before == hardware_digest(load_hardware(path))
    base.write_text(base.read_text() + "# changed\n")
    assert before != hardware_digest(load_hardware(path))


def test_one_task_of_a_plan_can_be_edited(tmp_path: Path) -> None:
    text = (HERE / "golden" / "gru_on_gemmini.yaml").read_text(encoding="utf-8")
    path = tmp_path / "schedule.yaml"
    path.write_text(text, encoding="utf-8")
    before = evaluate(path, verify="full").result
    path.write_text(re.sub(r"t_2: 3 .*", "t_2: 1", text), encoding="utf-8")
    after = evaluate(path, verify="full").result
    assert isinstance(before, PlanResult) and isinstance(after, PlanResult)
    assert before.verification.is_verified and after.verification.is_verified
    assert before.plan.tasks[0].cycles != after.plan.tasks[0].cycles
    assert before.plan.tasks[1:] == after.plan.tasks[1:]


def test_summary_has_a_row_per_task_and_a_total() -> None:
    result = evaluate(HERE / "golden" / "gru_on_gemmini.yaml", verify="off").result
    lines = summary_text(result).splitlines()
    header = lines[0].split(",")
    assert len(lines) == 1 + 6 + 1
    assert [line.split(",")[2] for line in lines[1:]] == ["0 1", "2 3", "4", "5", "6", "7", "total"]
    assert result.timing is not None
    cells = dict(zip(header, lines[-1].split(","), strict=True))
    assert cells["emulated_cycles"] == str(result.timing.cycles)


def test_loops_that_are_one_leave_the_kernel_as_it_is_declared(tmp_path: Path) -> None:
    """The reference gets arrays of three dimensions, read from a file or not."""
    result = isamap.map(str(HERE / "batched.py"), "x86_avx2", may_reassociate=True)
    assert isinstance(result, Result)
    assert [loop.name for loop in result.schedule.covering.loops] == ["b_t", "j", "p"]
    path = tmp_path / "schedule.yaml"
    path.write_text(schedule_text(result, tmp_path), encoding="utf-8")
    for found in (result, evaluate(path, verify="quick").result):
        assert found.kernel.buffer("x").shape == (3, 5, 33)
        assert found.verification.reference is Reference.AGREES


@pytest.mark.parametrize(
    ("kernel", "sizes", "form"),
    [
        (str(HERE / "batched.py"), {"rows": 30, "steps": 50, "columns": 40}, "single"),
        ("gru", {"steps": 6, "batch": 6, "inputs": 40, "hidden": 48}, "tasks"),
    ],
)
def test_schedules_of_before_loops_were_seen_as_one_are_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel: str, sizes: Sizes, form: str
) -> None:
    """As many cycles as then, cut down for the quick check, and written as they were."""
    with monkeypatch.context() as before:
        before.setattr(import_module("isamap.mapper.cover"), "collapse_loops", lambda *_: None)
        old = isamap.map(
            kernel, "x86_avx2", sizes=sizes, verify="off", effort=0.1, may_reassociate=True
        )
        text = schedule_text(old, tmp_path)
    assert f"form: {form}" in text
    new = isamap.map(
        kernel, "x86_avx2", sizes=sizes, verify="off", effort=0.1, may_reassociate=True
    )
    assert tiled(schedule_text(new, tmp_path)) != tiled(text)
    path = tmp_path / "schedule.yaml"
    path.write_text(text, encoding="utf-8")
    found = evaluate(path, verify="quick")
    assert found.result.timing == old.timing
    assert found.result.verification.is_verified, found.result.verification
    assert decisions(schedule_text(found.result, tmp_path)) == decisions(text)


def tiled(text: str) -> list[list[str]]:
    """The loops that are cut into tiles, task by task."""
    return [list(task.get("tiles", {})) for task in yaml.safe_load(text)["tasks"]]
