"""What calls take once, and not in every round of their hardware loops, is no part of a bound.

Oracle: the emulator.
"""

from pathlib import Path

import pytest

import isamap
from isamap.costmodels import find_bounds
from isamap.costmodels.rounds_of_calls import least_shares
from isamap.hwdesc import load_hardware
from tests.scheduler.cases import ROOT, machine

VTA = ROOT / "hw_specs" / "vta.yaml"


def test_shares_are_those_of_the_most_rounds(tmp_path: Path) -> None:
    assert set(least_shares(machine("vta")).values()) == {1.0}
    assert set(least_shares(machine("vecdot")).values()) == {1.0}
    file = tmp_path / "slow_start.yaml"
    file.write_text(VTA.read_text().replace("issue: outer * inner", "issue: 7 + outer * inner"))
    shares = least_shares(load_hardware(file))
    assert 0.125 < shares["compute"] < 0.13  # 7 cycles a call
    assert all(share == 1.0 for unit, share in shares.items() if unit != "compute")


@pytest.mark.parametrize("size", [16, 64])
def test_no_bound_is_above_what_is_emulated(size: int, tmp_path: Path) -> None:
    file = tmp_path / "slow_start.yaml"
    file.write_text(VTA.read_text().replace("issue: outer * inner", "issue: 7 + outer * inner"))
    sizes = dict.fromkeys("mnk", size)
    found = isamap.map("gemm", str(file), sizes=sizes, verify="quick")
    assert isinstance(found, isamap.Result) and found.verification.is_verified
    assert found.timing is not None and found.roofline.cycles <= found.timing.cycles
    best = found.schedule
    bounds = find_bounds(best.covering, best.work, found.hardware)
    assert all(bound.cycles <= found.timing.cycles for bound in bounds)


def test_rounds_of_a_call_share_what_a_port_is_busy(tmp_path: Path) -> None:
    """A round reads 16 bytes, at 12 a cycle: two cycles by itself, three rounds four."""
    room = "    size: 32 KiB\n    granule: block bytes\n"
    file = tmp_path / "narrow.yaml"
    file.write_text(VTA.read_text().replace(room, f"{room}    ports: {{read: 12 bytes/cycle}}\n"))
    found = isamap.map("gemm", str(file), sizes=dict.fromkeys("mnk", 64), verify="off")
    assert isinstance(found, isamap.Result) and found.timing is not None
    busy = {f"port {port.memory}.{port.port}": port.busy_cycles for port in found.timing.ports}
    assert 1024 < busy["port inp.read"] < 2 * 1024
    for bound in find_bounds(found.schedule.covering, found.schedule.work, found.hardware):
        assert bound.cycles <= busy.get(bound.name, found.timing.cycles), bound.name
