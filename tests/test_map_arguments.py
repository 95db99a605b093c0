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
        ({"time_limit_s": float("nan")}, "a time limit of nan, expected a number of seconds", ""),
        ({"time_limit_s": "3"}, "a time limit of '3', expected a number of seconds", ""),
    ],
)
def test_mistaken_choices_are_named(choice: dict[str, object], message: str, hint: str) -> None:
    with pytest.raises(isamap.IsamapError, match=message) as raised:
        isamap.map("gemm", "outer", sizes=SIZES, **choice)  # type: ignore[arg-type]
    assert hint in raised.value.hint
    with pytest.raises(isamap.IsamapError, match=message):
        isamap.build("gemm", "outer", sizes=SIZES, **choice)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["workers", "seed"])
@pytest.mark.parametrize("number", [-1, 2**40, 1.0, None, True])
def test_workers_and_seeds_are_whole_numbers_that_the_solver_takes(
    name: str, number: object
) -> None:
    with pytest.raises(isamap.IsamapError, match=f"{name}={number}, expected a whole number from"):
        isamap.map("gemm", "outer", sizes=SIZES, **{name: number})  # type: ignore[arg-type]


def test_seeds_may_be_numpys() -> None:
    found = isamap.map("gemm", "outer", sizes=SIZES, seed=np.int64(2**31 - 1))  # type: ignore[arg-type]
    assert found.verification.is_verified


def test_threads_are_whole_numbers() -> None:
    with pytest.raises(isamap.IsamapError, match=r"1\.5 threads are wanted, expected 1 to 256"):
        isamap.build("gemm", "outer", sizes=SIZES, threads=1.5)  # type: ignore[arg-type]


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
