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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("y[0] += relu(a[i] + 1)", "element by element"),
        ("y[i] = relu(a[i])", "has no two operations"),
    ],
)
def test_what_is_left_as_it_is(line: str, message: str) -> None:
    kernel = read(f"a, y = In(i32, 4), InOut(i32, 4)\nfor i in range(4):\n  {line}")
    with pytest.raises(KernelError, match=message):
        single_operations(kernel, 0)
