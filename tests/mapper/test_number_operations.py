"""Operations that machines have for two elements only."""

from pathlib import Path

import pytest

from isamap.hwdesc import load_hardware
from isamap.mapper import number_operations
from isamap.resources import find_hardware


@pytest.mark.parametrize(
    ("machine", "operations"),
    [
        ("gemmini", ()),  # none at all
        ("vta", ()),  # each with numbers that calls encode, too
        ("trainium", ("max",)),  # add, subtract and multiply with numbers, too
        ("gemv_engine", ("+", "*", "max")),
        ("x86_avx512", ()),  # its own host
    ],
)
def test_operations_of_which_numbers_have_to_be_elements(
    machine: str, operations: tuple[str, ...]
) -> None:
    assert number_operations(load_hardware(find_hardware(machine))) == operations


def test_a_core_of_single_operations_has_four() -> None:
    hw = load_hardware(Path("tests/planner/vector_core.yaml"))
    assert number_operations(hw) == ("+", "-", "*", "/")
