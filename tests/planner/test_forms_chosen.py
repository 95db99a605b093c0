"""Rewritten forms of kernels are found, chosen by cycles, and right."""

from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import isamap
from isamap.costmodels import Aim, Metric
from isamap.errors import LimitError
from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, load_kernels, parse_semantics
from isamap.planner import Plan, Wishes, best_plan, find_best_plan, plan_form
from isamap.planner.best_plan import may_gain
from isamap.planner.find_plan import plan_whole
from isamap.planner.plan import task_key
from isamap.planner.schedule_tasks import TaskScheduler
from isamap.resources import find_hardware, find_kernel
from isamap.scheduler import EffortClock
from isamap.verify import Check, verify_plan

VECTORS = """
X, s, b, D = In(i32, 20, 24), In(i32, 24), In(i32, 24), Out(i32, 20, 24)
U, V = Temp(i32, 20, 24), Temp(i32, 20, 24)
E = Out(i32, 20, 24)
for i, j in grid(20, 24):
  U[i, j] = X[i, j] * s[j]
for e, f in grid(20, 24):
  E[e, f] = X[e, f] + X[e, f]
for k, l in grid(20, 24):
  V[k, l] = U[k, l] + b[l]
for m, n in grid(20, 24):
  D[m, n] = relu(V[m, n])
"""


LAYERS = """
X, W, U = In(i8, 16, 32), In(i8, 32, 24), In(i8, 24, 8)
v, w, s, t = In(i32, 24), In(i32, 8), In(i32, 24), In(i32, 8)
T, H, S, Y = Temp(i32, 16, 24), Temp(i8, 16, 24), Temp(i32, 16, 8), Out(i8, 16, 8)
for i, j in grid(16, 24):
  T[i, j] = v[j]
for i, j, k in grid(16, 24, 32):
  T[i, j] += i32(X[i, k]) * i32(W[k, j])
for i, j in grid(16, 24):
  H[i, j] = sat_i8(rshift_round(i64(relu(T[i, j])) * i64(s[j]), 20))
for i, j in grid(16, 8):
  S[i, j] = w[j]
for i, j, k in grid(16, 8, 24):
  S[i, j] += i32(H[i, k]) * i32(U[k, j])
for i, j in grid(16, 8):
  Y[i, j] = sat_i8(rshift_round(i64(S[i, j]) * i64(t[j]), 20))
"""


def best(kernel: Kernel, machine: str) -> Plan:
    """The best plan, executed and found right."""
    hw = load_hardware(find_hardware(machine))
    plan = find_best_plan(kernel, hw, Wishes(time_limit_s=60.0))
    assert verify_plan(plan, kernel, hw, Check.FULL).is_verified
    return plan


def bundled(file: str, name: str, **sizes: int) -> Kernel:
    """A bundled kernel at its sizes."""
    return load_kernels(find_kernel(file)[0])[name].build(sizes)


def units(plan: Plan) -> list[str]:
    """What runs each task."""
    return [
        "host" if task.on_host or task.answer is None else task.answer.best.covering.instruction
        for task in plan.tasks
    ]


@pytest.mark.parametrize(
    ("machine", "instruction"),
    [("gemmini", "compute"), ("vta", "gemm"), ("outer", "smopa")],
)
def test_the_pointwise_half_of_a_fused_convolution_runs_on_the_matrix_unit(
    machine: str, instruction: str
) -> None:
    kernel = bundled("separable_conv", "separable_conv_fused", h=7, w=7, c=16, k=32)
    plan = best(kernel, machine)
    steps = [step.rewrite for step in plan.steps]
    assert steps[0] == "factor" and "split_integers" in steps
    pointwise = [
        unit
        for unit, task in zip(units(plan), plan.tasks, strict=True)
        if any(b.name == "pointwise" for b in task.task.kernel.buffers)
    ]
    assert len(pointwise) >= 3 and set(pointwise) == {instruction}


def test_a_chain_of_vector_statements_becomes_one_instruction_past_another_statement() -> None:
    plan = best(parse_semantics(VECTORS, "vectors"), "fused_npu")
    assert [step.rewrite for step in plan.steps] == ["inline", "inline"]
    assert sorted(units(plan)) == ["add", "multiply_add_relu"]


@pytest.mark.parametrize(
    ("file", "name", "rewrite"),
    [
        ("reductions", "row_sum", "reduce_as_gemm"),
        ("prefix_sum", "prefix_sum", "scan_as_gemm"),
        ("mttkrp", "mttkrp", "factor"),
    ],
)
def test_what_no_instruction_computes_is_rewritten(file: str, name: str, rewrite: str) -> None:
    plan = best(bundled(file, name), "gemmini")
    assert rewrite in [step.rewrite for step in plan.steps]
    assert any(unit.startswith("compute") for unit in units(plan))


def test_a_form_that_promises_less_is_not_taken() -> None:
    plan = best(bundled("gemm_epilogue", "gemm_requantise", m=17, n=20, k=33), "vta")
    assert plan.steps == ()


def test_what_is_gained_in_tasks_that_a_form_shares_is_no_reason_to_try_it() -> None:
    hw = load_hardware(find_hardware("vta"))
    plain = plan_form(bundled("gemm_epilogue", "gemm_requantise", m=17, n=20, k=33), hw, Wishes())
    tasks = [part for planned in plain.tasks for part in planned.task.parts or (planned.task,)]
    keys = Counter(task_key(task, frozenset()) for task in tasks)
    nothing = dict.fromkeys(keys, 0.0)
    assert not may_gain(keys, replace(plain, repack_cycles=0), nothing)
    assert may_gain(Counter(), plain, nothing)


def test_forms_without_the_tasks_that_turned_out_to_need_the_host_come_first() -> None:
    """Sums that no instruction clears would come from outside, and no token says that those of
    before are out."""
    kernel = parse_semantics(LAYERS, "layers")
    hw = load_hardware(Path("tests/specs/machines/in_memory.yaml"))
    hw = replace(hw, channels=tuple(c for c in hw.channels if c.name != "out_to_in"))
    plan = find_best_plan(kernel, hw, Wishes(time_limit_s=60.0))
    assert verify_plan(plan, kernel, hw, Check.FULL).is_verified
    assert [step.rewrite for step in plan.steps][:2] == ["sum_apart", "sum_apart"]
    products = [p for p in plan.tasks if {"W", "U"} & {b.name for b in p.task.kernel.buffers}]
    assert len(products) == 2 and not any(planned.on_host for planned in products)


@pytest.mark.parametrize("machine", ["gemmini", "vta"])
def test_a_diagonal_of_filters_is_tried_among_bands_and_windows(machine: str) -> None:
    """Those promise more: their copies' bounds are of full calls, along either axis alike."""
    plan = best(bundled("depthwise_conv", "depthwise_conv"), machine)
    assert [step.rewrite for step in plan.steps] == ["block_diagonal"]


@pytest.mark.parametrize("kernel", ["layer_norm", "variance"])
def test_a_machine_of_single_operations_computes_rows_and_leaves_numbers_to_the_host(
    kernel: str,
) -> None:
    """The host divides and takes roots once per row; terms of sums are computed before them."""
    file = "reductions" if kernel == "variance" else kernel
    hw = load_hardware(Path("tests/planner/vector_core.yaml"))
    own = bundled(file, kernel, m=6, n=20)
    plan = find_best_plan(own, hw, Wishes(may_reassociate=True))
    assert verify_plan(plan, own, hw, Check.FULL).is_verified
    hosts = [planned.task.statement for planned in plan.tasks if planned.on_host]
    assert hosts and all(loop.extent == 6 for statement in hosts for loop in statement.loops)


def test_numbers_become_elements_where_no_instruction_takes_numbers() -> None:
    text = "x, y = In(f32, 12, 40), Out(f32, 12, 40)\nfor i, j in grid(12, 40):\n"
    kernel = parse_semantics(f"{text}  y[i, j] = x[i, j] * 0.125", "scaled")
    hw = load_hardware(Path("tests/planner/vector_core.yaml"))
    plan = find_best_plan(kernel, hw, Wishes())
    assert verify_plan(plan, kernel, hw, Check.FULL).is_verified
    assert [step.rewrite for step in plan.steps] == ["numbers"]
    on_host = {planned.task.statement.target.buffer for planned in plan.tasks if planned.on_host}
    assert on_host == {"number"}


LAYER = """
A, B, y = In(i8, 12, 20), In(i8, 20, 16), Out(i8, 12, 16)
T = Temp(i32, 12, 16)
for i, j, k in grid(12, 16, 20):
  T[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid(12, 16):
  y[i, j] = sat_i8({})
"""


@pytest.mark.parametrize(
    ("machine", "value"),
    [
        ("fused_npu", "rshift_round(relu(T[i, j]), 4)"),  # no bias
        ("fused_npu", "relu(T[i, j])"),  # nor a shift
        ("ascend", "T[i, j]"),
        ("conv_engine", "relu(T[i, j])"),
    ],
)
def test_stores_that_add_a_bias_and_shift_store_what_has_none(machine: str, value: str) -> None:
    plan = best(parse_semantics(LAYER.format(value), "layer"), machine)
    stores = [p for p in plan.tasks if "y" in {b.name for b in p.task.kernel.buffers}]
    assert stores and not any(planned.on_host for planned in stores)


PRODUCTS = """
x, W, U = In(f32, 64, 96), In(f32, 96, 128), In(f32, 128, 80)
G, R = Temp(f32, 64, 128), Out(f32, 64, 80)
for i, j, k in grid(64, 128, 96):
  G[i, j] += x[i, k] * W[k, j]
for i, j, k in grid(64, 80, 128):
  R[i, j] += G[i, k] * U[k, j]
"""


def test_searches_that_end_with_their_share_of_the_time_go_on_in_what_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shares of next to nothing end with the first covering of each task."""
    kernel = parse_semantics(PRODUCTS, "products")
    hw = load_hardware(find_hardware("x86_avx512"))
    wishes = Wishes(may_reassociate=True, clock=EffortClock())
    unlimited = find_best_plan(kernel, hw, wishes)
    made: list[Plan] = []
    monkeypatch.setattr(
        best_plan, "plan_whole", lambda *given: made.append(plan_whole(*given)) or made[-1]
    )
    share_s = TaskScheduler.share_s
    monkeypatch.setattr(
        TaskScheduler,
        "share_s",
        lambda scheduler, task: share_s(scheduler, task) if made else 0.001,
    )
    found = find_best_plan(kernel, hw, wishes)
    assert all(one.answer is not None and one.answer.is_ended for one in made[0].tasks)
    assert found.cycles == unlimited.cycles < made[0].cycles


class _SteppedClock:
    """A wall clock that goes on by a second whenever a task is scheduled."""

    is_wall = True

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def spend(self, seconds: float) -> None:
        """Work takes no time of its own."""


def _count_schedules(monkeypatch: pytest.MonkeyPatch, clock: _SteppedClock) -> None:
    find = TaskScheduler._find

    def found(*given: Any) -> Any:
        clock.seconds += 1
        return find(*given)

    monkeypatch.setattr(TaskScheduler, "_find", found)


def test_a_form_is_given_up_when_time_is_over_and_another_plan_is_at_hand(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In two seconds, the kernel as it is and one task of a form are scheduled."""
    kernel = parse_semantics(
        "A, B, C = In(i16, 40, 48), In(i16, 48, 32), InOut(i32, 40, 32)\n"
        "for i, j, k in grid(40, 32, 48):\n  C[i, j] += i32(A[i, k]) * i32(B[k, j])\n",
        "wide",
    )
    hw, clock = load_hardware(find_hardware("gemmini")), _SteppedClock()
    _count_schedules(monkeypatch, clock)
    plan = find_best_plan(kernel, hw, Wishes(time_limit_s=2.0, clock=clock))
    assert [one.on_host for one in plan.tasks] == [True]
    assert clock.seconds == 2 and "promising forms were not scheduled" in plan.cut
    clock.seconds = 0.0
    plan = find_best_plan(kernel, hw, Wishes(time_limit_s=90.0, clock=clock))
    assert len(plan.tasks) > 2 and not all(one.on_host for one in plan.tasks)


def test_what_only_reads_sums_on_chip_leaves_the_host_before_other_forms_are_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A convolution has many forms, none of which helps what follows it: 26 schedules of them came
    first."""
    kernel = parse_semantics(
        "x, W, bias = In(i8, 10, 9, 16), In(i8, 3, 3, 16, 16), In(i32, 16)\n"
        "T, y = Temp(i32, 10, 9, 16), Out(i8, 10, 9, 16)\n"
        "for p, q, o, u, v, i in grid(10, 9, 16, 3, 3, 16):\n"
        "  T[p, q, o] += i32(x.at(p + u - 1, q + v - 1, i, pad=0)) * i32(W[u, v, i, o])\n"
        "for p, q, o in grid(10, 9, 16):\n"
        "  y[p, q, o] = sat_i8(rshift_round(relu(T[p, q, o] + bias[o]), 9))\n",
        "layer",
    )
    hw, clock = load_hardware(Path(__file__).parent / "post_processor.yaml"), _SteppedClock()
    _count_schedules(monkeypatch, clock)
    plan = find_best_plan(kernel, hw, Wishes(time_limit_s=20.0, clock=clock))
    assert clock.seconds <= 20
    assert not any(one.on_host for one in plan.tasks)
    assert [step.rewrite for step in plan.steps] == ["clear"]
    assert verify_plan(plan, kernel, hw, Check.FULL).is_verified


def test_forms_are_not_looked_for_beyond_those_that_change_what_takes_little_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The matrix products of a layer of gated units take nearly all of its time."""
    layer = bundled("gru", "gru", steps=9, batch=1, inputs=600, hidden=700)
    hw = load_hardware(find_hardware("x86_avx512"))
    wishes = Wishes(time_limit_s=600.0, may_reassociate=True)
    few = find_best_plan(layer, hw, wishes)
    monkeypatch.setattr(import_module("isamap.planner.best_plan"), "_leads_on", lambda *_: True)
    many = find_best_plan(layer, hw, wishes)
    assert 1 < few.num_forms < many.num_forms
    assert few.cycles == many.cycles


@pytest.mark.parametrize(
    ("kernel", "machine", "sizes"),
    [
        ("gemv", "mesh", {"m": 5, "k": 7}),
        ("gemm:gemm_nt", "gemmini_os", {"m": 7, "n": 5, "k": 3}),
    ],
)
def test_other_forms_that_break_a_limit_do_not_take_the_answer_away(
    kernel: str, machine: str, sizes: dict[str, int]
) -> None:
    """Forms that might use the machine better are looked at: none of them keeps the limit."""
    free = isamap.map(kernel, machine, sizes=sizes, verify="off", effort=0.4)
    most = free.analytical_cycles
    aim = Aim.least(Metric.CYCLES, ((Metric.CYCLES, most),))
    found = isamap.map(kernel, machine, sizes=sizes, verify="off", effort=0.4, aim=aim)
    assert found.analytical_cycles <= most


def test_limits_that_no_plan_keeps_are_named_where_only_a_plan_computes_the_kernel() -> None:
    kernel = parse_semantics(
        "A, B, D, E, C = In(i8, 5, 7), In(i8, 7, 6), In(i8, 5, 7), In(i8, 7, 6), Out(i32, 5, 6)\n"
        "for i, j, p in grid(5, 6, 7):\n"
        "  C[i, j] += i32(A[i, p]) * i32(B[p, j]) + i32(D[i, p]) * i32(E[p, j])\n",
        "twice",
    )
    aim = Aim.least(Metric.CYCLES, ((Metric.CYCLES, 1.0),))
    with pytest.raises(LimitError, match="has cycles of at most 1 cycles"):
        isamap.map(kernel, "gemmini", time_limit_s=2, aim=aim)
