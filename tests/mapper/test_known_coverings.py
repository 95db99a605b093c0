"""Coverings that are remembered are those that are found anew.

In: isamap/mapper/known_coverings.py. Out: nothing. Not its job: coverings themselves.
"""

from itertools import islice
from pathlib import Path

import pytest

from isamap.errors import MappingError
from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel
from isamap.mapper import KnownCoverings, Mismatch, Setting
from isamap.mapper.cover import coverings

ROOT = Path(__file__).parents[2]
GEMMINI = load_hardware(str(ROOT / "hw_specs" / "gemmini.yaml"))


def test_several_readers_find_the_same_coverings_as_one_alone() -> None:
    kernel = load_kernel(ROOT / "kernels" / "gemm.py", {"m": 20, "n": 3, "k": 40})
    mismatches: list[Mismatch] = []
    alone = tuple(coverings(kernel, GEMMINI, mismatches))
    known = KnownCoverings()
    begun = iter(known.find(kernel, GEMMINI))
    assert tuple(islice(begun, 2)) == alone[:2]
    again = known.find(kernel, GEMMINI)
    assert tuple(again) == alone
    assert tuple(begun) == alone[2:]
    assert again.mismatches == mismatches
    assert len(alone) > 3


def test_other_loops_held_are_another_question() -> None:
    kernel = load_kernel(ROOT / "kernels" / "gemm.py", {"m": 20, "n": 3, "k": 40})
    known = KnownCoverings()
    free, held = known.find(kernel, GEMMINI), known.find(kernel, GEMMINI, Setting(held=("i",)))
    assert next(iter(free)).held == ()
    assert next(iter(held)).held == ("i",)


def test_what_fails_fails_again() -> None:
    kernel = load_kernel(ROOT / "kernels" / "gemm.py", {"m": 4, "n": 4, "k": 4}, "gemm_f32")
    f32_machine = load_hardware(str(ROOT / "hw_specs" / "x86_avx2.yaml"))
    known = KnownCoverings()
    for _ in range(2):
        with pytest.raises(MappingError, match="reorder a floating-point sum"):
            list(known.find(kernel, f32_machine))
