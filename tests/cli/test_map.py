"""`isamap map` end to end, on small kernels.

In: the command. Out: verdicts. Not its job: whether mapping and schedule are the best.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import isamap
from isamap import verify
from isamap.cli import main
from isamap.cli.show_result import cycle_lines
from tests.cli.hostless import write_hostless

SMALL = ["--size", "m=40", "--size", "n=24", "--size", "k=36"]
OTHER_KERNEL = """
from isamap.lang import In, Out, grid, i8, i32, kernel

@kernel
def largest(m=8, n=8):
    A, y = In(i8, m, n), Out(i32, m)
    for i, j in grid(m, n):
        y[i] = max(y[i], i32(A[i, j]))
"""


COPY = """
from isamap.lang import In, Out, i16, kernel

@kernel
def copied(n=5):
    x, y = In(i16, n), Out(i16, n)
    for i in range(n):
        y[i] = x[i]
"""
MACHINES = Path(__file__).parent.parent / "specs" / "machines"


def run_map(*arguments: str) -> Result:
    """`isamap map ...`."""
    return CliRunner().invoke(main, ["map", *arguments])


def test_an_instruction_without_loops_computes_one_element(tmp_path: Path) -> None:
    path = tmp_path / "copied.py"
    path.write_text(COPY)
    done = run_map(str(path), "--hw", str(MACHINES / "short_sums.yaml"))
    assert "mapping  store_sum: one element\n         loops around it: i (5)\n" in done.output


def test_a_kernel_without_loops_is_executed_on_its_only_size(tmp_path: Path) -> None:
    path = tmp_path / "copied.py"
    path.write_text(COPY.replace("i16, n", "i8").replace("i16", "i8").replace("[i]", "[()]"))
    path.write_text(path.read_text().replace("    for i in range(n):\n    ", ""))
    done = run_map(str(path), "--hw", "fused_npu")
    assert "check    verified (quick): the same structure on its only size, bit" in done.output


@pytest.mark.parametrize("machine", ["gemmini", "outer", "vecdot"])
def test_answer_has_every_section_and_is_verified(machine: str) -> None:
    done = run_map("gemm", "--hw", machine, *SMALL)
    assert done.exit_code == 0, done.output
    for title in (
        "answer", "kernel", "mapping", "loops", "cycles", "busy", "traffic", "memory", "search",
        "check",
    ):  # fmt: skip
        assert f"\n{title:<9}" in "\n" + done.output
    assert "C[i, j] += i32(A[i, p]) * i32(B[p, j])" in done.output
    assert "verified (quick): the same structure on" in done.output
    assert "NumPy reference agrees" in done.output
    assert not any(line.endswith(" ") for line in done.output.splitlines())


def test_output_without_terminal_has_no_colours() -> None:
    assert "\x1b" not in run_map("gemm", "--hw", "outer", *SMALL).output


def test_full_check_runs_the_program_itself() -> None:
    done = run_map("gemm", "--hw", "gemmini", *SMALL, "--verify", "full")
    assert "verified (full): the program on i=40, j=24, p=36, bit-exact" in done.output


def test_unchecked_answer_says_so() -> None:
    done = run_map("gemm", "--hw", "gemmini", *SMALL, "--verify", "off")
    assert "verified" not in done.output.replace("not verified", "")
    assert "not verified: --verify off" in done.output


def test_kernel_is_chosen_by_name_either_way() -> None:
    one = run_map("gemm:gemm_tn", "--hw", "gemmini", *SMALL, "--verify", "off")
    other = run_map("gemm", "--kernel", "gemm_tn", "--hw", "gemmini", *SMALL, "--verify", "off")
    assert "A[p, i]" in one.output
    assert one.output.splitlines()[0] == other.output.splitlines()[0]


def test_json_holds_the_answer_and_how_to_make_it_again(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    done = run_map("gemm", "--hw", "gemmini", *SMALL, "--seed", "3", "--json", str(path))
    assert done.exit_code == 0
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["schema_version"] == 1
    assert data["request"]["sizes"] == {"m": 40, "n": 24, "k": 36}
    assert data["request"]["seed"] == 3
    assert data["bound_cycles"] <= data["analytical_cycles"]
    assert data["roofline"]["cycles"] <= data["emulated"]["cycles"]
    assert data["verification"]["is_verified"] is True
    assert list(tmp_path.iterdir()) == [path], "temporary files are gone"


def test_json_to_standard_output_is_nothing_but_json() -> None:
    done = run_map("gemm", "--hw", "gemmini", *SMALL, "--verify", "off", "--json", "-")
    assert json.loads(done.stdout)["schema"] == "isamap-result"


def test_same_question_same_answer() -> None:
    answers = [
        json.loads(run_map("gemm", "--hw", "gemmini", *SMALL, "--json", "-").stdout)
        for _ in range(2)
    ]
    for answer in answers:
        del answer["solver_seconds"]
    assert answers[0] == answers[1]


def test_written_program_is_emulated_in_the_same_time(tmp_path: Path) -> None:
    program, answer = tmp_path / "program.json", tmp_path / "answer.json"
    arguments = ["--verify", "off", "--program", str(program), "--json", str(answer)]
    assert run_map("gemm", "--hw", "outer", *SMALL, *arguments).exit_code == 0
    done = CliRunner().invoke(main, ["emulate", str(program), "--hw", "outer"])
    cycles = json.loads(answer.read_text(encoding="utf-8"))["emulated"]["cycles"]
    assert done.output.startswith(f"{cycles:,} cycles".replace(",", " "))


def test_listing_prints_the_program() -> None:
    done = run_map("gemm", "--hw", "outer", *SMALL, "--verify", "off", "--listing")
    assert "program gemm on outer\n" in done.output


def test_explain_names_the_instruction_and_both_sides() -> None:
    done = run_map("gemm", "--hw", "gemmini", *SMALL, "--verify", "off", "--explain")
    _, _, text = done.output.partition("why not other instructions")
    assert "kernel: C[i, j] += i32(A[i, p]) * i32(B[p, j])" in text
    assert "mvout_i8: D[r, c] = sat_i8(round_even(f32(S[r, c]) * scale))" in text


def test_nothing_found_is_its_own_exit_code_and_explained(tmp_path: Path) -> None:
    path = tmp_path / "other.py"
    path.write_text(OTHER_KERNEL, encoding="utf-8")
    done = run_map(str(path), "--hw", write_hostless("outer", tmp_path), "--explain")
    assert done.exit_code == 3
    assert "why not other instructions" in done.output
    assert f"error: {path}:8:9: no instruction of outer computes" in done.output
    assert "  smopa: updates its target by '+=', the kernel by 'max='" in done.output
    assert "hint: a machine with a 'host' runs there" in done.output


def test_wrong_program_is_shown_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = verify.Verification(
        verify.Check.QUICK,
        (("i", 4),),
        mismatch=verify.Mismatch("C", (1, 2), "7", "8", "the kernel's meaning", 3, 16),
        is_wrong=True,
    )
    monkeypatch.setattr("isamap.compile.verify_quick", lambda *_, **__: broken)
    done = run_map("gemm", "--hw", "outer", *SMALL)
    assert done.exit_code == 1
    assert "WRONG on i=4: 3 of 16 elements of C differ" in done.output
    assert "first: C[1, 2] is 7, the kernel's meaning says 8" in done.output


def test_loops_show_what_comes_through_two_memories_in_its_order() -> None:
    sizes = ["--size", "m=3", "--size", "n=16", "--size", "k=16"]
    text = run_map("gemm", "--hw", "gemmini", *sizes, "--verify", "off").stdout
    assert 0 < text.index("mvin B -> scratchpad") < text.index("preload B -> weights")


def test_a_size_may_be_zero_where_the_kernel_allows_it() -> None:
    done = run_map("conv2d", "--hw", "outer", "--size", "pad=0")
    assert done.exit_code == 0 and "bit-exact" in done.stdout


@pytest.mark.parametrize("value", ["a[i] << b[i]", "a[i] // b[i]", "a[i] << i32(t[i])"])
def test_numbers_that_a_kernel_cannot_take_are_not_drawn(value: str, tmp_path: Path) -> None:
    file = tmp_path / "by_data.py"
    file.write_text(
        "from isamap.lang import In, Out, Temp, i8, i32, kernel\n\n\n@kernel\ndef by_data(n=33):\n"
        "    a, b, c = In(i32, n), In(i32, n), In(i8, n)\n    t, y = Temp(i8, n), Out(i32, n)\n"
        "    for i in range(n):\n        t[i] = c[i]\n"
        f"    for i in range(n):\n        y[i] = {value}\n"
    )
    for check in ("quick", "full"):
        done = run_map(str(file), "--hw", "gemmini", "--verify", check)
        assert done.exit_code == 0 and "WRONG" not in done.output, done.output


def test_an_answer_far_from_what_is_emulated_says_what_to_try() -> None:
    result = isamap.map("gemm", "vta", sizes={"m": 16, "n": 16, "k": 16}, verify="off")
    assert result.timing is not None
    assert not any("--cost emulated" in line for line in cycle_lines(result))
    longer = replace(result.timing, cycles=2 * result.timing.cycles)
    lines = cycle_lines(replace(result, timing=longer))
    asked = "% against emulated: try --cost emulated --candidates 8"
    assert any(line.endswith(asked) for line in lines)
    shorter = replace(result.timing, cycles=result.timing.cycles // 2)
    assert any(line.endswith(asked) for line in cycle_lines(replace(result, timing=shorter)))
    request = replace(result.request, cost="emulated")
    lines = cycle_lines(replace(result, timing=longer, request=request))
    assert any(line.endswith("% against emulated: try --candidates 8") for line in lines)


@pytest.mark.parametrize(
    "options",
    [("--json", "--program"), ("--json", "--trace"), ("--json", "--report"),
     ("--program", "--report")],
)  # fmt: skip
def test_two_outputs_in_one_file_are_refused_before_the_search(
    options: tuple[str, str], tmp_path: Path
) -> None:
    one, other = options
    done = run_map("gemm", "--hw", "vta", one, str(tmp_path / "x"), other, f"{tmp_path}/./x")
    assert done.exit_code == 2
    assert "x: one would be lost" in done.output and not (tmp_path / "x").exists()
