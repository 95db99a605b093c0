"""Temporaries that go, and temporaries that come."""

from unittest.mock import patch

import pytest
from hypothesis import event, given

from isamap.errors import KernelError
from isamap.ir import Kernel, pretty
from isamap.rewrites import inline, outline
from isamap.rewrites.fission import FISSION
from isamap.rewrites.inline import INLINE
from isamap.rewrites.join import JOIN
from isamap.rewrites.outline import OUTLINE
from isamap.rewrites.swap import SWAP
from tests.rewrites.chains import chains
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
    site_texts,
)
from tests.strategies import kernels

EPILOGUE = """
T1, bias, D = In(i32, 4, 5), In(i32, 5), Out(i8, 4, 5)
T2, T3 = Temp(i32, 4, 5), Temp(i32, 4, 5)
for i, j in grid(4, 5):
  T2[i, j] = T1[i, j] + bias[j]
for i, j in grid(4, 5):
  T3[i, j] = relu(T2[i, j])
for i, j in grid(4, 5):
  D[i, j] = sat_i8(T3[i, j] >> 3)
"""


@QUICK
@given(chains())
def test_chains_keep_their_meaning(kernel: Kernel) -> None:
    for rewrite in (INLINE, OUTLINE, FISSION, JOIN, SWAP):
        event(f"{rewrite.name}: {min(assert_all_sites_keep_meaning(rewrite, kernel), 2)} sites")


@QUICK
@given(kernels())
def test_inline_and_outline_keep_any_kernel(kernel: Kernel) -> None:
    for rewrite in (INLINE, OUTLINE):
        assert_all_sites_keep_meaning(rewrite, kernel)


def test_an_epilogue_becomes_one_statement() -> None:
    kernel = read(EPILOGUE)
    assert site_texts(INLINE, kernel) == ["T2", "T3"]
    assert assert_all_sites_keep_meaning(INLINE, kernel) == 2
    assert pretty(inline(inline(kernel, "T2"), "T3")).splitlines()[3:] == [
        "for i_3, j_3 in grid(4, 5):",
        "    D[i_3, j_3] = sat_i8(relu(T1[i_3, j_3] + bias[j_3]) >> 3)",
    ]


def test_outline_undoes_inline() -> None:
    kernel = inline(inline(read(EPILOGUE), "T2"), "T3")
    assert site_texts(OUTLINE, kernel) == [
        "D: relu(T1[i_3, j_3] + bias[j_3]) >> 3",
        "D: relu(T1[i_3, j_3] + bias[j_3])",
        "D: T1[i_3, j_3] + bias[j_3]",
    ]
    assert assert_all_sites_keep_meaning(OUTLINE, kernel) == 3
    assert inline(next(OUTLINE.sites(kernel))[1], "D_part") == kernel


def test_inline_solves_shifted_and_turned_indices() -> None:
    kernel = read(
        "A, T, D = In(i8, 5), Temp(i8, 7), Out(i8, 3)\nfor i in range(5):\n"
        "  T[5 - i] = A[i]\nfor i in range(3):\n  D[i] = T[i + 2]"
    )
    assert "D[i_2] = A[-1*i_2 + 3]" in pretty(inline(kernel, "T"))
    assert assert_all_sites_keep_meaning(INLINE, kernel) == 1


def test_inline_gives_a_constant_the_type_it_had() -> None:
    kernel = read(
        "T, D = Temp(i8, 5), Out(i8, 5)\nfor i in range(5):\n  T[i] = 3\n"
        "for i in range(5):\n  D[i] = i8(T[i] < 4)"
    )
    assert assert_all_sites_keep_meaning(INLINE, kernel) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  T[i] += A[i]\nfor i in range(5):\n  D[i] = T[i]", "updated by '\\+='"),
        ("  T[0] = A[i]\nfor i in range(5):\n  D[i] = T[i]", "written again along 'i'"),
        ("  T[i] = A[i]\nfor i in range(5):\n  D[i] = T[i + 1]", "was not written"),
        ("  D[i] = T[i]\nfor i in range(5):\n  T[i] = A[i]", "read before it is written"),
        ("  T[i] = A[i]\n  D[i] = T[4 - i]", "read before it is written"),
        ("  T[i] = D[i]\nfor i in range(5):\n  D[i] = T[4 - i]", "'D' may change before 'T'"),
        (
            "  T[i] = D[i]\nfor i in range(5):\n  D[i] = A[i]\nfor i in range(5):\n  E[i] = T[i]",
            "'D' may change before 'T'",
        ),
        (
            "  D[i] = A[i]\n  T[i] = D[4 - i]\nfor i in range(5):\n  E[i] = T[i]",
            "'D' may change before 'T'",
        ),
        (
            "  T[i] = D[i]\nfor i in range(5):\n  E[i] = T[4 - i]\n  D[i] = A[i]",
            "'D' may change before 'T'",
        ),
        ("  T[i] = T[i]\nfor i in range(5):\n  D[i] = T[i]", "computed from itself"),
        ("  T[i] = A[i]\n  T[i] = A[i]\n", "written by 2 statements"),
        ("  T[i] = A[i]\n", "never read"),
        ("  D[i] = A[i]\n", "written by 0 statements"),
    ],
)
def test_inline_says_what_does_not_fit(body: str, message: str) -> None:
    head = "A, T, D, E = In(i8, 5), Temp(i8, 6), InOut(i8, 5), Out(i8, 5)"
    kernel = read(f"{head}\nfor i in range(5):\n{body}")
    with pytest.raises(KernelError, match=message):
        inline(kernel, "T")
    with pytest.raises(KernelError, match="has no temporary 'D'"):
        inline(kernel, "D")


@pytest.mark.parametrize(
    "body",
    [
        "  T[i] = D[i]\nfor i in range(5):\n  D[i] = T[4 - i] + A[i]",
        "  T[i] = D[i]\nfor i in range(5):\n  D[i] = A[i]\nfor i in range(5):\n  E[i] = T[i]",
        "  D[i] = A[i]\n  T[i] = D[4 - i]\nfor i in range(5):\n  E[i] = T[i]",
        "  T[i] = D[i]\nfor i in range(5):\n  E[i] = T[4 - i]\n  D[i] = A[i]",
    ],
)
def test_without_the_check_of_order_inline_is_found_wrong(body: str) -> None:
    head = "A, T, D, E = In(i8, 5), Temp(i8, 5), InOut(i8, 5), Out(i8, 5)"
    kernel = read(f"{head}\nfor i in range(5):\n{body}")
    with patch("isamap.rewrites.inline.check_order"):
        wrong = inline(kernel, "T")
    with pytest.raises(AssertionError, match="became"):
        assert_same_meaning(wrong, kernel)


def test_outline_says_what_does_not_fit() -> None:
    kernel = read("A, D = In(i8, 5), InOut(i8)\nfor i in range(5):\n  D[()] += relu(A[i] - D[()])")
    value = kernel.statements[0].value
    with pytest.raises(KernelError, match="changes what relu"):
        outline(kernel, 0, value)
    with pytest.raises(KernelError, match="is no operation of statement 0"):
        outline(kernel, 0, kernel.statements[0].target)


STEPS = """
x, h = In(i32, 3, 5), InOut(i32, 4, 5)
T, u = Temp(i32, 5), Temp(i32)
for t in range(3):
  for i in range(5):
    T[i] = x[t, i] - h[t, i]
  for i in range(5):
    h[t + 1, i] = T[4 - i] + h[t, i]
"""


def test_what_every_step_writes_anew_is_inlined() -> None:
    kernel = read(STEPS)
    assert "= x[t, -1*i_2 + 4] - h[t, -1*i_2 + 4] + h[t, i_2]" in pretty(inline(kernel, "T"))
    assert assert_all_sites_keep_meaning(INLINE, kernel) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("h[t + 1, i] = T[4 - i]", "h[t, i] = T[4 - i]", "'h' may change before 'T'"),
        ("  for i in range(5):\n    h", "for t in range(3):\n  for i in range(5):\n    h", "again"),
        ("T[i] = x[t, i] - h[t, i]", "T[0] = x[t, i] - h[t, i]", "again along 'i'"),
    ],
)
def test_what_a_step_takes_from_another_one_is_not(old: str, new: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        inline(read(STEPS.replace(old, new)), "T")
