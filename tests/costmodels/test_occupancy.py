"""Memories through which blocks pass: no program is faster than their room allows."""

from math import ceil

import pytest

from isamap.costmodels import count_work, find_bounds, least_occupancy
from isamap.emulator import time_program
from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, parse_semantics
from isamap.mapper import Setting, Task, coverings, cut_tasks, flatten
from isamap.planner import Wishes, find_plan
from isamap.resources import find_hardware

TRAINIUM = load_hardware(find_hardware("trainium"))
PRODUCT = """
A, B, C = In(bf16, {m}, {k}), In(bf16, {k}, {n}), InOut(f32, {m}, {n})
for {head}i, j, p in grid({counts}{m}, {n}, {k}):
  C[i, j] += f32(A[i, p]) * f32(B[p, j])
"""
LOAD, CALL = 46, 32  # of 128 x 128 weights until they are there; of a product with 4 columns


def product(m: int, n: int, k: int, steps: int = 0) -> Kernel:
    head, counts = ("t, ", f"{steps}, ") if steps else ("", "")
    text = PRODUCT.format(m=m, n=n, k=k, head=head, counts=counts)
    return parse_semantics(text, "product")


@pytest.mark.parametrize(
    ("sizes", "blocks", "calls"),
    [((256, 4, 256), 4, 4), ((300, 4, 256), 4, 6), ((256, 4, 100), 2, 2)],
)
def test_each_block_of_weights_is_brought_and_used_in_one_of_two_places(
    sizes: tuple[int, int, int], blocks: int, calls: int
) -> None:
    """Whole blocks of 128 x 128; partial ones may be there sooner."""
    stream = coverings(product(*sizes), TRAINIUM, [], may_reassociate=True)
    covering = next(c for c in stream if c.instruction == "matmul" and c.group("n")[:1] == ("j",))
    work = count_work(covering, TRAINIUM)
    found = dict(least_occupancy(covering, work, TRAINIUM))
    assert found["stationary"] == (blocks * LOAD + calls * CALL) / 2
    rows = {row.name: row.cycles for row in find_bounds(covering, work, TRAINIUM)}
    assert rows["room of stationary"] == ceil(found["stationary"])


def test_what_has_no_room_comes_again_in_every_held_iteration() -> None:
    """Two of four blocks may stay."""
    (task,) = flatten(cut_tasks(product(256, 4, 256, steps=5)))
    assert isinstance(task, Task)
    stream = coverings(task.kernel, TRAINIUM, [], Setting(("t",)), may_reassociate=True)
    covering = next(c for c in stream if c.instruction == "matmul" and c.group("n")[:1] == ("j",))
    found = dict(least_occupancy(covering, count_work(covering, TRAINIUM), TRAINIUM))
    assert found["stationary"] == ((4 + 4 * 2) * LOAD + 5 * 4 * CALL) / 2


@pytest.mark.parametrize("sizes", [(384, 4, 640), (640, 70, 384), (257, 1, 300)])
def test_no_program_is_faster(sizes: tuple[int, int, int]) -> None:
    kernel = product(*sizes)
    plan = find_plan(kernel, TRAINIUM, Wishes(may_reassociate=True, time_limit_s=5.0))
    assert plan.bound_cycles <= time_program(plan.program, TRAINIUM).cycles
