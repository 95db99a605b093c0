"""What is computed too late for a fifo with a deadline is not routed through it.

In: kernels on OpenTPU, where the next weights must come within 2 N cycles of a switch. Out:
failures. Not its job: the emulator's rule (`tests/emulator/test_exposed.py`).
"""

from pathlib import Path

import isamap
from isamap.compile import PlanResult
from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel, parse_semantics
from isamap.mapper import TaskNode, coverings, cut_tasks, flatten, join_tasks
from isamap.planner.mark_late import mark_late

ROOT = Path(__file__).resolve().parents[2]
OPENTPU = load_hardware(ROOT / "hw_specs" / "opentpu.yaml")
GEMMINI = load_hardware(ROOT / "hw_specs" / "gemmini.yaml")
SIZES = {"h": 4, "w": 5, "c": 7, "k": 18}
SEPARABLE = load_kernel(ROOT / "kernels" / "wrapped.py", SIZES, "separable_conv_wrapped")


def routed_through_the_fifo(nodes: tuple[TaskNode, ...]) -> set[str]:
    """Buffers that do in any covering of the second product, its bytes taken in the same task."""
    tasks = tuple(flatten(nodes))
    (joined,) = (task for task in join_tasks(SEPARABLE, tasks, 2) if len(task.parts) == 2)
    return {
        plan.buffer
        for covering in coverings(joined.kernel, OPENTPU, [], joined.setting())
        for plan in covering.operands
        if plan.residences[0].memory == "weight_fifo"
    }


def test_buffers_written_once_the_fifo_is_in_use_are_late() -> None:
    tasks = tuple(flatten(mark_late(cut_tasks(SEPARABLE), OPENTPU)))
    assert {task.statement.target.buffer: task.late for task in tasks} == {
        "S": ("S",),
        "H": ("H", "S"),
        "T": ("H", "T"),
        "y": ("T", "y"),
    }
    nodes = cut_tasks(SEPARABLE)
    assert mark_late(nodes, GEMMINI) is nodes


def test_a_copy_is_not_late_because_what_fills_the_fifo_copies() -> None:
    kernel = parse_semantics(
        """
x, w, W, y = In(i8, 20, 16), In(i8, 16, 16), Temp(i8, 16, 16), Out(i32, 20, 16)
for k, j in grid(16, 16):
  W[k, j] = w[j, k]
for i, j, k in grid(20, 16, 16):
  y[i, j] += i32(x[i, k]) * i32(W[k, j])
""",
        "copied",
    )
    late = [task.late for task in flatten(mark_late(cut_tasks(kernel), OPENTPU))]
    assert late == [(), ("y",)]


def test_a_late_buffer_does_not_pass_the_fifo() -> None:
    nodes = cut_tasks(SEPARABLE)
    assert routed_through_the_fifo(nodes) == {"H", "pointwise"}
    assert routed_through_the_fifo(mark_late(nodes, OPENTPU)) == {"pointwise"}


def test_plans_cut_short_are_not_rejected() -> None:
    for limit in (0.0, 0.5):
        result = isamap.map(SEPARABLE, OPENTPU, verify="full", time_limit_s=limit)
        assert isinstance(result, PlanResult)
        assert result.verification.is_verified, result.verification
