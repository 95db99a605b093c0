"""`isamap map` end to end on kernels of several statements.

In: the command. Out: verdicts. Not its job: whether tasks run on the best unit.
"""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import isamap
from isamap.cli import main
from isamap.cli.show_tasks import why_on_host
from isamap.hwdesc import load_hardware
from isamap.ir import parse_semantics
from isamap.planner import Wishes, find_plan, handovers, repacks
from isamap.resources import find_hardware
from tests.cli.hostless import write_hostless

STEPS = ["--size", "steps=3", "--size", "batch=2", "--size", "inputs=5", "--size", "hidden=7"]
SMALL = ["--size", "m=20", "--size", "n=24", "--size", "k=36"]


def run_map(*arguments: str) -> Result:
    """`isamap map ...`."""
    return CliRunner().invoke(main, ["map", *arguments])


def test_answer_has_every_section_and_is_verified() -> None:
    done = run_map("gru:gru_i8", "--hw", "gemmini", *STEPS, "--time-limit", "60")
    assert done.exit_code == 0, done.output
    for title in (
        "answer", "kernel", "tasks", "loops", "passing", "cycles", "busy", "traffic", "memory",
        "search", "check",
    ):  # fmt: skip
        assert f"\n{title:<9}" in "\n" + done.output
    assert ", verified (" in done.output.splitlines()[0]
    assert "for t_3 (3, one at a time):" in done.output
    assert "host       h[t_3 + 1, z_5, j_5] = sat_i8(" in done.output
    assert "not on gemmini: it lacks '+' of f32, '-' of f32, sigmoid(f32)" in done.output
    assert "\n         R  from tasks 4, 5  to tasks 5, 6 " in done.output
    assert not any(line.endswith(" ") for line in done.output.splitlines())


def test_shares_of_the_tasks_add_up() -> None:
    done = run_map("mlp", "--hw", "gemmini", "--verify", "off", "--time-limit", "4")
    table = done.output.partition("\ntasks")[2].partition("\n\n")[0]
    shares = [float(line.split(" %")[0].split()[-1]) for line in table.splitlines() if " %" in line]
    assert len(shares) > 2
    assert sum(shares) == pytest.approx(100, abs=0.5)


def test_repacks_are_listed_with_their_cost() -> None:
    done = run_map("mttkrp:mttkrp_two_steps", "--hw", "vta", "--verify", "off")
    assert "the host lays out T anew:  byte planes -> natural,  1 call," in done.output
    assert "tasks and repacks (" in done.output


def test_a_task_lists_the_memories_that_it_uses() -> None:
    done = run_map("gemm_epilogue", "--hw", "gemmini", *SMALL, "--verify", "off")
    table = done.output.partition("\nmemory")[2].partition("\n\n")[0]
    assert "scratchpad" in table
    assert " 0 B of " not in table


def test_statements_that_one_task_computes_stand_together() -> None:
    done = run_map("gemm_epilogue", "--hw", "vta", *SMALL, "--verify", "off")
    table = done.output.partition("\ntasks")[2].partition("\n\n")[0].splitlines()
    assert table[1].split()[0] == "0-1"
    assert table[2].strip().startswith("C[i_2, j_2] = sat_i8(")
    assert "\nmemory   task 0-1  inp" in done.output


def test_handovers_and_repacks_of_a_plan() -> None:
    found = isamap.map("mttkrp:mttkrp_two_steps", "vta", verify="off")
    assert isinstance(found, isamap.PlanResult)
    (passed,) = handovers(found.plan)
    assert (passed.buffer, passed.writers, passed.readers) == ("T", (0,), (1,))
    assert passed.layout.is_natural
    (moved,) = repacks(found.plan.program, found.hardware)
    assert (moved.buffer, moved.source.is_natural, moved.target.is_natural) == ("T", False, True)
    # start, then reading and writing four bytes of each element
    assert moved.cycles == -(-(1000 * 650 + 16**3 * 4 * 2 * 100) // 650)


def test_bound_is_no_larger_than_what_was_emulated() -> None:
    for kernel, machine in (("gemm_epilogue", "vta"), ("rnn:rnn_i8", "gemmini")):
        found = isamap.map(kernel, machine, verify="off", effort=0.1)
        assert isinstance(found, isamap.PlanResult)
        assert found.timing is not None
        assert found.plan.bound_cycles <= found.timing.cycles
        assert found.plan.bound_limit


def test_rewrites_are_shown_with_their_laws() -> None:
    sizes = ["--size", "h=5", "--size", "w=5"]
    done = run_map("separable_conv:separable_conv_fused", "--hw", "gemmini", *sizes)
    assert "\nrewrites factor y: pointwise out of u, v" in done.output
    assert "which gives" in done.output
    assert "by sum_k a*b(k) = a * sum_k b(k)" in done.output
    assert ", verified (" in done.output.splitlines()[0]


def test_json_holds_tasks_and_totals(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    done = run_map("mttkrp:mttkrp_two_steps", "--hw", "vta", "--json", str(path))
    assert done.exit_code == 0, done.output
    data = json.loads(path.read_text(encoding="utf-8"))
    assert (data["schema"], data["schema_version"]) == ("isamap-plan", 1)
    assert data["request"]["sizes"]["m"] == 16
    first, second = data["tasks"]
    assert first["mapping"]["instruction"] == "gemm"
    assert first["bound_cycles"] <= first["analytical_cycles"]
    assert second["on_host"] is True
    assert second["mapping"] is None
    assert second["reason"].startswith("not on vta: ")
    parts = [*data["tasks"], *data["repacks"]]
    cycles = [part.get("analytical_cycles", part.get("cycles")) for part in parts]
    assert data["analytical_cycles"] == sum(cycles)
    assert data["bound_cycles"] <= data["emulated"]["cycles"]
    assert data["verification"]["is_verified"] is True


def test_written_program_with_host_calls_is_emulated_in_the_same_time(tmp_path: Path) -> None:
    program, answer = tmp_path / "program.json", tmp_path / "answer.json"
    arguments = ["--verify", "off", "--program", str(program), "--json", str(answer)]
    assert run_map("mttkrp:mttkrp_two_steps", "--hw", "vta", *arguments).exit_code == 0
    done = CliRunner().invoke(main, ["emulate", str(program), "--hw", "vta"])
    cycles = json.loads(answer.read_text(encoding="utf-8"))["emulated"]["cycles"]
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"{cycles:,} cycles".replace(",", " "))
    assert "host call host_1: 1 call" in done.output
    assert "scratch: " in done.output


def test_program_for_another_machine_is_an_error(tmp_path: Path) -> None:
    program = tmp_path / "program.json"
    arguments = ["--verify", "off", "--program", str(program)]
    assert run_map("gemm_epilogue", "--hw", "vta", *SMALL, *arguments).exit_code == 0
    done = CliRunner().invoke(main, ["emulate", str(program), "--hw", "outer"])
    assert done.exit_code == 2
    assert done.output.startswith("error: ")


def test_explain_goes_statement_by_statement() -> None:
    done = run_map("gemm_epilogue", "--hw", "gemmini", *SMALL, "--verify", "off", "--explain")
    _, _, text = done.output.partition("why not other instructions")
    assert "kernel: T[i, j] += i32(A[i, p]) * i32(B[p, j])" in text
    assert "kernel: C[i_2, j_2] = sat_i8(" in text
    misses = text.partition("kernel: C[i_2, j_2]")[2]
    assert misses.index("mvout_i8: ") < misses.index("compute: "), "nearest miss first"
    assert "computes round_even(f32(S[r, c]) * scale), the kernel rshift_round(" in misses


def test_explain_says_when_order_forbids_every_instruction() -> None:
    found = isamap.explain("prefix_sum", "gemmini", sizes={"n": 8})
    assert all(task.task.held == ("i",) for task in found.tasks[:1])
    floats = isamap.explain("attention", "outer")
    assert floats.tasks[0].problem.startswith("tiling would reorder a floating-point sum (allow it")


@pytest.mark.parametrize("machine", ["vecdot", "outer"])
@pytest.mark.parametrize("kernel", ["softmax", "gru:gru_i8", "gemm_epilogue", "layer_norm"])
def test_without_a_host_the_error_names_statement_and_nearest_instruction(
    machine: str, kernel: str, tmp_path: Path
) -> None:
    hw = write_hostless(machine, tmp_path)
    done = run_map(kernel, "--hw", hw, "--allow", "reassociate", "--explain")
    assert done.exit_code == 3
    _, _, text = done.output.partition("error: ")
    place, message, statement, miss, *_ = [text.split(".py:")[0], *text.splitlines()]
    assert place.endswith(kernel.partition(":")[0])
    assert message.endswith(f"no instruction of {machine} computes")
    assert "=" in statement and "[" in statement
    assert miss.startswith("  ") and ": " in miss
    assert "hint: a machine with a 'host'" in text
    assert done.output.count("\nkernel: ") > 1, "--explain goes through all statements"


def test_a_task_that_the_host_takes_for_its_neighbours_sake_says_so() -> None:
    """VTA computes the product faster, but stores its sums as byte planes."""
    text = """
A, B, T, D = In(i8, 7, 9), In(i8, 9, 5), Temp(i32, 7, 5), Out(i32, 7, 5)
for i, j, p in grid(7, 5, 9):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j in grid(7, 5):
  D[i, j] = T[i, j] * T[i, j]
"""
    hw = load_hardware(find_hardware("vta"))
    first, _ = find_plan(parse_semantics(text, "sums"), hw, Wishes(time_limit_s=5)).tasks
    assert why_on_host(first, hw).startswith("better with what is around it: by itself gemm would")
    slow = replace(first, cycles=1)
    assert why_on_host(slow, hw).startswith("the host is faster: gemm would take ")
