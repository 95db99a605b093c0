"""Statements of one operation each."""

import pytest
from hypothesis import given

from isamap.errors import KernelError
from isamap.ir import Kernel
from isamap.rewrites import single_operations
from isamap.rewrites.single_operations import SINGLE_OPERATIONS
from tests.rewrites.keeps_meaning import QUICK, assert_all_sites_keep_meaning, read, results
from tests.strategies import kernels

STEPS = """
x, h = In(f32, 2, 3), InOut(f32, 3, 3)
u, n = Temp(f32, 3), Temp(f32, 3)
for t in range(2):
  for j in range(3):
    u[j] = sigmoid(x[t, j] + h[t, j])
    h[t + 1, j] = (1.0 - u[j]) * x[t, j] + u[j] * h[t, j]
"""


@QUICK
@given(kernels())
def test_single_operations_keep_meaning(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(SINGLE_OPERATIONS, kernel)


def test_every_operation_gets_a_statement_in_the_same_nest() -> None:
    (text,) = results(SINGLE_OPERATIONS, read(STEPS))
    assert text.partition("for t, j in ")[2] == (
        "grid(2, 3):\n"
        "    u_1[j] = x[t, j] + h[t, j]\n"
        "    u[j] = sigmoid(u_1[j])\n"
        "    h_1[j] = 1.0 - u[j]\n"
        "    h_2[j] = h_1[j] * x[t, j]\n"
        "    h_3[j] = u[j] * h[t, j]\n"
        "    h[t + 1, j] = h_2[j] + h_3[j]\n"
    )
    assert_all_sites_keep_meaning(SINGLE_OPERATIONS, read(STEPS))


def test_equal_parts_are_computed_once_and_casts_stay() -> None:
    text = "a, y = In(i8, 4), Out(i32, 4)\nfor i in range(4):\n  "
    value = "i32(a[i]) * i32(a[i])"
    (found,) = results(SINGLE_OPERATIONS, read(f"{text}y[i] = ({value}) + relu({value})"))
    assert found.count("i32(a[i]) * i32(a[i])") == 1


SPREAD = """
x, m, y = In(f32, 3, 4), In(f32, 3), InOut(f32, 3)
for i, j in grid(3, 4):
  y[i] += (x[i, j] - m[i] / 4.0) * (x[i, j] - m[i] / 4.0)
"""


def test_terms_of_sums_are_computed_apart_and_what_moves_with_fewer_loops_before() -> None:
    together, apart = results(SINGLE_OPERATIONS, read(SPREAD))
    row = (
        "for i_2 in range(3):\n"
        "    y_1[i_2] = m[i_2] / 4.0\n"
        "for i, j in grid(3, 4):\n"
        "    y_2[i, j] = x[i, j] - y_1[i]\n"
    )
    assert together.endswith(f"{row}    y[i] += y_2[i, j] * y_2[i, j]\n")
    assert apart.endswith(f"{row}    y_3[i, j] = y_2[i, j] * y_2[i, j]\n    y[i] += y_3[i, j]\n")
    assert assert_all_sites_keep_meaning(SINGLE_OPERATIONS, read(SPREAD)) == 2


def test_products_of_matrices_and_what_a_sum_changes_stay() -> None:
    head = "A, B, C = In(f32, 3, 4), In(f32, 4, 5), InOut(f32, 3, 5)\n"
    product = read(f"{head}for i, j, k in grid(3, 5, 4):\n  C[i, j] += A[i, k] * B[k, j]")
    assert not list(results(SINGLE_OPERATIONS, product))
    text = "x, y = In(f32, 3, 4), InOut(f32, 3)\nfor i, j in grid(3, 4):\n  "
    kernel = read(f"{text}y[i] = (y[i] * 2.0) * x[i, j] + 1.0")
    (found,) = results(SINGLE_OPERATIONS, kernel)
    assert found.partition("for i, j in grid(3, 4):\n")[2].startswith("    y_1[i] = y[i] * 2.0\n")
    assert_all_sites_keep_meaning(SINGLE_OPERATIONS, kernel)


@pytest.mark.parametrize("line", ["y[i] = relu(a[i])", "y[0] += a[i]", "y[i] += relu(a[i])"])
def test_what_is_left_as_it_is(line: str) -> None:
    kernel = read(f"a, y = In(i32, 4), InOut(i32, 4)\nfor i in range(4):\n  {line}")
    with pytest.raises(KernelError, match="has no two operations"):
        single_operations(kernel, 0)
