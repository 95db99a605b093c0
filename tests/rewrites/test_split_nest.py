"""Splitting everything under a loop along a range that its statements share."""

import pytest
from hypothesis import given

from isamap.errors import KernelError
from isamap.ir import Kernel
from isamap.rewrites import Step, replay, split_nest, split_range
from isamap.rewrites.split_nest import SPLIT_NEST
from tests.rewrites.chains import chains
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
)
from tests.strategies import kernels

STEPS = """
x, U, h = In(i32, 2, 5), In(i8, 5, 5), InOut(i32, 3, 5)
R, S = Temp(i32, 5), Temp(i32, 5)
for t in range(2):
  for j in range(5):
    R[j] = x[t, j]
  for j, p in grid(5, 5):
    R[j] += h[t, p] * i32(U[p, j])
  for j in range(5):
    S[j] = relu(R[j])
    h[t + 1, j] = S[j] - h[t, j]
"""


@QUICK
@given(kernels())
def test_split_nest_keeps_any_kernel(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(SPLIT_NEST, kernel, max_sites=20)


@QUICK
@given(chains())
def test_split_nest_keeps_chains(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(SPLIT_NEST, kernel, max_sites=20)


def test_all_steps_of_a_part_run_before_those_of_the_next() -> None:
    kernel = read(STEPS)
    found = split_nest(kernel, "t", 1, "j_2", 2)
    assert "".join(s.target.buffer for s in found.statements) == "RRRShRSh"
    assert [s.loops[1].extent for s in found.statements] == [2, 3, 2, 2, 2, 3, 3, 3]
    assert_same_meaning(found, kernel)
    assert assert_all_sites_keep_meaning(SPLIT_NEST, kernel) > 0


def test_parts_that_were_cut_before_go_to_their_sides() -> None:
    kernel = read(STEPS)
    for position, loop in ((1, "j_2"), (0, "j")):
        kernel = split_range(kernel, position, loop, 2)
    found = split_nest(kernel, "t", 3, kernel.statements[3].loops[1].name, 1)
    counts = [(s.target.buffer, s.loops[1].extent) for s in found.statements]
    before = [("R", 2), ("R", 1), ("R", 2), ("R", 2)]
    assert counts == [*before, ("R", 1), ("S", 3), ("h", 3), ("R", 2), ("S", 2), ("h", 2)]
    assert_same_meaning(found, read(STEPS))


def test_what_does_not_move_with_the_range_stays_around_it() -> None:
    kernel = read(
        "x, h = In(i32, 2, 5), InOut(i32, 2, 5)\nR, c, d = Temp(i32, 5), Temp(i32), Out(i32, 2)\n"
        "for t in range(2):\n  c[()] = x[t, 0]\n  for i in range(5):\n    R[i] = x[t, i] + c[()]\n"
        "  d[t] = c[()]\n  for i in range(5):\n    h[t, i] = R[i]"
    )
    found = split_nest(kernel, "t", 1, "i", 2)
    assert "".join(s.target.buffer for s in found.statements) == "cRhRhd"
    assert_same_meaning(found, kernel)


def test_a_site_leads_to_the_same_kernel_again() -> None:
    kernel = read(STEPS)
    for site, found in SPLIT_NEST.sites(kernel):
        assert replay(kernel, [Step("split_nest", site)]) == found


@pytest.mark.parametrize(
    ("position", "loop", "count", "message"),
    [
        (0, "p", 1, "statement 0 has no loop 'p' inside of 't'"),
        (0, "t", 1, "statement 0 has no loop 't' inside of 't'"),
        (1, "p", 1, "statement 1 cannot be cut after 1 of 'p'"),
        (1, "j_2", 5, "statement 1 cannot be cut after 5 of 'j_2'"),
        (9, "j", 1, "statement 9 is not under loop 't'"),
    ],
)
def test_what_cannot_be_split(position: int, loop: str, count: int, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        split_nest(read(STEPS), "t", position, loop, count)


def test_a_state_in_one_place_is_not_written_before_all_of_it_was_read() -> None:
    kernel = read(STEPS.replace("h[t, p]", "h[0, p]").replace("h[t + 1, j]", "h[0, j]"))
    with pytest.raises(KernelError, match="parts of 'R' and 'h' depend on each other"):
        split_nest(kernel, "t", 1, "j_2", 2)
