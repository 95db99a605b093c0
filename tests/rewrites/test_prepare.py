"""Operands that are computed from elements are computed once, before the products."""

import pytest

import isamap
from isamap.errors import KernelError
from isamap.rewrites import prepare
from isamap.rewrites.prepare import PREPARE
from tests.rewrites.keeps_meaning import assert_all_sites_keep_meaning, read

PRODUCT = """
A, B, C, s = In({a}, 5, 7), In({b}, 7, 6), Out({c}, 5, 6), In(f32, 7)
for i, j, k in grid(5, 6, 7):
  C[i, j] += {value}
"""
CASES = {
    "an operation in a cast": ("i8", "i8", "i32", "i32(relu(A[i, k])) * i32(B[k, j])", 1),
    "four bits": ("i8", "i4", "i32", "i32(A[i, k]) * i32(B[k, j])", 1),
    "four bits, unsigned, of both": ("u4", "u4", "i32", "i32(A[i, k]) * i32(B[k, j])", 2),
    "scales of integers": ("f32", "i8", "f32", "A[i, k] * (f32(B[k, j]) * s[k])", 1),
    "a sign": ("f32", "f32", "f32", "-A[i, k] * B[k, j]", 1),
    "a number": ("f32", "f32", "f32", "0.5 * A[i, k] * B[k, j]", 1),
}


@pytest.mark.parametrize(("a", "b", "c", "value", "count"), CASES.values(), ids=CASES)
def test_factors_are_computed_before(a: str, b: str, c: str, value: str, count: int) -> None:
    kernel = read(PRODUCT.format(a=a, b=b, c=c, value=value))
    statements = prepare(kernel, 0).statements
    assert len(statements) == 1 + count
    assert all(len(statement.loops) == 2 for statement in statements[:-1])
    assert assert_all_sites_keep_meaning(PREPARE, kernel) == 1


@pytest.mark.parametrize(
    ("a", "value"),
    [
        ("i8", "i32(A[i, k]) * i32(B[k, j])"),  # elements
        ("i8", "(i32(A[i, k]) - i32(B[k, j])) * i32(A[i, k])"),  # moves with all loops
        ("i8", "i32(relu(A[i, k]))"),  # no product
    ],
)
def test_other_sums_stay_as_they_are(a: str, value: str) -> None:
    with pytest.raises(KernelError, match="no factor of statement 0 is computed"):
        prepare(read(PRODUCT.format(a=a, b="i8", c="i32", value=value)), 0)


def test_a_product_of_what_relu_leaves_runs_on_the_array() -> None:
    text = PRODUCT.format(a="i8", b="i8", c="i32", value="i32(relu(A[i, k])) * i32(B[k, j])")
    found = isamap.map(read(text.replace("5", "40").replace("6", "33")), "gemmini", time_limit_s=5)
    assert isinstance(found, isamap.PlanResult)
    assert [task.on_host for task in found.plan.tasks] == [True, False]
    assert found.verification.is_verified
