"""Inputs that are packed ahead and copied all the same, where that is faster.

Oracle: the program for inputs as they lie is never foretold to be faster; the interpreter.
"""

import pytest

from isamap.program import issues
from tests.native.products import Sizes, assert_exact, map_product, skip_unless_native

SIZES = [(600, 5, 128), (600, 35, 512), (7, 5, 6), (1, 13, 11), (37, 17, 3)]


@pytest.mark.parametrize("sizes", SIZES)
def test_packing_ahead_never_costs_what_copying_does_not(sizes: Sizes) -> None:
    """Of rows that do not fill vectors evenly, the order of use leaves gaps, a copy none."""
    names = (), ("B",)
    lying, ahead = (map_product("sgemm", "x86_avx2", sizes, x, time_limit_s=20) for x in names)
    assert ahead.cycles <= 1.001 * lying.cycles


def test_what_copies_an_input_packed_ahead_is_right() -> None:
    skip_unless_native("x86_avx2")
    found = [map_product("sgemm", "x86_avx2", sizes, ("B",)) for sizes in SIZES]
    copying = {issue.instruction for issue in issues(found[0].program.body)}
    assert any(name.startswith("pack_") for name in copying)
    assert_exact(found)
