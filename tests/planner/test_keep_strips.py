"""Weights that fit in part, strip by strip: the rest comes while the part that stays computes.

In: recurrent layers on machines whose memory holds some of their weights. Out: failures. Not its
job: the rewrite (`test_strip_nest`), one part after the other (`test_keep_parts`).
"""

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from isamap.emulator import time_program
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, load_kernel
from isamap.planner import Wishes, find_plan
from isamap.planner.find_plan import plan_whole
from isamap.planner.place_tasks import PlacedTasks, TaskTree
from isamap.planner.reorder import reorder
from isamap.planner.retile import put_retiled, retiled
from isamap.planner.schedule_tasks import Known
from isamap.resources import find_kernel
from isamap.rewrites import split_range, strip_nest
from isamap.scheduler import swapped_loops
from isamap.verify import verify_full
from tests.scheduler.cases import machine

STATIONARY_BYTES = 2 * 128 * 128 * 4
WISHES = Wishes(may_reassociate=True, time_limit_s=120.0)


def layer(steps: int, hidden: int, batch: int = 1) -> Kernel:
    sizes = {"steps": steps, "batch": batch, "hidden": hidden}
    return load_kernel(find_kernel("gru")[0], sizes, "gru_skip_bf16")


def with_sbuf(size_bytes: int) -> Hardware:
    hw = machine("trainium")
    memories = (replace(m, size_bytes=size_bytes) if m.name == "sbuf" else m for m in hw.memories)
    return replace(hw, memories=tuple(memories))


def test_a_part_of_every_strip_stays_and_the_other_one_comes_meanwhile() -> None:
    steps, hidden, room = 4, 768, 2200 * 1024
    weights = 3 * hidden * hidden * 2
    kernel, small = layer(steps, hidden), with_sbuf(room)
    plan = find_plan(kernel, small, WISHES)
    assert [step.rewrite for step in plan.steps][:2] == ["strip_nest", "split_range"]
    assert verify_full(plan.program, kernel, small).is_verified
    timing = time_program(plan.program, small)
    read = next(t.read_bytes for t in timing.traffic if t.memory == "hbm")
    assert weights + (steps - 1) * weights / 3 < read < 0.8 * steps * weights
    least = weights + (steps - 1) * (weights - room - STATIONARY_BYTES)
    assert least / 292 <= plan.bound_cycles <= timing.cycles
    assert abs(plan.cycles - timing.cycles) <= 0.10 * timing.cycles


def test_gates_take_turns_where_a_strip_of_all_of_them_keeps_the_rest_waiting() -> None:
    """Three of five blocks of columns stay, of each gate by itself."""
    kernel, small = layer(3, 1280), with_sbuf(6336 * 1024)
    plan = find_plan(kernel, small, WISHES)
    assert sum("g_" in step.site for step in plan.steps) == 4, "gates of sums and what they begin"
    assert verify_full(plan.program, kernel, small).is_verified
    timing = time_program(plan.program, small)
    assert plan.bound_cycles <= timing.cycles
    plain = plan_whole(kernel, small, WISHES, Known())
    assert timing.cycles < 0.9 * time_program(plain.program, small).cycles


def test_what_comes_meanwhile_gets_the_room_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two blocks of columns stays in every strip; the other one comes while that computes,
    and while the host makes a strip's part of the next state."""
    hw, kernel = machine("trainium"), strip_nest(layer(4, 2816), "t_2", 2, "j_3", 256)
    kernel = split_range(split_range(kernel, 2, "j_3", 128), 1, "j_2", 128)
    more = plan_whole(kernel, hw, WISHES, Known())
    keeping = sys.modules["isamap.planner.keep_on_chip"]
    monkeypatch.setattr(keeping, "fetch_ahead", lambda tree, placed: placed)
    less = plan_whole(kernel, hw, WISHES, Known())
    assert more.cycles < less.cycles
    cycles = [time_program(plan.program, hw).cycles for plan in (more, less)]
    assert cycles[0] < cycles[1]
    assert abs(more.cycles - cycles[0]) <= 0.10 * cycles[0]


def test_orders_that_are_one_to_a_task_by_itself_are_chosen_for_those_around_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What comes in every strip takes equally long by halves of the sum first or gates first; the
    tasks that need a gate begin at other times. Whichever of the two the solver happens to find."""
    hw, kernel = machine("trainium"), strip_nest(layer(3, 2048, 8), "t_2", 2, "j_3", 1024)
    kernel = split_range(split_range(kernel, 2, "j_3", 896), 1, "j_2", 896)
    settled: list[tuple[TaskTree, PlacedTasks]] = []

    def record(tree: TaskTree, placed: PlacedTasks) -> PlacedTasks:
        settled.append((tree, placed))
        return reorder(tree, placed)

    monkeypatch.setattr(sys.modules["isamap.planner.keep_on_chip"], "reorder", record)
    plan = plan_whole(kernel, hw, WISHES, Known())
    tree, found = min(settled, key=lambda pair: pair[1].task_cycles)
    alike = [found, *_in_other_orders(tree, found)]
    cycles = [placed.task_cycles for placed in alike]
    assert max(cycles) > min(cycles), "their order counts"
    assert all(reorder(tree, placed).task_cycles <= min(cycles) for placed in alike)
    assert plan.cycles <= min(cycles)
    worst = max(alike, key=lambda placed: placed.task_cycles)
    emulated = [time_program(one.program, hw).cycles for one in (reorder(tree, worst), worst)]
    assert emulated[0] < emulated[1]


def _in_other_orders(tree: TaskTree, placed: PlacedTasks) -> Iterator[PlacedTasks]:
    """One task with two loops swapped, no slower by itself."""
    now = {task.task.number: task for task in placed.tasks}
    for number, task in now.items():
        if not task.on_host:
            for tiling in swapped_loops(task.best.covering, task.best.tiling):
                other = retiled(tree, now, task, tiling)
                if other is not None and other[number].cycles <= task.cycles:
                    yield put_retiled(tree, placed, other)
