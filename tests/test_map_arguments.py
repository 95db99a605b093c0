"""What people pass from notebooks: NumPy's integers, misspelt choices; what they see of an answer.

In: calls of `isamap.map`. Out: answers in a line, messages. Not its job: the answers themselves.
"""

from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.bindings import explain, list_mappings

SIZES = {"m": 5, "n": 7, "k": 3}


def test_sizes_may_be_numpys_and_answers_print_in_a_line() -> None:
    found = isamap.map("gemm", "outer", sizes={name: np.int64(n) for name, n in SIZES.items()})
    assert found.request.sizes == tuple(SIZES.items())
    assert all(type(value) is int for _, value in found.request.sizes)
    assert found.timing is not None
    assert repr(found) == f"<Result: gemm on outer, {found.timing.cycles} cycles, verified>"


def test_reasons_and_mappings_print_in_a_line_too() -> None:
    why = explain("gemm", "gemmini")
    assert repr(why).startswith("<Explanation: gemm on gemmini, 1 statements, ")
    assert len(repr(why)) < 100 and "mvin" not in repr(why)
    assert str(why).startswith("why not other instructions, nearest miss first\n")
    found = list_mappings("gemm", "gemmini")
    assert repr(found).startswith("<MappingList: gemm on gemmini") and len(repr(found)) < 100


@pytest.mark.parametrize(
    ("choice", "message", "hint"),
    [
        ({"verify": "fast"}, "no check 'fast'", "full, quick, off"),
        ({"layouts": "natrual"}, "no layouts 'natrual'", "natural, packed"),
    ],
)
def test_misspelt_choices_are_named(choice: dict[str, str], message: str, hint: str) -> None:
    with pytest.raises(isamap.IsamapError, match=message) as raised:
        isamap.map("gemm", "outer", sizes=SIZES, **choice)  # type: ignore[arg-type]
    assert hint in raised.value.hint
    with pytest.raises(isamap.IsamapError, match=message):
        isamap.build("gemm", "outer", sizes=SIZES, **choice)  # type: ignore[arg-type]


def test_an_assignment_that_was_meant_as_a_sum_is_explained(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text(
        "@kernel\ndef k(m=3, n=5):\n"
        "    A, B, y = In(i8, m, n), In(i8, n), Out(i32, m)\n"
        "    for i, j in grid(m, n):\n        y[i] = i32(A[i, j]) * i32(B[j])\n"
    )
    task = isamap.explain(file, "gemmini").tasks[0]
    reasons = [mismatch.reason for mismatch in task.mismatches]
    assert (
        "updates its target by '+=', the kernel by '=' over j, of which only the last counts"
    ) in reasons
