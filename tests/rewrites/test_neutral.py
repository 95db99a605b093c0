"""Operands that change nothing."""

from itertools import islice

import pytest
from hypothesis import given

from isamap.errors import KernelError
from isamap.ir import Expr, Kernel, parse_semantics, pretty
from isamap.rewrites import Step, neutral, replay
from isamap.rewrites.neutral import NEUTRAL_OPERANDS, Addition, neutral_by
from isamap.rewrites.neutral import _every as every_addition
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
    results,
    site_texts,
)
from tests.strategies import kernels

STORE = """
S, b, D = In(i32, 4, 5), In(i32, 5), Out(i8, 4, 5)
for r, c in grid(4, 5):
  D[r, c] = sat_i8(rshift_round(relu(S[r, c] + b[c]), shift))
"""
LAYER = """
T, y = In(i32, 3, 6), Out(i8, 3, 6)
for i, j in grid(3, 6):
  y[i, j] = {}
"""


def value_of(text: str, *immediates: str) -> Expr:
    """What an instruction assigns."""
    return parse_semantics(text, "store", immediates=immediates).statements[0].value


@QUICK
@given(kernels())
def test_neutral_operands_keep_meaning(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(NEUTRAL_OPERANDS, kernel)
    for position, statement in enumerate(kernel.statements):
        for addition in islice(every_addition(statement), 0, 40, 3):
            try:
                found = neutral(kernel, position, (addition,))
            except KernelError:
                continue
            assert_same_meaning(found, kernel)


@pytest.mark.parametrize(
    ("value", "shift"),
    [("sat_i8(rshift_round(relu(T[i, j]), 3))", 3), ("sat_i8(relu(T[i, j]))", 0)],
)
def test_what_an_instruction_takes_beside_is_added(value: str, shift: int) -> None:
    row = neutral_by((value_of(STORE, "shift"),))
    (text,) = results(row, read(LAYER.format(value)))
    assert "for j_2 in range(6):\n    none[j_2] = 0\n" in text
    assert text.endswith(f"y[i, j] = sat_i8(rshift_round(relu(T[i, j] + none[j]), {shift}))\n")


@pytest.mark.parametrize(
    "value",
    [
        "sat_i8(rshift_round(T[i, j], 3))",  # nothing is neutral for relu
        "sat_i8(rshift_round(relu(T[i, j] + T[0, j]), 3))",  # as it is
        "sat_i8(relu(T[i, j] * T[0, j]))",
    ],
)
def test_what_lacks_more_or_nothing_stays(value: str) -> None:
    assert not site_texts(neutral_by((value_of(STORE, "shift"),)), read(LAYER.format(value)))


def test_floats_are_multiplied_only() -> None:
    text = "x, y = In(f32, 4), Out(f32, 4)\nfor i in range(4):\n  y[i] = relu(x[i])"
    kernel = read(text)
    assert site_texts(NEUTRAL_OPERANDS, kernel) == ["statement 0: x[i] * 1 (dimensions: 1)"]
    part = kernel.statements[0].reads[0]
    with pytest.raises(KernelError, match=r"x\[i\] is f32, no integer"):
        neutral(kernel, 0, (Addition(part, "+", 1),))
    with pytest.raises(KernelError, match="is no part of statement 0"):
        neutral(read(text.replace("x", "z")), 0, (Addition(part, "*", 1),))


def test_an_application_is_found_again_by_its_name() -> None:
    kernel = read(LAYER.format("sat_i8(relu(T[i, j]))"))
    ((site, found),) = neutral_by((value_of(STORE, "shift"),)).sites(kernel)
    assert site == "statement 0: T[i, j] + 0 (dimensions: 1); rshift_round(relu(T[i, j]), 0)"
    again = replay(kernel, (Step("neutral", site),))
    assert again is not None and pretty(again) == pretty(found)
    assert replay(kernel, (Step("neutral", site.replace("+ 0", "+ 1")),)) is None
