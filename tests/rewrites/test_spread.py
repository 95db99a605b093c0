"""Sums cut in two loops, with zeros where the factor does not divide them."""

import pytest
from hypothesis import given

import isamap
from isamap.errors import KernelError
from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, parse_semantics
from isamap.mapper import spread_factors
from isamap.resources import find_hardware
from isamap.rewrites import spread
from isamap.rewrites.spread import SPREAD
from tests.rewrites.keeps_meaning import QUICK, assert_all_sites_keep_meaning, read
from tests.strategies import kernels

DOT = """
A, B, D = In(i8, 7), In(i8, 7), InOut(i32)
for i in range(7):
  D[()] += i32(A[i]) * i32(B[i])
"""


@QUICK
@given(kernels())
def test_spread_keeps_meaning(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(SPREAD, kernel)


def test_what_the_factor_leaves_over_is_filled_up_with_zeros() -> None:
    assert spread(read(DOT), "i", 4) == parse_semantics(
        """
A, B, D = In(i8, 7), In(i8, 7), InOut(i32)
for i_o, i_i in grid(2, 4):
  D[()] += i32(A.at(4*i_o + i_i, pad=0)) * i32(B.at(4*i_o + i_i, pad=0))
""",
        "small",
    )


def test_only_sums_whose_added_products_are_zero_are_cut() -> None:
    largest = read(DOT.replace("+= i32(A[i]) * i32(B[i])", "= max(D[()], i32(A[i]))"))
    with pytest.raises(KernelError, match="'D' is no sum over 'i'"):
        spread(largest, "i", 4)
    shifted = read(DOT.replace("i32(A[i]) * i32(B[i])", "i32(A[i]) + i32(B[i])"))
    with pytest.raises(KernelError, match="no factor of the sum over 'i' ends where the loop does"):
        spread(shifted, "i", 4)
    mapped = read("A, D = In(i8, 7), Out(i8, 7)\nfor i in range(7):\n  D[i] = A[i]")
    with pytest.raises(KernelError, match="'D' would grow with 'i'"):
        spread(mapped, "i", 4)


def test_factors_are_those_of_sums_over_two_loops_of_one_role() -> None:
    amx, gemmini, engine = map(load_hardware, map(find_hardware, ("amx", "gemmini", "conv_engine")))
    assert spread_factors(amx, {"i8", "bf16"}) == (4, 2)
    assert spread_factors(gemmini, {"i8"}) == ()
    assert spread_factors(engine, {"i8"}) == (), "a window is no cut"


def test_factors_are_those_of_what_multiplies_such_numbers() -> None:
    amx = load_hardware(find_hardware("amx"))
    assert spread_factors(amx, {"i16", "i32"}) == (4,), "integers may be split"
    assert spread_factors(amx, {"bf16", "f32"}) == (2,)
    assert spread_factors(amx, {"f32"}) == ()


def test_an_instruction_with_two_sums_takes_a_kernels_one_apart() -> None:
    found = isamap.map("gemm", "amx", sizes={"m": 33, "n": 34, "k": 67}, verify="full")
    assert found.verification.is_verified
    assert isinstance(found, isamap.PlanResult)
    (task,) = found.plan.tasks
    assert task.answer is not None
    binding = dict(task.answer.best.covering.binding)
    assert (binding["k"], binding["q"]) == (("p_o",), ("p_i",))
