"""Host and accelerator at work at once: parts of what a step computes, and temporaries that go.

In: small recurrent layers. Out: failures. Not its job: the rewrites (`test_split_nest`,
`test_inline`).
"""

from dataclasses import replace

import pytest

from isamap.emulator import time_program
from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.planner import Plan, Wishes, find_best_plan, find_plan
from isamap.planner.inline_on_host import inline_on_host
from isamap.planner.known_spans import KnownSpans
from isamap.planner.overlap_host import overlap_host
from isamap.planner.timeline import Timeline
from isamap.planner.turn_handed_on import turn_handed_on
from isamap.resources import find_hardware, find_kernel
from isamap.rewrites import replay
from isamap.verify import verify_full

WISHES = Wishes(time_limit_s=600)  # the time that machines under load take
GEMMINI = load_hardware(find_hardware("gemmini"))


def layer(steps: int, batch: int, hidden: int) -> Kernel:
    sizes = {"steps": steps, "batch": batch, "hidden": hidden}
    return load_kernel(find_kernel("gru")[0], sizes, "gru_skip_i8")


def kinds(plan: Plan) -> set[str]:
    return {step.rewrite for step in plan.steps}


@pytest.fixture(scope="module")
def plan() -> Plan:
    """A layer whose gates take longer than its product."""
    return find_best_plan(layer(3, 2, 112), GEMMINI, WISHES)


def test_the_host_works_beside_the_accelerator(plan: Plan) -> None:
    kernel = layer(3, 2, 112)
    assert kinds(plan) == {"inline", "split_nest"}
    assert replay(kernel, plan.steps) == plan.kernel
    assert verify_full(plan.program, kernel, GEMMINI).is_verified
    timing = time_program(plan.program, GEMMINI)
    assert plan.bound_cycles <= timing.cycles
    product = sum(task.cycles for task in plan.tasks if not task.on_host)
    alone = sum(task.cycles for task in plan.tasks)
    assert timing.cycles < alone - product / 2, "at least half of it is hidden"
    assert abs(timing.cycles / plan.cycles - 1) < 0.1


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 2, 33)])
def test_small_layers_hold_the_right_numbers(sizes: tuple[int, int, int]) -> None:
    kernel = layer(*sizes)
    plan = find_best_plan(kernel, GEMMINI, WISHES)
    assert verify_full(plan.program, kernel, GEMMINI).is_verified


def test_what_is_read_often_is_computed_once(plan: Plan) -> None:
    """`update` has two readers: computing it twice takes longer than keeping it."""
    inlined = [step.site for step in plan.steps if step.rewrite == "inline"]
    assert inlined == ["G", "reset", "new"]
    assert not list(inline_on_host(plan, GEMMINI))


def test_a_host_that_is_the_same_core_takes_turns(plan: Plan) -> None:
    assert GEMMINI.host is not None
    core = replace(GEMMINI, host=replace(GEMMINI.host, is_apart=False))
    ways = {task.task.number: (task,) for task in plan.tasks}
    alone = sum(task.cycles for task in plan.tasks)
    assert (
        Timeline(plan.nodes, GEMMINI, KnownSpans()).cycles(ways)
        < alone
        <= Timeline(plan.nodes, core, KnownSpans()).cycles(ways)
    )
    beside = time_program(plan.program, GEMMINI).cycles
    emulated = [time_program(plan.program, core, compiled=way).cycles for way in (False, None)]
    assert emulated[0] == emulated[1] > beside
    assert emulated[0] == pytest.approx(
        Timeline(plan.nodes, core, KnownSpans()).cycles(ways), rel=0.05
    )
    turns = find_plan(layer(2, 1, 33), core, WISHES)
    parts = list(overlap_host(turns, GEMMINI))
    assert parts and not list(overlap_host(turns, core))
    assert all(turns.cycles / 2 < part.least_cycles < turns.cycles for part in parts)


def test_tokens_keep_tasks_apart() -> None:
    vta = load_hardware(find_hardware("vta"))
    plan = find_best_plan(layer(2, 1, 33), vta, WISHES)
    assert "split_nest" not in kinds(plan)
    assert not list(overlap_host(plan, vta))


def test_what_the_host_takes_over_may_lie_in_another_order() -> None:
    """TPU v1 stores what one call sums in rows: turned, those of all batch rows at once."""
    tpu = load_hardware(find_hardware("tpu_v1"))
    plan = find_plan(layer(2, 3, 40), tpu, WISHES)
    (parts,) = turn_handed_on(plan, tpu)
    assert [part.steps[-1].site for part in parts] == ["R by 1, 2, 0", "R by 0, 2, 1"]
    assert not list(turn_handed_on(find_plan(layer(1, 1, 1), tpu, WISHES), tpu))
