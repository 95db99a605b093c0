"""References that cannot be asked are the user's mistakes, and name their line.

In: kernel files. Out: messages. Not its job: what a right reference says (`test_check`).
"""

from pathlib import Path

import pytest

import isamap

KERNEL = """
from isamap.lang import In, Out, grid, i8, kernel

@kernel
def k(m=3, n=2):
    A, C = In(i8, m, n), Out(i8, m, n)
    for i, j in grid(m, n):
        C[i, j] = A[i, j]

"""


@pytest.mark.parametrize(
    ("reference", "message", "hint"),
    [
        ("def k_reference(A, B): pass", "10:1: the reference raised TypeError: ", "arrays A"),
        ("def k_reference(A):\n  return A @ A", "11:3: the reference raised ValueError: ", ""),
        ("def k_reference(A): return A", "10:1: the reference returns ndarray, ", '{"C": ..}'),
        ("def k_reference(A): return {'c': A}", "10:1: the reference returns 'c', ", "C"),
        ("def k_reference(A): return {}", "10:1: the reference returns no 'C'", '{"C": ..}'),
        ("def k_reference(A): return {'C': A.T}", "10:1: the reference returns 'C' of", "C"),
    ],
)
def test_a_reference_that_cannot_be_asked_is_named(
    reference: str, message: str, hint: str, tmp_path: Path
) -> None:
    file = tmp_path / "k.py"
    file.write_text(KERNEL + reference + "\n")
    with pytest.raises(isamap.IsamapError) as raised:
        isamap.map(file, "gemmini")
    assert f"k.py:{message}" in str(raised.value)
    assert hint in raised.value.hint
