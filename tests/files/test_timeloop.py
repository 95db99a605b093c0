"""Timeloop's files: what they say moves is what the emulator counts.

In: schedules on shipped machines. Out: verdicts. Not its job: Timeloop itself.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

import isamap
from isamap.cli import main
from isamap.compile import Result
from isamap.errors import IsamapError
from isamap.files import evaluate, timeloop_files
from isamap.ir import Role, size_bytes
from tests.files.timeloop_reader import Mapped

GOLDEN = Path(__file__).parent / "golden"
TWO_LEVELS = str(Path(__file__).parent.parent / "specs" / "machines" / "two_scratchpads.yaml")
CASES: list[tuple[str, str, dict[str, int]]] = [
    ("gemm", "gemmini", {"m": 40, "n": 24, "k": 36}),
    ("gemm", "gemmini", {"m": 35, "n": 50, "k": 100}),
    ("gemm:gemm_nt", "outer", {"m": 70, "n": 33, "k": 19}),
    ("batched_gemm", "gemmini", {"b": 3, "m": 7, "n": 18, "k": 5}),
    ("gemm", TWO_LEVELS, {"m": 200, "n": 150, "k": 1000}),
]


def read(result: Result) -> Mapped:
    files = timeloop_files(result)
    return Mapped(
        *(files[f"timeloop_{name}.yaml"] for name in ("architecture", "problem", "mapping"))
    )


def traffic(result: Result) -> dict[str, tuple[int, int]]:
    """Bytes read and written per memory, from the files alone but for the arrays' types."""
    mapped = read(result)
    covering = result.schedule.covering
    bytes_of = {plan.name: size_bytes(plan.dtype) for plan in covering.operands}
    target = covering.kernel.statements[0].target.buffer
    counts = mapped.count(begins=covering.kernel.buffer(target).role is Role.INOUT)
    found = {memory.name: (0, 0) for memory in result.hardware.memories}
    for number, moved in enumerate((counts.reads, counts.writes)):
        for (level, array), elements in moved.items():
            memory = level.removesuffix(f"_{array}")
            pair = list(found[memory])
            pair[number] += elements * bytes_of[array]
            found[memory] = (pair[0], pair[1])
    return found


@pytest.mark.parametrize(("kernel", "machine", "sizes"), CASES)
def test_reads_and_writes_of_every_memory_are_the_emulators(
    kernel: str, machine: str, sizes: dict[str, int]
) -> None:
    result = isamap.map(kernel, machine, sizes=sizes, verify="off")
    assert isinstance(result, Result) and result.timing is not None
    counted = {row.memory: (row.read_bytes, row.written_bytes) for row in result.timing.traffic}
    found = traffic(result)
    assert {name: pair for name, pair in found.items() if any(pair)} == {
        name: pair for name, pair in counted.items() if any(pair)
    }


def test_repeated_elements_are_said_to_be() -> None:
    """A dot product's vector holds one element in every lane; Timeloop counts it once."""
    result = isamap.map("gemm", "vecdot", sizes={"m": 5, "n": 13, "k": 9}, verify="off")
    assert isinstance(result, Result) and result.timing is not None
    dram = next(row for row in result.timing.traffic if row.memory == "dram")
    assert traffic(result)["dram"] == (dram.read_bytes, dram.written_bytes)
    assert "is repeated in regs" in timeloop_files(result)["timeloop_architecture.yaml"]


def test_edited_schedule_moves_what_its_files_say(tmp_path: Path) -> None:
    text = (GOLDEN / "gemm_on_gemmini.yaml").read_text(encoding="utf-8")
    for old, new in (
        ("p: 36 ", "p: 16 "),
        (", keeps: [i, j]", ""),
        ("outer: [j, i", "outer: [i, j"),
    ):
        assert old in text
        text = text.replace(old, new)
    text = text.replace(", keeps: [j]", "").replace(", keeps: [i]", ", keeps: [p]")
    path = tmp_path / "schedule.yaml"
    path.write_text(text, encoding="utf-8")
    result = evaluate(path, verify="off").result
    assert isinstance(result, Result) and result.timing is not None
    counted = {row.memory: (row.read_bytes, row.written_bytes) for row in result.timing.traffic}
    found = traffic(result)
    assert found["dram"] == counted["dram"]
    assert found["scratchpad"] == counted["scratchpad"]


def test_tiles_fit_the_levels() -> None:
    result = isamap.map("gemm", "gemmini", sizes={"m": 35, "n": 50, "k": 100}, verify="off")
    assert isinstance(result, Result)
    mapped = read(result)
    for array in (row for row in mapped.problem["shape"]["data_spaces"]):
        for number in mapped.depth(array["name"])[1:]:
            zero = {(n, d): 0 for n in range(number) for d in mapped.dimensions}
            words = 1
            for _, size in mapped.tile(array, zero, number):
                words *= size
            attributes = mapped.components[mapped.nests[number].level]["attributes"]
            assert words <= attributes["depth"] / attributes["multiple_buffering"]


@pytest.mark.parametrize(
    ("kernel", "machine", "reason"),
    [
        ("gemm_epilogue", "vta", "plan of . tasks?, not one nest"),
        ("gemm", "mesh", "several cores share loops"),
        ("reductions", "gemmini", "(not a sum of products|plan of . tasks?, not one nest)"),
    ],
)
def test_what_timeloop_cannot_say_is_refused(kernel: str, machine: str, reason: str) -> None:
    result = isamap.map(kernel, machine, verify="off", time_limit_s=3)
    with pytest.raises(IsamapError, match=reason):
        timeloop_files(result)


def test_blocks_side_by_side_are_refused() -> None:
    result = isamap.map("gemm", "gemmini", sizes={"m": 40}, verify="off", time_limit_s=3)
    assert isinstance(result, Result)
    schedule, tiling = result.schedule, result.schedule.tiling
    stays = tuple(replace(s, kept=s.kept if s.level else ("i",)) for s in tiling.stays)
    solution = replace(schedule.solution, tiling=replace(tiling, stays=stays))
    best = replace(schedule, solution=solution)
    changed = replace(result, answer=replace(result.answer, best=best))
    with pytest.raises(IsamapError, match="blocks stay side by side"):
        timeloop_files(changed)


def test_windows_are_described_and_the_difference_is_said() -> None:
    sizes = {"w": 64, "c": 16, "k": 16, "stride": 2}
    result = isamap.map("conv1d", "gemmini", sizes=sizes, verify="off", time_limit_s=4)
    assert isinstance(result, Result)
    problem = timeloop_files(result)["timeloop_problem.yaml"]
    assert "windows of x overlap" in problem
    assert "x here is the array with its border of zeros" in problem
    mapped = read(result)
    assert mapped.problem["instance"]["step2"] == 2


def test_command_writes_the_files_beside_the_others(tmp_path: Path) -> None:
    small = ["--size", "m=20", "--size", "n=24", "--size", "k=36", "--verify", "off"]
    command = ["map", "gemm", "--hw", "gemmini", *small, "--emit", "timeloop"]
    done = CliRunner().invoke(main, [*command, "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    names = {path.name for path in tmp_path.iterdir()}
    assert {"timeloop_mapping.yaml", "timeloop_problem.yaml", "schedule.yaml"} <= names
    assert "add '-o DIR'" in CliRunner().invoke(main, command).output
