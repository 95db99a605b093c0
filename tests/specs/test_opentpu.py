"""OpenTPU: products, convolutions and epilogues without interlocks, every start checked.

In: `gemm_i8` and kernels of `kernels/wrapped.py` at small odd sizes. Out: failures. Not its job:
the rules themselves (`tests/emulator/test_exposed.py`).
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.compile import PlanResult
from isamap.emulator import time_program
from isamap.errors import ProgramError
from isamap.hwdesc import load_hardware, opened_by
from isamap.ir import interpret, load_kernel, load_reference, parse_semantics, random_arrays
from isamap.program import For, Issue, Node, Program, When

ROOT = Path(__file__).resolve().parents[2]
HW = load_hardware(ROOT / "hw_specs" / "opentpu.yaml")
FILE = ROOT / "kernels" / "wrapped.py"
GEMM = ROOT / "kernels" / "gemm.py"
EFFORT = 0.05  # the plan as it is and some rewritten forms


def mapped(name: str, **sizes: int) -> PlanResult:
    """The answer for a kernel, its program executed in full."""
    file = GEMM if name == "gemm_i8" else FILE
    result = isamap.map(load_kernel(file, sizes, name), HW, verify="full", effort=EFFORT)
    assert isinstance(result, PlanResult)
    assert result.verification.is_verified, result.verification
    assert result.timing is not None
    return result


def calls(body: tuple[Node, ...]) -> list[Issue]:
    """Every call of a program's text."""
    found: list[Issue] = []
    for node in body:
        if isinstance(node, Issue):
            found.append(node)
        elif isinstance(node, For | When):
            found += calls(node.body)
    return found


def test_figures() -> None:
    n = dict(HW.parameters)["N"]
    mmc, act, rw = (HW.instruction(name) for name in ("mmc", "act", "rw"))
    assert rw.latency_cycles.evaluate({}) == n * n // 64 + n + 5
    assert {HW.memory("weight_fifo").num_entries, HW.issue_width} == {4, 1}
    for rows in (1, 16, 255):
        full = {"l": rows, "j": n, "k": n}
        # row 0 of the sums is visible 2 N + 1 after the product begins, whatever its length
        assert mmc.latency_cycles.evaluate(full) - (rows - 1) == 2 * n + 1
        assert mmc.issue_cycles.evaluate(full) == rows + 1
        assert act.latency_cycles.evaluate({"l": rows, "j": n}) - (rows - 1) == 1
    assert opened_by(mmc, HW) == HW.instruction("mmc_overwrite")
    assert {d.cycles.evaluate({}) for d in HW.distances} == {2 * n + 3}


@pytest.mark.parametrize(
    ("name", "m", "n", "k"),
    [
        ("gemm_i8", 1, 1, 1),
        ("gemm_relu_wrapped", 7, 5, 3),
        ("gemm_i8", 37, 33, 50),
        ("gemm_relu_wrapped", 300, 16, 32),
    ],
)
def test_products_run_on_the_array(name: str, m: int, n: int, k: int) -> None:
    result = mapped(name, m=m, n=n, k=k)
    used = {call.instruction for call in calls(result.plan.program.body)}
    if m > 1:  # one number is the host's
        assert "mmc_overwrite" in used and "host_0" not in used
        assert ("mmc" in used) == (k > 16), "the first product of a sum overwrites"


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("conv2d_wrapped", {"h": 5, "w": 4, "c": 3, "k": 17, "r": 3, "s": 2, "stride": 2}),
        ("conv2d_wrapped", {"h": 6, "w": 7, "c": 16, "k": 5}),
        ("separable_conv_wrapped", {"h": 4, "w": 5, "c": 7, "k": 18}),
    ],
)
def test_convolutions_run_on_the_array(name: str, sizes: dict[str, int]) -> None:
    result = mapped(name, **sizes)
    used = {call.instruction for call in calls(result.plan.program.body)}
    assert {"rhm", "rw", "mmc_overwrite", "whm"} <= used


def test_numpy_agrees_with_the_kernels() -> None:
    sizes = {"h": 4, "w": 5, "c": 3, "k": 2}
    subject = load_kernel(FILE, sizes, "separable_conv_wrapped")
    arrays = random_arrays(subject, 3)
    reference = load_reference(FILE, "separable_conv_wrapped", sizes)
    assert reference is not None
    np.testing.assert_array_equal(interpret(subject, arrays)["y"], reference(**arrays)["y"])


def test_no_call_may_start_a_cycle_earlier_than_its_neighbours_allow() -> None:
    program = mapped("gemm_i8", m=9, n=17, k=20).plan.program
    cycles = time_program(program, HW, compiled=True).cycles
    assert cycles == time_program(program, HW, compiled=False).cycles
    moved = [early(program, number) for number in range(len(calls(program.body)))]
    for changed in moved:
        with pytest.raises(ProgramError):
            time_program(changed, HW, compiled=False)


def early(program: Program, number: int) -> Program:
    """The program with the last execution of one call, or its first, a cycle earlier."""
    counter = iter(range(len(calls(program.body))))

    def change(body: tuple[Node, ...]) -> tuple[Node, ...]:
        nodes: list[Node] = []
        for node in body:
            if isinstance(node, Issue):
                if next(counter) == number:
                    runs = [replace(run, first=run.first - 1) for run in node.starts]
                    node = replace(node, starts=tuple(runs))
                nodes.append(node)
            else:
                nodes.append(replace(node, body=change(node.body)))
        return tuple(nodes)

    return replace(program, body=change(program.body))


def test_sums_of_32_bits_stay_on_the_chip_and_the_answer_says_so() -> None:
    text = """
A, B, C = In(i8, 20, 20), In(i8, 20, 20), Out(i32, 20, 20)
for i, j, k in grid(20, 20, 20):
  C[i, j] += i32(A[i, k]) * i32(B[k, j])
"""
    result = isamap.map(parse_semantics(text, "sums"), HW, verify="full")
    assert isinstance(result, PlanResult)
    assert [task.on_host for task in result.plan.tasks] == [True]
    assert "no copy takes i32 from accumulators to host_memory" in result.plan.tasks[0].reason


@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 96), (300, 130, 205), (64, 256, 80)])
def test_the_closed_form_is_close_to_the_start_cycles(m: int, n: int, k: int) -> None:
    result = mapped("gemm_i8", m=m, n=n, k=k)
    assert result.timing is not None
    assert abs(result.plan.cycles - result.timing.cycles) <= 0.05 * result.timing.cycles
