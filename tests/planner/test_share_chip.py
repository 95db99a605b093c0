"""Tasks in the same time steps lie side by side on chip, as far as there is room."""

from dataclasses import replace
from importlib import import_module

import pytest

from isamap.costmodels import guards
from isamap.emulator import time_program
from isamap.hwdesc import Hardware, MemoryKind, Synchronisation
from isamap.ir import load_kernel, parse_semantics
from isamap.mapper import flatten
from isamap.planner import PlannedTask, Wishes, find_plan
from isamap.planner.share_chip import ends_of, share_chip
from isamap.resources import find_kernel
from isamap.rewrites import split_nest
from tests.scheduler.cases import machine

WISHES = Wishes(time_limit_s=300)  # the time that machines under load take
STEPS = """
A, B, T, D = In(i32, 3, 5, 7), In(i32, 3, 5, 7), Temp(i32, 5, 7), Out(i32, 3, 5, 7)
for t in range(3):
  for i, j in grid(5, 7):
    T[i, j] = A[t, i, j] + B[t, i, j]
  for i, j in grid(5, 7):
    D[t, i, j] = T[i, j] + B[t, i, j]
"""


def with_memories(hw: Hardware, sizes: dict[str, int]) -> Hardware:
    memories = tuple(
        replace(m, size_bytes=sizes.get(m.name, m.size_bytes))
        if m.kind is MemoryKind.MANAGED
        else m
        for m in hw.memories
    )
    return replace(hw, memories=memories)


def test_neighbours_wait_for_each_others_room_only_where_there_is_none_to_spare() -> None:
    hw = machine("fused_npu")
    plan = find_plan(parse_semantics(STEPS, "steps"), hw, Wishes())
    pieces = {p.task.number: p.piece for p in plan.tasks}
    first, second = (pieces[task.number] for task in flatten(plan.nodes))
    starts = share_chip(plan.nodes, pieces, hw).starts
    ends = ends_of(first, starts[first.task.number], hw)
    assert ends and all(starts[second.task.number][memory] == end for memory, end in ends.items())

    alone = ends_of(second, starts[first.task.number], hw)
    assert alone
    least = {memory: max(ends[memory], alone[memory]) for memory in ends}
    room = share_chip(plan.nodes, pieces, with_memories(hw, least))
    assert not room.crowded
    assert room.starts[first.task.number] == room.starts[second.task.number]

    tokens = replace(hw, synchronisation=Synchronisation.TOKENS)
    starts = share_chip(plan.nodes, pieces, tokens).starts
    assert starts.get(first.task.number) == starts.get(second.task.number)


APART = """
A, B, C, D = In(i32, 5, 7), In(i32, 5, 7), Out(i32, 5, 7), Out(i32, 5, 7)
for i, j in grid(5, 7):
  C[i, j] = A[i, j] + B[i, j]
for i, j in grid(5, 7):
  D[i, j] = A[i, j] + B[i, j]
"""


def test_tasks_that_need_nothing_of_each_other_wait_for_no_room_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second one's loads begin while the first one computes, where they lie behind its own."""
    hw = machine("fused_npu")
    plan = find_plan(parse_semantics(APART, "apart"), hw, Wishes())
    pieces = {p.task.number: p.piece for p in plan.tasks}
    starts = share_chip(plan.nodes, pieces, hw).starts
    ends = ends_of(pieces[0], starts[0], hw)
    assert ends and {name: starts[1][name] for name in ends} == ends
    cycles = time_program(plan.program, hw).cycles
    least = with_memories(hw, ends)
    starts = share_chip(plan.nodes, pieces, least).starts
    assert not any(starts[1].values()), "no room behind the first one"

    monkeypatch.setattr(import_module("isamap.planner.share_chip"), "_in_turn", lambda *_: {})
    assert cycles < time_program(find_plan(plan.kernel, hw, Wishes()).program, hw).cycles


def keeps(planned: PlannedTask, buffer: str) -> bool:
    """Does the task hold an input over all its held loops?"""
    covering, tiling = planned.best.covering, planned.best.tiling
    plan = next(plan for plan in covering.operands if plan.inlet_buffer == buffer)
    stay = tiling.stay(plan.name, len(plan.residences) - 1)
    return set(covering.held) <= set(guards(covering, tiling, stay).outer)


def test_parts_keep_their_weights_side_by_side_where_there_is_just_room_for_them() -> None:
    """They take turns in memories where they keep nothing over time steps."""
    hidden, steps = 512, 50
    hw = with_memories(machine("tpu_v1"), {"unified_buffer": 3 * hidden * hidden})
    sizes = {"steps": steps, "batch": 1, "hidden": hidden}
    kernel = load_kernel(find_kernel("gru")[0], sizes, "gru_skip_i8")
    plan = find_plan(split_nest(kernel, "t_2", 2, "j_3", hidden // 2), hw, WISHES)
    products = [p for p in plan.tasks if "U" in p.task.touched]
    assert len(products) == 2 and all(keeps(product, "U") for product in products)


def test_plans_are_priced_with_tasks_where_they_lie() -> None:
    """Without room behind the first task the second one waits, in the closed form too."""
    hw = machine("fused_npu")
    plan = find_plan(parse_semantics(APART, "apart"), hw, Wishes())
    pieces = {p.task.number: p.piece for p in plan.tasks}
    ends = ends_of(pieces[0], {}, hw)
    assert ends
    crowded = find_plan(plan.kernel, with_memories(hw, ends), Wishes())
    cycles = [time_program(found.program, hw).cycles for found in (plan, crowded)]
    assert plan.cycles < crowded.cycles and cycles[0] < cycles[1]
