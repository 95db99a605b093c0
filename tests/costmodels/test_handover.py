"""Registers in written-out loops: what changes hands between them, what is copied only once."""

from dataclasses import replace
from pathlib import Path

import pytest

from isamap.costmodels import Tiling, count_work, estimate
from isamap.costmodels.handover import copies_left_away, handover_cycles
from isamap.hwdesc import load_hardware
from isamap.mapper import Covering
from tests.costmodels.test_caches import machine, product, tiled


def summed(covering: Covering, inner: str) -> Tiling:
    """Registers hold 4 x 2 sums, of five steps in a tile, and single blocks of what is multiplied;
    loops over units in this order."""
    tiling = tiled(covering, 4, 2, ("i", "j", "p"))
    stays = tuple(replace(stay, level=int(stay.operand == "C")) for stay in tiling.stays)
    tiles = (("i", 4), ("j", 2), ("p", 5))
    return replace(tiling, tiles=tiles, inner=tuple(inner), stays=stays)


@pytest.mark.parametrize(
    ("inner", "registers"),
    [
        ("pij", 0),  # all registers are used in each round
        ("ijp", 4 * 2 * 1),  # one at a time
        ("ipj", 4 * 2),  # two in each of four starts
        ("jpi", 2 * 4),
    ],
)
def test_each_start_of_a_loop_between_written_out_ones_costs_its_registers(
    inner: str, registers: int, tmp_path: Path
) -> None:
    found = []
    for figure in ("", "\n    handover: 0.5 cycles"):
        hw = machine(tmp_path, None)
        text = (tmp_path / "vec4.yaml").read_text()
        text = text.replace("\n  regs:", "\n  regs:" + figure, 1)
        (tmp_path / "vec4.yaml").write_text(text)
        hw = load_hardware(tmp_path / "vec4.yaml")
        covering = product(hw, 24, 40, 20)
        tiling = summed(covering, inner)
        handed = handover_cycles(covering, tiling, hw)
        assert handed == (0.5 * 6 * 5 * 4 * registers if figure else 0.0)  # 120 tiles
        found.append((estimate(covering, count_work(covering, hw), tiling, hw).cycles, handed))
    assert found[1][0] - found[0][0] == found[1][1]


@pytest.mark.parametrize(
    ("inner", "times"),
    [
        ("pij", {"A": 1, "B": 4}),  # each of four i reads both vectors of B again
        ("pji", {"A": 2, "B": 1}),
        ("ipj", {"A": 1, "B": 1}),  # p, between them, is a loop: what its rounds read is new
        ("ijp", {"A": 1, "B": 1}),
    ],
)
@pytest.mark.parametrize("cache", [None, 4096])
def test_what_written_out_loops_read_again_is_copied_once(
    inner: str, times: dict[str, int], cache: int | None, tmp_path: Path
) -> None:
    hw = machine(tmp_path, cache)
    covering = product(hw, 24, 40, 20)
    tiling = summed(covering, inner)
    found = copies_left_away(covering, tiling, hw)
    assert found == ({(name, 0): count for name, count in times.items()} if cache else {})
    units = dict(estimate(covering, count_work(covering, hw), tiling, hw).unit_cycles)
    if cache and inner[0] == "p":
        assert units["load"] == 24 // 4 * 40 // 8 * 20 * (4 + 2)  # of each step: elements, vectors


def test_what_a_compiler_may_not_leave_away_is_copied_as_it_stands(tmp_path: Path) -> None:
    """Elements of A by volatile assembly, vectors of B by a function."""
    machine(tmp_path, 4096)
    file = tmp_path / "vec4.yaml"
    text = file.read_text()
    broadcast = text.index("  broadcast:")
    form = text.index("c: ", broadcast)
    end = text.index("}\n", form)
    assembly = """'__asm__ volatile("ld %1, %0" : "=x"({D}) : "m"(*{S}));'"""
    file.write_text(text[:form] + "c: " + assembly + text[end:])
    hw = load_hardware(file)
    covering = product(hw, 24, 40, 20)
    assert copies_left_away(covering, summed(covering, "pij"), hw) == {("B", 0): 4}
    assert copies_left_away(covering, summed(covering, "pji"), hw) == {("B", 0): 1}


@pytest.mark.parametrize(
    ("inner", "copies"),
    [
        ("pij", 4 + 1 + 1 * 4),  # one vector of B stays, the other one is read for each of four i
        ("pji", 1 + 3 * 2 + 2),  # one element of A stays
    ],
)
def test_what_the_sums_leave_no_register_for_is_copied_every_time(
    inner: str, copies: int, tmp_path: Path
) -> None:
    """Eight sums in nine registers."""
    machine(tmp_path, 4096)
    text = (tmp_path / "vec4.yaml").read_text().replace("size: 64 * 16 bytes", "size: 9 * 16 bytes")
    (tmp_path / "vec4.yaml").write_text(text)
    hw = load_hardware(tmp_path / "vec4.yaml")
    covering = product(hw, 24, 40, 20)
    tiling = summed(covering, inner)
    units = dict(estimate(covering, count_work(covering, hw), tiling, hw).unit_cycles)
    assert units["load"] == 24 // 4 * 40 // 8 * 20 * copies
