"""What the host lays out anew counts, in a plan's cycles and in the choice of who runs a task.

In: small kernels on a machine whose results leave in byte planes. Out: failures. Not its job: the
copies themselves (`test_handed_on`).
"""

from isamap.ir import Kernel, parse_semantics
from isamap.planner import Plan, Wishes, find_plan, repacks
from isamap.scheduler import Answer
from isamap.verify import verify_full
from tests.scheduler.cases import machine

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
