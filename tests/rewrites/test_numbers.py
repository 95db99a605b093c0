"""Numbers that lie in temporaries."""

import pytest
from hypothesis import given

from isamap.errors import KernelError
from isamap.ir import Kernel, pretty
from isamap.rewrites import Step, numbers, replay
from isamap.rewrites.numbers import NUMBERS, numbers_by
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    read,
    results,
    site_texts,
)
from tests.strategies import kernels

SCALED = """
x, y = In(f32, 3, 4), Out(f32, 3, 4)
for i, j in grid(3, 4):
  y[i, j] = max(x[i, j] * 0.5, x[i, j] / f32(2)) + (x[i, j] - 0.5) * 0.5
"""


@QUICK
@given(kernels())
def test_numbers_keep_meaning(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(NUMBERS, kernel)


def test_every_number_lies_in_one_element_or_in_a_row() -> None:
    elements, rows = results(numbers_by(("*", "/")), read(SCALED))
    assert elements.partition("number_2 = Temp(f32)\n")[2] == (
        "number[()] = 0.5\n"
        "number_2[()] = f32(2)\n"
        "for i, j in grid(3, 4):\n"
        "    y[i, j] = max(x[i, j] * number[()], x[i, j] / number_2[()])"
        " + (x[i, j] - 0.5) * number[()]\n"
    )
    assert "number = Temp(f32, 4)" in rows and "x[i, j] * number[j]" in rows
    assert assert_all_sites_keep_meaning(NUMBERS, read(SCALED)) == 2


def test_sites_name_the_operations_so_that_any_machine_s_can_be_taken_again() -> None:
    kernel = read(SCALED)
    assert site_texts(numbers_by(("*", "min")), kernel) == ["elements for *", "rows for *"]
    again = replay(kernel, (Step("numbers", "rows for *"),))
    assert again is not None
    assert pretty(again) == pretty(numbers(kernel, ("*",), in_rows=True))
    assert replay(kernel, (Step("numbers", "columns for *"),)) is None


def test_a_kernel_without_numbers_stays() -> None:
    kernel = read("x, y = In(f32, 4), Out(f32, 4)\nfor i in range(4):\n  y[i] = x[i] + x[i]")
    assert not site_texts(NUMBERS, kernel)
    with pytest.raises(KernelError, match="\\+ takes no number in 'small'"):
        numbers(kernel, ("+",))
