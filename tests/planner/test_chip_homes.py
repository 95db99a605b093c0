"""Buffers between tasks have their places on chip, or there is no such plan."""

from types import SimpleNamespace

import pytest

from isamap.errors import MappingError
from isamap.hwdesc import load_hardware
from isamap.planner.chip_homes import home_ends, place_homes
from isamap.program import natural_layout
from isamap.resources import find_hardware


def piece(**buffers: int) -> SimpleNamespace:
    """A task on buffers of so many bytes each, all of them in Gemmini's scratchpad."""
    homes = {
        name: SimpleNamespace(home="scratchpad", layout=natural_layout("i8", (size,)))
        for name, size in buffers.items()
    }
    task = SimpleNamespace(touched=frozenset(homes))
    return SimpleNamespace(homes=homes, task=task, schedule=None)


def test_homes_lie_one_after_another_as_far_as_their_memory_goes() -> None:
    hw = load_hardware(find_hardware("gemmini"))
    homes = place_homes((piece(a=10, b=20), piece(b=20, c=256 * 1024 - 48)), hw)
    assert [homes[name].address for name in "abc"] == [0, 16, 48]
    assert home_ends(homes, hw) == {"scratchpad": 256 * 1024}
    with pytest.raises(MappingError, match="no room for buffer 'c' in 'scratchpad'"):
        place_homes((piece(a=10, b=20), piece(b=20, c=256 * 1024 - 32)), hw)


def test_what_is_written_around_a_buffer_keeps_it_off_the_chip(monkeypatch) -> None:
    hw = load_hardware(find_hardware("gemmini"))
    monkeypatch.setattr("isamap.planner.chip_homes.spoiled_borders", lambda pieces: {"b"})
    with pytest.raises(MappingError, match="a task writes around buffer 'b' what another one"):
        place_homes((piece(a=10, b=20),), hw)
