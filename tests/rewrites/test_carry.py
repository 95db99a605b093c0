"""A state that iterations hand on, in a temporary of its own."""

import pytest
from hypothesis import given

from isamap.errors import KernelError
from isamap.ir import Kernel
from isamap.rewrites import carry
from isamap.rewrites.carry import CARRY
from tests.rewrites.keeps_meaning import QUICK, assert_all_sites_keep_meaning, read, site_texts
from tests.strategies import kernels

STEPS = """
U, h, R = In(i8, 5, 5), InOut(i32, {high}, 2, 5), Temp(i32, 2, 5)
for t in range(3):
  for z, j in grid(2, 5):
    R[z, j] = {old}
  for z, j, p in grid(2, 5, 5):
    R[z, j] += {read} * i32(U[p, j])
  for z, j in grid(2, 5):
    {written} = R[z, j] - {old}
"""


def steps(
    old: str = "h[t, z, j]",
    read: str = "h[t, z, p]",
    written: str = "h[t + 1, z, j]",
    high: int = 4,
) -> str:
    return STEPS.format(old=old, read=read, written=written, high=high)


@QUICK
@given(kernels())
def test_carry_keeps_meaning(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(CARRY, kernel)


@pytest.mark.parametrize(
    "text",
    [
        steps(),
        steps("h[t + 2, z, j]", "h[t + 2, z, p]", "h[t + 3, z, j]", 6),
        steps("0", "h[t, z, p]"),
        STEPS.format(old="h[z, j, t]", read="h[z, p, t]", written="h[z, j, t + 1]", high=2).replace(
            "InOut(i32, 2, 2, 5)", "InOut(i32, 2, 5, 4)"
        ),
    ],
)
def test_the_state_of_time_steps_is_found(text: str) -> None:
    kernel = read(text)
    assert site_texts(CARRY, kernel) == ["h over t"]
    assert_all_sites_keep_meaning(CARRY, kernel)


def test_every_step_works_on_the_temporary_and_leaves_a_copy() -> None:
    found = carry(read(steps()), "h", "t")
    wanted = read(
        """
U, h = In(i8, 5, 5), InOut(i32, 4, 2, 5)
R, h_state = Temp(i32, 2, 5), Temp(i32, 2, 5)
for h_0, h_1 in grid(2, 5):
  h_state[h_0, h_1] = h[0, h_0, h_1]
for t in range(3):
  for z, j in grid(2, 5):
    R[z, j] = h_state[z, j]
  for z_2, j_2, p in grid(2, 5, 5):
    R[z_2, j_2] += h_state[z_2, p] * i32(U[p, j_2])
  for z_3, j_3 in grid(2, 5):
    h_state[z_3, j_3] = R[z_3, j_3] - h_state[z_3, j_3]
    h[t + 1, z_3, j_3] = h_state[z_3, j_3]
"""
    )
    assert found == wanted


@pytest.mark.parametrize(
    ("text", "buffer", "loop", "message"),
    [
        (steps(), "R", "t", "no single statement right under loop 't' writes 'R'"),
        (steps(), "h", "z", "no single statement right under loop 'z' writes 'h'"),
        (steps("0", "7"), "h", "t", "nothing under loop 't' reads 'h'"),
        (steps("h[0, z, j]"), "h", "t", "'h' is read elsewhere than one iteration before"),
        (steps("h[t, z, t]"), "h", "t", "'h' is read elsewhere than one iteration before"),
        (steps(written="h[t + 1, z, 4 - j]"), "h", "t", "no statement assigns whole slices of 'h'"),
        (
            "h = InOut(i32, 4, 5)\nfor t in range(3):\n  for j in range(5):\n"
            "    h[t + 1, j] = h[t, 4 - j]",
            "h",
            "t",
            "'h' is read after it is written anew",
        ),
        (
            "h, R = InOut(i32, 4, 5), Temp(i32, 5)\nfor t in range(3):\n  for j in range(5):\n"
            "    R[j] = h[t, 4 - j]\n    h[t + 1, j] = R[j]",
            "h",
            "t",
            "'h' is read after it is written anew",
        ),
        (
            "h, R = InOut(i32, 4, 5), Out(i32, 3, 5)\nfor t in range(3):\n  for j in range(5):\n"
            "    h[t + 1, j] = h[t, j] + 1\n  for j in range(5):\n    R[t, j] = h[t, j]",
            "h",
            "t",
            "'h' is read after it is written anew",
        ),
    ],
)
def test_what_does_not_pass_on_like_that_is_refused(
    text: str, buffer: str, loop: str, message: str
) -> None:
    with pytest.raises(KernelError, match=message):
        carry(read(text), buffer, loop)
