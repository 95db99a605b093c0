"""Loops over blocks of iterations: what runs when, in how many blocks, and that it is right.

Oracle: the questions that the blocks stand for; the interpreter.
"""

from pathlib import Path

import numpy as np
import pytest

from isamap.codegen import generate_c
from isamap.codegen.c.blocks import find_blocks
from isamap.codegen.c.nodes import CHint, CLoop, CTurn
from isamap.ir import Affine, interpret
from isamap.native import execute_c, whole_arrays
from isamap.program import Address, Operand
from tests.codegen.test_c_programs import needs_compiler
from tests.codegen.test_prefetch import asking, program
from tests.costmodels.test_caches import product

HINTS = [CHint(Operand("A", "dram", Address(Affine()), (4,)), ahead) for ahead in range(8)]
LAST = HINTS[-1]


def turns(first: int, *pairs: tuple[int, int]) -> tuple[CTurn, ...]:
    """One for each period and first iteration, counted from that of the loop."""
    return tuple(
        CTurn("p", period, first + begin, (hint,))
        for hint, (period, begin) in zip(HINTS, pairs, strict=False)
    )


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("length", [9, 16, 21, 48])
@pytest.mark.parametrize(
    ("pairs", "period"),
    [
        (((8, 0),), 8),
        (((16, 0), (16, 4), (16, 8)), 4),
        (((8, 0), (16, 8)), 8),
        (((8, 0), (12, 4)), 4),
        (((8, 0), (8, 3)), 0),  # a question in each iteration
        (((64, 0),), 0),  # longer than the loop
        ((), 0),
    ],
)
def test_each_turn_comes_when_its_question_says(
    pairs: tuple[tuple[int, int], ...], period: int, length: int, first: int
) -> None:
    loop = CLoop("p", first, first + length, (*turns(first, *pairs), LAST))
    found = find_blocks(loop)
    if not period or period >= length:
        assert found is None
        return
    assert found is not None and found.period == period
    assert found.is_even == (length % period == 0) and found.body == (LAST,)
    for hint, (every, begin) in zip(HINTS, pairs, strict=False):
        wanted = [n for n in range(length) if n % every == begin % every]
        starts = range(0, length, period)
        if hint in found.turns:
            assert wanted == list(starts)
        else:
            (turn,) = (x for x in found.turns if isinstance(x, CTurn) and x.body == (hint,))
            asked = [n for n in starts if (first + n) % turn.period == turn.first % turn.period]
            assert wanted == asked


def test_loops_around_loops_and_those_that_end_early_keep_their_questions() -> None:
    (turn,) = turns(0, (8, 0))
    inner = CLoop("q", 0, 4, (LAST,))
    assert find_blocks(CLoop("p", 0, 16, (turn, inner))) is None
    assert find_blocks(CLoop("p", 0, 16, (LAST, turn))) is None
    other = CTurn("q", 8, 0, (LAST,))
    assert find_blocks(CLoop("p", 0, 16, (other, LAST))) is None


@needs_compiler
@pytest.mark.parametrize("k", [40, 41, 43])
def test_blocks_are_right_where_the_last_one_is_shorter(k: int, tmp_path: Path) -> None:
    hw = asking(tmp_path)
    found = program(hw, "jip", k=k)
    text = generate_c(found, hw).text
    assert ("p_tile + 4 < " in text) == (k % 4 > 0) and "p_tile_end" in text
    kernel = product(hw, 4, 40, k).kernel
    arrays = whole_arrays(kernel, 1)
    got = execute_c(found, hw, arrays)["C"]
    np.testing.assert_array_equal(got, interpret(kernel, arrays)["C"])
