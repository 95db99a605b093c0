"""Coverings as schedule files name them.

In: a small product. Out: failures. Not its job: whole files (`test_round_trip`).
"""

from dataclasses import replace

from isamap.files.describe import number_of, task_coverings
from isamap.ir import parse_semantics
from isamap.mapper import cut_tasks, flatten
from tests.scheduler.cases import machine

PRODUCT = """
A, B, C = In(i8, 5, 7), In(i8, 7, 6), InOut(i32, 5, 6)
for i, j, k in grid(5, 6, 7):
  C[i, j] += i32(A[i, k]) * i32(B[k, j])
"""


def test_a_covering_is_found_again_though_another_form_names_its_task_otherwise() -> None:
    hw = machine("gemmini")
    (task,) = flatten(cut_tasks(parse_semantics(PRODUCT, "product")))
    found = list(task_coverings(task, hw, {}, False))
    assert found
    for covering in found[::5]:
        other = replace(covering, kernel=replace(covering.kernel, name="product_7"))
        assert number_of(other, task, hw, {}, False) == number_of(covering, task, hw, {}, False)
