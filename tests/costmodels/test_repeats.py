"""What calls take once, and not in every round of their hardware loops, is no part of a bound.

Oracle: the emulator.
"""

from pathlib import Path

import pytest

import isamap
from isamap.costmodels import find_bounds
from isamap.costmodels.repeats import _least_share, least_shares
from isamap.hwdesc import Expression, load_hardware
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


def test_a_share_is_the_least_of_all_extents(tmp_path: Path) -> None:
    """A call of few sums and many rows pays most for its start: 9 cycles a row, 1 a sum."""
    rounds = "repeat: {u: {at_most: 8, strides: {A: free, B: free, C: free}}}"
    file = tmp_path / "slow_rows.yaml"
    file.write_text(f"""\
name: slow_rows
clock: 1 GHz
synchronisation: interlocked
source: estimate
memories:
  dram: {{kind: external, size: 1 MiB, granule: 1 byte, source: estimate}}
units: {{all: {{}}}}
instructions:
  multiply:
    semantics: |
      A, B, C = In(i8, 4, 4), In(i8, 4), InOut(i32, 4)
      for i, k in grid(4, 4):
        C[i] += i32(A[i, k]) * i32(B[k])
    extents: {{i: at_most, k: at_most}}
    {rounds}
    operands: {{A: dram, B: dram, C: dram}}
    unit: all
    issue: 9 * i + u * k cycles
    source: estimate
""")
    shares = [
        (9 * i + u * k) / (u * (9 * i + k))
        for i in range(1, 5)
        for k in range(1, 5)
        for u in range(1, 9)
    ]
    assert least_shares(load_hardware(file))["all"] == pytest.approx(min(shares))


@pytest.mark.parametrize("most", [3, 21, 1000])
@pytest.mark.parametrize(
    "text", ["u * v * i", "u * (v + 3)", "u * v / 3", "u * u * v", "max(u, 4) * v", "7 + u * v"]
)
def test_a_count_that_is_a_factor_need_not_be_tried(text: str, most: int) -> None:
    """Oracle: every count, of few, and the ends, of many."""
    issue = Expression.parse(text)
    counts = sorted({*range(1, min(most, 16) + 1), most})
    shares = [
        issue.evaluate({"i": i, "u": u, "v": v})
        / (u * v * issue.evaluate({"i": i, "u": 1, "v": 1}))
        for i in (1, 9)
        for u in counts
        for v in range(1, 4)
    ]
    calls = ((("i", 1),), (("i", 9),))
    assert _least_share(issue, calls, (("u", most), ("v", 3))) == min(shares)


def test_rounds_share_the_cycles_of_a_wide_port(tmp_path: Path) -> None:
    """Copies of many rows, 16 or 64 bytes each, at a port of 256: the emulator rounds up once."""
    text = VTA.read_text().replace("dram_bytes: 8", "dram_bytes: 256")
    for row in ("block", "4 * block"):
        each = f"rows * columns * ceil({row} / dram_bytes)"
        text = text.replace(each, f"ceil(rows * columns * {row} / dram_bytes)")
    text = text.replace(" outer * inner * uop cycles", " ceil(outer * inner * uop / 8) cycles")
    text = text.replace("2 * ceil(outer", "ceil(outer")
    file = tmp_path / "wide_port.yaml"
    file.write_text(text)
    found = isamap.map("gemm", str(file), sizes={"m": 128, "n": 16, "k": 16}, verify="quick")
    assert isinstance(found, isamap.Result) and found.verification.is_verified
    assert found.timing is not None and found.roofline.cycles <= found.timing.cycles
    best = found.schedule
    bounds = find_bounds(best.covering, best.work, found.hardware)
    assert all(bound.cycles <= found.timing.cycles for bound in bounds)
