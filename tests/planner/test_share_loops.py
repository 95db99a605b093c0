"""Statements of one host call that run row by row: the same numbers, and when they do."""

from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.hwdesc import HostLoops, HostRule
from isamap.ir import Kernel, interpret, parse_semantics, random_arrays
from isamap.planner import share_loops as module
from isamap.planner.share_loops import share_loops
from isamap.rewrites import rename_loops
from tests.strategies import kernels

RULE = HostRule("core", Fraction(1), Fraction(1), is_apart=False, lanes=8)


def shared(kernel: Kernel) -> Kernel:
    """The kernel with its statements' loops apart, and then shared where they may be."""
    strides = {
        buffer.name: [prod(buffer.shape[dim + 1 :]) for dim in range(len(buffer.shape))]
        for buffer in kernel.buffers
    }
    found = share_loops(kernel.statements, (), HostLoops(kernel, RULE, strides))
    return replace(kernel, statements=found)


def apart(kernel: Kernel) -> Kernel:
    """Each statement with loops of its own."""
    statements = tuple(
        rename_loops(s, {loop.name: f"{loop.name}_{number}" for loop in s.loops})
        for number, s in enumerate(kernel.statements)
    )
    return replace(kernel, statements=statements)


@settings(max_examples=200, deadline=None)
@given(kernels(), st.integers(0, 3))
def test_shared_loops_give_the_same_numbers(kernel: Kernel, seed: int) -> None:
    module.LEAST_ELEMENTS, least = 1, module.LEAST_ELEMENTS  # small kernels too
    try:
        one, other = apart(kernel), shared(apart(kernel))
    finally:
        module.LEAST_ELEMENTS = least
    arrays = random_arrays(kernel, seed)
    expected, found = interpret(one, arrays), interpret(other, arrays)
    assert all(np.array_equal(found[n], expected[n], equal_nan=True) for n in expected)


def names(text: str) -> list[tuple[str, ...]]:
    """Loops of each statement after sharing."""
    buffers = """
X, Y, Z = In(f32, 9, 40), Out(f32, 9, 40), Out(f32, 40, 9)
S, T, U = InOut(f32, 9), InOut(f32, 9), InOut(f32, 40)
"""
    kernel = shared(parse_semantics(buffers + text, "rows"))
    return [tuple(loop.name for loop in statement.loops) for statement in kernel.statements]


SUM = "for i, j in grid(9, 40):\n  S[i] += X[i, j]\n"
SCALE = "for a in range(9):\n  T[a] = S[a] / 40\n"
APPLY = "for b, c in grid(9, 40):\n  Y[b, c] = X[b, c] - {}\n"


def test_rows_are_summed_and_used_one_after_the_other() -> None:
    assert names(SUM + SCALE + APPLY.format("T[b]")) == [("i", "j"), ("i",), ("i", "c")]


def test_what_needs_all_rows_waits_for_them() -> None:
    assert names(SUM + APPLY.format("S[8 - b]"))[1] == ("b", "c")
    columns = "for i, j in grid(9, 40):\n  U[j] += X[i, j]\n"
    assert names(columns + APPLY.format("U[c]"))[1] == ("b", "c")


def test_the_loop_that_vectors_run_along_is_not_shared() -> None:
    first = "for i, j in grid(9, 40):\n  Y[i, j] = X[i, j] - S[i]\n"
    turned = "for b, c in grid(9, 40):\n  Z[c, b] = Y[b, c] * 2\n"
    assert names(first + turned)[1] == ("b", "c")
    again = "for b in range(9):\n  S[b] = T[b] + 1\n"
    assert names(SCALE + again)[1] == ("b",)


def test_rows_of_few_elements_are_not_worth_a_loop() -> None:
    few = "for i, j in grid(9, 4):\n  Y[i, j] = X[i, j]\n"
    assert names(few + "for b, c in grid(9, 4):\n  Y[b, c] = X[b, c]\n")[1] == ("b", "c")
