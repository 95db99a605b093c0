"""Registers that change hands at loops between written-out ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from isamap.costmodels import count_work, estimate
from isamap.costmodels.handover import handover_cycles
from isamap.hwdesc import load_hardware
from tests.costmodels.test_caches import machine, product, tiled


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
        tiling = replace(tiled(covering, 4, 2, ("i", "j", "p")), inner=tuple(inner))
        sums = (replace(stay, level=int(stay.operand == "C")) for stay in tiling.stays)
        tiling = replace(tiling, tiles=(("i", 4), ("j", 2), ("p", 5)), stays=tuple(sums))
        handed = handover_cycles(covering, tiling, hw)
        assert handed == (0.5 * 6 * 5 * 4 * registers if figure else 0.0)  # 120 tiles
        found.append((estimate(covering, count_work(covering, hw), tiling, hw).cycles, handed))
    assert found[1][0] - found[0][0] == found[1][1]
