"""Statements that together write all of a buffer."""

from itertools import product

import pytest

from isamap.ir import Kernel, covers_together, parse_semantics


def reached(kernel: Kernel) -> set[tuple[int, ...]]:
    """Every element that some statement assigns, by counting."""
    found = set()
    for statement in kernel.statements:
        for row in product(*(range(loop.extent) for loop in statement.loops)):
            values = {loop.name: n for loop, n in zip(statement.loops, row, strict=True)}
            found.add(tuple(index.evaluate(values) for index in statement.target.indices))
    return found


def kernel_of(*nests: str) -> Kernel:
    return parse_semantics("A = Out(i32, 4, 6)\n" + "\n".join(nests), "parts")


def nest(target: str, rows: int, columns: int) -> str:
    return f"for i, j in grid({rows}, {columns}):\n  A[{target}] = 7"


LEFT, RIGHT = nest("i, j", 4, 5), nest("i, j + 5", 4, 1)


@pytest.mark.parametrize(
    ("nests", "is_all"),
    [
        ((nest("i, j", 4, 6),), True),
        ((LEFT, RIGHT), True),
        ((LEFT,), False),
        ((LEFT, nest("i, j + 5", 3, 1)), False),
        ((nest("i, j", 2, 4), nest("i, j + 4", 4, 2), nest("i + 2, j", 2, 4)), True),
        (("for i, s, j in grid(4, 2, 3):\n  A[i, 3 * s + j] = 7",), True),
        (("for i, s, j in grid(4, 2, 2):\n  A[i, 3 * s + j] = 7",), False),
        (("for i, s, j in grid(4, 2, 3):\n  A[i, 2 * s + j] = 7", RIGHT), True),
        (("for i in range(4):\n  A[i, i] = 7",), False),
    ],
)
def test_all_elements_are_counted(nests: tuple[str, ...], is_all: bool) -> None:
    kernel = kernel_of(*nests)
    assert (len(reached(kernel)) == 24) == is_all
    assert covers_together(kernel.statements, kernel.buffer("A")) == is_all
