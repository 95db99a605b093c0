"""Sums that begin at zero: what they become, and that integers stay equal bit by bit."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import isamap
from isamap.errors import KernelError
from isamap.ir import Kernel, load_kernel, pretty
from isamap.resources import find_hardware
from isamap.rewrites import sum_apart
from tests.rewrites.keeps_meaning import QUICK, assert_same_meaning, read

FORMS = (
    "a, C = In(i8, {m}, {k}), InOut({t}, {m})\nfor i, p in grid({m}, {k}):\n  C[i] += {t}(a[i, p])",
    "a, C = In(i8, {m}, {k}), Out({t}, {m})\nfor j in range({m}):\n  C[j] = 7\n"
    "for i, p in grid({m}, {k}):\n  C[i] += {t}(a[i, p])",
    "a, C = In(i8, {m}, {k}), InOut({t})\nfor i, p in grid({m}, {k}):\n  C[()] += {t}(a[i, p])",
    # every element is reached by several loops
    "a, C = In(i8, {m}, {k}), InOut({t}, {m} + {k})\nfor i, q, p in grid({m}, {k}, {k}):\n"
    "  C[i + q] += {t}(a[i, p])",
)


@QUICK
@given(
    st.sampled_from(FORMS), st.sampled_from(("i8", "i32", "f32")), st.integers(1, 5),
    st.integers(1, 6), st.integers(0, 20),
)  # fmt: skip
def test_sums_keep_their_value(form: str, dtype: str, m: int, k: int, seed: int) -> None:
    text = form.replace("{m} + {k}", str(m + k)).format(m=m, k=k, t=dtype)
    kernel = read(text)
    # at most 37 terms, each rounded once in either order
    rewritten = sum_apart(kernel, len(kernel.statements) - 1)
    assert_same_meaning(rewritten, kernel, 2 * 37 * 2.0**-24, seed)


def product(role: str) -> Kernel:
    """A matrix product into a buffer of this role."""
    return read(
        f"A, B, C = In(i8, 2, 3), In(i8, 3, 4), {role}(i32, 2, 4)\n"
        "for i, j, p in grid(2, 4, 3):\n  C[i, j] += i32(A[i, p]) * i32(B[p, j])"
    )


def test_a_product_is_added_afterwards() -> None:
    text = pretty(sum_apart(product("InOut"), 0))
    assert "C_sum[i, j] += i32(A[i, p]) * i32(B[p, j])" in text
    assert "C[i_2, j_2] += C_sum[i_2, j_2]" in text


def test_a_sum_that_begins_at_zero_stays() -> None:
    with pytest.raises(KernelError, match="statement 0 begins at zero"):
        sum_apart(product("Out"), 0)
    with pytest.raises(KernelError, match="statement 0 begins at zero"):
        sum_apart(sum_apart(product("InOut"), 0), 0)


def test_one_element_at_a_time_is_no_sum() -> None:
    kernel = read("a, C = In(i8, 3), InOut(i8, 3)\nfor i in range(3):\n  C[i] += a[i]")
    with pytest.raises(KernelError, match="statement 0 sums over no loop"):
        sum_apart(kernel, 0)


def test_accumulators_that_only_begin_at_zero_take_the_product() -> None:
    hw = isamap.load_hardware(find_hardware("power10_mma"))
    assert hw.host is not None
    kept = tuple(i for i in hw.instructions if not i.name.startswith("load_acc"))
    slow = replace(hw.host, operation_cycles=Fraction(10**6))
    kernel = load_kernel("kernels/gemm.py", {"m": 5, "n": 3, "k": 7}, "gemm")
    found = isamap.map(
        kernel, replace(hw, instructions=kept, host=slow), verify="full", time_limit_s=12
    )
    assert isinstance(found, isamap.PlanResult)
    assert [str(step) for step in found.plan.steps] == ["sum_apart statement 0: C"]
    assert found.verification.is_verified
