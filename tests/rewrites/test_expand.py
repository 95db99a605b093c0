"""Products of sums: what they become, that integers stay equal bit by bit, and what maps them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import isamap
from isamap.errors import KernelError
from isamap.ir import load_kernel, pretty
from isamap.resources import find_hardware
from isamap.rewrites import expand
from isamap.rewrites.expand import EXPAND
from tests.rewrites.keeps_meaning import QUICK, assert_same_meaning, read

GEMM = "for i, j, p in grid({m}, {n}, {k}):\n  C[i, j] += "
ARRAYS = "A, B, C = In(i8, {m}, {k}), In(i8, {k}, {n}), {role}({t}, {m}, {n})\n"
FIRST = "for a, b in grid({m}, {n}):\n  C[a, b] = bias[b]\n"
FORMS = (
    ARRAYS + GEMM + "({t}(A[i, p]) - 5) * ({t}(B[p, j]) + 3)",
    ARRAYS + GEMM + "(3 - {t}(A[i, p])) * -{t}(B[p, j])",
    # zero points per row and per column, one of them in an element of its own
    "u, v = In({t}, {m}), In({t})\n" + ARRAYS + GEMM
    + "({t}(A[i, p]) - u[i]) * ({t}(B[p, j]) - v[()])",
    "u = In({t}, {n}, {k})\n" + ARRAYS + GEMM + "({t}(A[i, p]) * 2 - u[j, p]) * {t}(B[p, j])",
    # a sum of products, one of them without p
    ARRAYS + GEMM + "{t}(A[i, p]) * {t}(B[p, j]) - {t}(A[i, 0]) * {t}(B[0, j])",
    # the sums begin from a bias, or from values of before
    "bias = In({t}, {n})\n" + ARRAYS + FIRST + GEMM + "({t}(A[i, p]) - 5) * {t}(B[p, j])",
    ARRAYS + FIRST.replace("bias[b]", "7") + GEMM + "({t}(A[i, p]) - 5) * ({t}(B[p, j]) + 3)",
    "bias = In({t}, {n})\n" + ARRAYS + FIRST.replace("grid({m}, {n})", "grid(1, {n})") + GEMM
    + "({t}(A[i, p]) - 5) * {t}(B[p, j])",
    # every element is reached by several loops; a border of the zero point
    "A, B, C = In(i8, {m}, {k}), In(i8, {n}, {k}), {role}({t}, {m} + {n})\n"
    "for i, j, p in grid({m}, {n}, {k}):\n  C[i + j] += ({t}(A[i, p]) - 5) * ({t}(B[j, p]) + 3)",
    "A, B, C = In(i8, {m}), In(i8, {k}), {role}({t}, {m})\n"
    "for i, p in grid({m}, {k}):\n  C[i] += ({t}(A.at(i + p - 1, pad=5)) - 5) * {t}(B[p])",
)  # fmt: skip


@QUICK
@given(
    st.sampled_from(FORMS), st.sampled_from(("i8", "u8", "i32")),
    st.sampled_from(("Out", "InOut")), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5),
    st.integers(0, 20),
)  # fmt: skip
def test_sums_keep_their_value(
    form: str, dtype: str, role: str, m: int, n: int, k: int, seed: int
) -> None:
    kernel = read(form.replace("{m} + {n}", str(m + n)).format(m=m, n=n, k=k, t=dtype, role=role))
    rewritten = expand(kernel, len(kernel.statements) - 1)
    assert_same_meaning(rewritten, kernel, seed=seed)


def test_zero_points_leave_a_plain_product_that_begins_from_the_rest() -> None:
    kernel = load_kernel("kernels/quantised.py", {"m": 2, "n": 3, "k": 4}, "gemm_quantised")
    body = [line.strip() for line in pretty(expand(kernel, 1)).splitlines() if "T" in line]
    assert body[-5:-1] == [
        "T_part[j_2_2] += i32(B[p_2, j_2_2])",
        "T_offset[j_2_3] = T_part[j_2_3] * 5 + bias[j_2_3]",
        "T[i_2_2, j_2_4] = T_offset[j_2_4]",
        "T[i_2_3, j_2_5] += i32(A[i_2_3, p_3]) * i32(B[p_3, j_2_5])",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("C[i, j] += i32(A[i, p]) * i32(B[p, j])", "no product of sums"),
        ("C[i, j] += i32(A[i, p]) + i32(B[p, j])", "no product of elements"),
        ("C[i, j] += " + " * ".join(["(i32(A[i, p]) + i32(B[p, j]))"] * 4), "more than 12 terms"),
    ],
)
def test_what_cannot_be_multiplied_out(text: str, message: str) -> None:
    arrays = ARRAYS.format(m=2, n=3, k=4, t="i32", role="Out")
    kernel = read(f"{arrays}for i, j, p in grid(2, 3, 4):\n  {text}")
    with pytest.raises(KernelError, match=message):
        expand(kernel, 0)


def test_variances_are_not_multiplied_out() -> None:
    kernel = load_kernel("kernels/layer_norm.py", {}, "layer_norm")
    with pytest.raises(KernelError, match="statement 2 sums floats"):
        expand(kernel, 2)
    assert not list(EXPAND.sites(kernel))


def test_a_sum_over_no_loop() -> None:
    kernel = read("a, C = In(i8, 3), Out(i8, 3)\nfor i in range(3):\n  C[i] += (a[i] + 1) * a[i]")
    with pytest.raises(KernelError, match="sums over no loop"):
        expand(kernel, 0)


@pytest.mark.parametrize(
    ("kernel", "hw", "sizes", "instruction"),
    [
        ("gemm_zero_points", "gemmini", {"m": 17, "n": 5, "k": 33}, "compute"),
        ("gemm_quantised", "vta", {"m": 17, "n": 16, "k": 33}, "gemm"),
        ("conv2d_quantised", "gemmini", {"h": 5, "w": 7, "c": 3}, "compute"),
    ],
)
def test_quantised_products_run_on_the_matrix_unit(
    kernel: str, hw: str, sizes: dict[str, int], instruction: str
) -> None:
    found = isamap.map(
        load_kernel("kernels/quantised.py", sizes, kernel),
        find_hardware(hw),
        verify="full",
        time_limit_s=12,
    )
    assert isinstance(found, isamap.PlanResult)
    assert found.verification.is_verified
    assert any(step.rewrite == "expand" for step in found.plan.steps)
