"""Running everything under a loop strip by strip of a range that its statements share."""

import pytest
from hypothesis import given

from isamap.errors import KernelError
from isamap.ir import Kernel
from isamap.mapper import TaskLoop, cut_tasks
from isamap.rewrites import Step, replay, split_range, strip_nest
from isamap.rewrites.strip_nest import STRIP_NEST
from tests.rewrites.chains import chains
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
)
from tests.strategies import kernels

STEPS = """
x, U, h = In(i32, 2, 6), In(i8, 6, 6), InOut(i32, 3, 6)
R, S = Temp(i32, 6), Temp(i32, 6)
for t in range(2):
  for j in range(6):
    R[j] = x[t, j]
  for j, p in grid(6, 6):
    R[j] += h[t, p] * i32(U[p, j])
  for j in range(6):
    S[j] = relu(R[j])
    h[t + 1, j] = S[j] - h[t, j]
"""


@QUICK
@given(kernels())
def test_strips_keep_any_kernel(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(STRIP_NEST, kernel, max_sites=20)


@QUICK
@given(chains())
def test_strips_keep_chains(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(STRIP_NEST, kernel, max_sites=20)


def test_all_statements_run_for_a_strip_before_the_next_one() -> None:
    kernel = read(STEPS)
    found = strip_nest(kernel, "t", 1, "j_2", 2)
    assert [tuple(x.extent for x in s.loops[:3]) for s in found.statements] == [(2, 3, 2)] * 4
    assert len({s.loops[1].name for s in found.statements}) == 1
    assert_same_meaning(found, kernel)
    assert assert_all_sites_keep_meaning(STRIP_NEST, kernel) > 0


def test_temporaries_hold_one_strip_and_so_hold_the_strips_together() -> None:
    found = strip_nest(read(STEPS), "t", 1, "j_2", 2)
    assert {b.name: b.shape for b in found.buffers if b.name in "RS"} == {"R": (2,), "S": (2,)}
    (steps,) = cut_tasks(found)
    assert isinstance(steps, TaskLoop) and isinstance(steps.body[0], TaskLoop)
    assert len(steps.body[0].body) == 4


def test_a_temporary_that_is_used_before_it_is_set_stays_whole() -> None:
    text = STEPS.replace("R[j] = x[t, j]", "R[j] += x[t, j]")
    found = strip_nest(read(text), "t", 1, "j_2", 2)
    assert {b.name: b.shape for b in found.buffers if b.name in "RS"} == {"R": (6,), "S": (2,)}
    assert_same_meaning(found, read(text))


def test_a_temporary_that_is_used_later_on_stays_whole() -> None:
    text = STEPS.replace("In(i32, 2, 6)", "In(i32, 2, 6)", 1).replace(
        "x, U, h =", "o, x, U, h = Out(i32, 6),"
    )
    text += "for j in range(6):\n  o[j] = R[j]\n"
    found = strip_nest(read(text), "t", 1, "j_2", 3)
    assert {b.name: b.shape for b in found.buffers if b.name in "RS"} == {"R": (6,), "S": (3,)}
    assert_same_meaning(found, read(text))


def test_a_site_leads_to_the_same_kernel_again() -> None:
    kernel = read(STEPS)
    for site, found in STRIP_NEST.sites(kernel):
        assert replay(kernel, [Step("strip_nest", site)]) == found


@pytest.mark.parametrize(
    ("position", "loop", "size", "message"),
    [
        (0, "p", 2, "statement 0 has no loop 'p' inside of 't'"),
        (1, "j_2", 4, "strips of 4 do not divide the 6 iterations of 'j_2'"),
        (1, "j_2", 6, "strips of 6 do not divide the 6 iterations of 'j_2'"),
        (9, "j", 2, "statement 9 is not under loop 't'"),
    ],
)
def test_what_cannot_run_in_strips(position: int, loop: str, size: int, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        strip_nest(read(STEPS), "t", position, loop, size)


IN_PLACE = STEPS.replace("h[t, p]", "h[0, p]").replace("h[t + 1, j]", "h[0, j]")


def test_a_state_in_one_place_is_written_when_all_of_it_was_read() -> None:
    """After the strips of all that reads it; what it is made from stays whole till then."""
    kernel = read(IN_PLACE)
    found = strip_nest(kernel, "t", 1, "j_2", 2)
    assert [tuple(x.extent for x in s.loops[1:3]) for s in found.statements] == [
        (3, 2), (3, 2), (3, 2), (6,)
    ]  # fmt: skip
    assert {b.name: b.shape for b in found.buffers if b.name in "RS"} == {"R": (2,), "S": (6,)}
    assert_same_meaning(found, kernel)


def test_strips_of_what_a_sum_reads_whole_do_not_come_before_it() -> None:
    kernel = read(
        """
x, U, h = In(i32, 2, 6), In(i8, 6, 6), InOut(i32, 3, 6)
for t in range(2):
  for j in range(6):
    h[0, j] = x[t, j]
  for j, p in grid(6, 6):
    h[1, j] += h[0, p] * i32(U[p, j])
"""
    )
    with pytest.raises(KernelError, match="strips of 'h' and 'h' depend on each other"):
        strip_nest(kernel, "t", 1, "j_2", 2)


def test_what_was_cut_before_does_not_move_with_the_whole_range() -> None:
    kernel = split_range(read(STEPS), 1, "j_2", 2)
    with pytest.raises(KernelError, match="statement 1 does not move with 'j'"):
        strip_nest(kernel, "t", 0, "j", 3)
