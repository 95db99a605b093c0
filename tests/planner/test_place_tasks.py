"""What the host lays out anew counts, in a plan's cycles and in the choice of who runs a task.

So does what hides behind what: of all choices none is better.

In: small kernels, many on a machine whose results leave in byte planes. Out: failures. Not its job:
the copies themselves (`test_handed_on`), cycles of one choice (`test_timeline`).
"""

import random
from dataclasses import replace
from itertools import product

import pytest

from isamap.costmodels import Aim, Metric
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, parse_semantics
from isamap.mapper import TaskNode, cut_tasks, flatten
from isamap.planner import Plan, PlannedTask, Wishes, find_plan, host_task_cycles, repacks
from isamap.planner.find_plan import plan_alone, task_scheduler
from isamap.planner.host_calls import may_run_on_host
from isamap.planner.make_room import make_room
from isamap.planner.place_tasks import PlacedTasks, TaskTree, place_tasks, try_all_places
from isamap.planner.schedule_tasks import Known
from isamap.planner.share_chip import share_chip
from isamap.scheduler import Answer
from isamap.verify import verify_full
from tests.scheduler.cases import machine
from tests.task_kernels import make_kernel

# a product, whose sums VTA stores as byte planes, and a statement that only the host runs
SUMS = """
A, B, T, D = In(i8, {m}, {k}), In(i8, {k}, {n}), Temp(i32, {m}, {n}), Out(i32, {m}, {n})
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j in grid({m}, {n}):
  D[i, j] = T[i, j] * T[i, j]
"""


def sums(m: int, k: int, n: int) -> Kernel:
    return parse_semantics(SUMS.format(m=m, k=k, n=n), "sums")


def plan_of(kernel: Kernel) -> Plan:
    vta = machine("vta")
    plan = find_plan(kernel, vta, Wishes())
    assert verify_full(plan.program, kernel, vta).is_verified
    moved = sum(row.cycles for row in repacks(plan.program, vta))
    assert plan.repack_cycles == moved
    assert plan.cycles == sum(task.cycles for task in plan.tasks) + moved
    return plan


def test_a_task_stays_on_the_host_when_laying_out_its_result_costs_more_than_it_saves() -> None:
    product = plan_of(sums(7, 9, 5)).tasks[0]
    assert isinstance(product.answer, Answer), "VTA can compute it"
    assert product.answer.best.estimate.cycles < product.cycles, "and faster, alone"
    assert product.on_host


def test_a_result_is_laid_out_anew_where_that_pays() -> None:
    plan = plan_of(sums(32, 64, 32))
    assert not plan.tasks[0].on_host
    assert plan.repack_cycles > 0


# small products of different sizes, and one that needs two of them
PRODUCTS = """
A, B, C = In(i8, {0}, {1}), In(i8, {1}, {2}), InOut(i32, {0}, {2})
D, E, F = In(i8, {2}, {1}), In(i8, {1}, {0}), InOut(i32, {2}, {0})
G, I, H = In(i8, {0}, {0}), In(i8, {0}, {2}), InOut(i32, {0}, {2})
X = Out(i32, {0}, {2})
for i, j, p in grid({0}, {2}, {1}):
  C[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j, p in grid({2}, {0}, {1}):
  F[i, j] += i32(D[i, p]) * i32(E[p, j])
for i, j, p in grid({0}, {2}, {0}):
  H[i, j] += i32(G[i, p]) * i32(I[p, j])
for i, j in grid({0}, {2}):
  X[i, j] = C[i, j] + H[i, j]
"""
MOST_TASKS = 8  # of which all choices are tried


def best_of_all(
    kernel: Kernel, nodes: tuple[TaskNode, ...], planned: dict[int, PlannedTask], hw: Hardware,
    aim: Aim,
) -> tuple[float, float]:  # fmt: skip
    """The least of every choice between host and accelerator."""
    options = []
    for task in flatten(nodes):
        mine = planned[task.number]
        found = [PlannedTask.scheduled(task, mine.answer)] if mine.answer is not None else []
        if hw.host is not None and may_run_on_host(task):
            cycles = host_task_cycles(task, hw.host)
            found.append(PlannedTask(task, mine.answer, True, cycles))
        options.append(found)
    ranks = []
    for chosen in product(*options):
        choice = {one.task.number: one for one in chosen}
        try:
            pieces = {number: one.piece for number, one in choice.items()}
            if not share_chip(nodes, pieces, hw).crowded:
                ranks.append(aim.rank(TaskTree(kernel, nodes, hw).put(choice).costs(hw)))
        except MappingError:
            pass  # nothing lays out anew what passes between them
    return min(ranks)


def place(kernel: Kernel, hw: Hardware, aim: Aim) -> tuple[PlacedTasks, tuple[float, float]] | None:
    """What is chosen, and the best choice; None where too many would have to be tried."""
    nodes = cut_tasks(kernel)
    tasks = tuple(flatten(nodes))
    scheduler = task_scheduler(tasks, hw, Wishes(time_limit_s=100.0, aim=aim), Known())
    planned = plan_alone(tasks, scheduler)
    if not 1 < len(planned) == len(tasks) <= MOST_TASKS:
        return None
    planned = make_room(nodes, planned, scheduler)
    try:
        tree = TaskTree(kernel, nodes, hw)
        placed = try_all_places(tree, place_tasks(tree, planned, aim), aim)
    except MappingError:
        return None
    return placed, best_of_all(kernel, nodes, planned, hw, aim)


@pytest.mark.parametrize("hw_name", ["outer", "vecdot", "gemmini"])
@pytest.mark.parametrize("sizes", [(1, 7, 1), (3, 2, 5)])
def test_no_choice_is_better_where_tasks_hide_behind_each_other(
    hw_name: str, sizes: tuple[int, int, int]
) -> None:
    kernel = parse_semantics(PRODUCTS.format(*sizes), "products")
    hw, aim = machine(hw_name), Aim()
    found = place(kernel, hw, aim)
    assert found is not None
    placed, best = found
    assert not placed.cut and aim.rank(placed.costs(hw)) == best


@pytest.mark.parametrize("metric", [Metric.CYCLES, Metric.EDP])
def test_no_choice_is_better_for_random_kernels(metric: Metric) -> None:
    aim, count = Aim.least(metric), 0
    for seed in range(16):
        kernel = make_kernel(random.Random(f"places {seed}").choice)
        hw = machine(("outer", "vta", "gemmini", "conv_engine")[seed % 4])
        found = None if kernel is None else place(kernel, hw, aim)
        if found is not None:
            count += 1
            placed, best = found
            assert not placed.cut and aim.rank(placed.costs(hw)) == best, seed
    assert count > 5, "else nothing is tested"


def with_room(hw: Hardware, size: int) -> Hardware:
    """The machine with so many bytes of external memory."""
    memories = (replace(m, size_bytes=size) if m == hw.external else m for m in hw.memories)
    return replace(hw, memories=tuple(memories))


def test_arrays_that_do_not_fit_the_external_memory_are_no_plan_of_the_hosts() -> None:
    kernel, vta = sums(5, 7, 6), machine("vta")
    needed = find_plan(kernel, vta, Wishes()).program.room_bytes
    found = find_plan(kernel, with_room(vta, needed), Wishes())
    assert verify_full(found.program, kernel, with_room(vta, needed)).is_verified
    with pytest.raises(MappingError, match=r"need [0-9.]+ KiB, 'dram' of vta has 8 B$"):
        find_plan(kernel, with_room(vta, 8), Wishes())
    # both i32 arrays of 10**5 x 10**6, and the bytes of the factors
    with pytest.raises(MappingError, match=r"need 745 GiB, 'dram' of vta has 16 GiB$"):
        find_plan(sums(10**5, 1, 10**6), vta, Wishes())


@pytest.mark.parametrize("hw_name", ["gemmini", "x86_avx512"])
def test_steps_of_a_stencil_run_on_the_host_one_after_the_other(hw_name: str) -> None:
    """Its index of the step never leaves the array, so a call's operand is one step's row."""
    text = """
u = InOut(f32, 4, 9)
for s, i in grid(3, 9):
  u[s + 1, i] = u[s, i] + u.at(s, i - 1, pad=0) * u.at(s, i + 1, pad=2)
"""
    kernel = parse_semantics(text, "stencil")
    hw = machine(hw_name)
    plan = find_plan(kernel, hw, Wishes())
    assert [task.on_host for task in plan.tasks] == [True]
    assert verify_full(plan.program, kernel, hw).is_verified


def test_an_index_that_leaves_its_array_with_a_held_loop_keeps_a_statement_off_the_host() -> None:
    text = """
u, x = InOut(f32, 4, 9), In(f32, 3)
for s, i in grid(3, 9):
  u[s + 1, i] = u[s, i] + x.at(s - 1, pad=0)
"""
    with pytest.raises(MappingError, match="the host cannot run") as caught:
        find_plan(parse_semantics(text, "late"), machine("gemmini"), Wishes())
    assert caught.value.hint.startswith("indices that leave a buffer and move with a held loop")


def test_tasks_whose_layouts_no_copy_brings_together_run_on_the_host() -> None:
    """A step's windows lie gathered before the call, in steps that the host cannot lay out."""
    text = """
u, w = InOut(f32, 4, 20, 6), In(f32, 3, 6, 6)
for s, i, o, v, k in grid(3, 20, 6, 3, 6):
  u[s + 1, i, o] += u.at(s, i + v - 1, k, pad=0) * w[v, k, o]
"""
    kernel = parse_semantics(text, "layers")
    hw = machine("x86_avx512")
    plan = find_plan(kernel, hw, Wishes(time_limit_s=5, may_reassociate=True))
    assert [task.on_host for task in plan.tasks] == [True]
    assert verify_full(plan.program, kernel, hw).is_verified
