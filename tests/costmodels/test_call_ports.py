"""Computing calls take their time at the ports of the memories on chip that they read and write.

In: products on a machine of banks whose sums pass one narrow port. Out: failures. Not its job:
ports of the external memory (`test_shared_port`).
"""

from dataclasses import replace
from pathlib import Path

import isamap
from isamap.costmodels import find_bounds
from isamap.hwdesc import Direction, Hardware, Port, load_hardware
from isamap.ir import load_kernel, parse_semantics

MACHINE = Path(__file__).parents[1] / "specs" / "machines" / "banked_vectors.yaml"
PORT = Port("both", Direction.BOTH, 16.0)  # a call adds 48 bytes to 48 bytes: 6 cycles, issue 1


def banks(*ports: Port) -> Hardware:
    hw = load_hardware(MACHINE)
    memories = tuple(replace(m, ports=ports) if m.name == "wide" else m for m in hw.memories)
    return replace(hw, memories=memories)


def test_a_narrow_port_on_chip_sets_the_pace_of_closed_form_and_roofline() -> None:
    kernel = load_kernel("kernels/gemm.py", {"m": 24, "n": 24, "k": 24}, "gemm")
    result = isamap.map(kernel, banks(PORT), verify="full", time_limit_s=5)
    assert isinstance(result, isamap.Result) and result.timing is not None
    assert result.verification.is_verified
    emulated = {(port.memory, port.port): port.busy_cycles for port in result.timing.ports}
    counted = dict(result.schedule.estimate.port_cycles)
    assert counted["wide", "both"] == emulated["wide", "both"]
    assert 6 * 24 * 24 * 2 <= result.roofline.cycles <= result.timing.cycles
    assert result.analytical_cycles >= 0.9 * result.timing.cycles
    best = result.schedule
    reasons = {b.name: b.reason for b in find_bounds(best.covering, best.work, result.hardware)}
    assert reasons["port wide.both"] == "its calls, each copy once"


def test_accesses_take_several_ports_in_turn() -> None:
    """Two ports that read: the closed form and the roofline deal calls to them as the emulator."""
    kernel = load_kernel("kernels/gemm.py", {"m": 7, "n": 24, "k": 5}, "gemm")
    ways = {"in0": Direction.READ, "in1": Direction.READ, "out": Direction.WRITE}
    ports = [Port(name, direction, 16.0) for name, direction in ways.items()]
    result = isamap.map(kernel, banks(*ports), verify="full", time_limit_s=5)
    assert isinstance(result, isamap.Result) and result.timing is not None
    emulated = {(port.memory, port.port): port.busy_cycles for port in result.timing.ports}
    counted = dict(result.schedule.estimate.port_cycles)
    for name in ways:
        assert counted.get(("wide", name), 0) == emulated.get(("wide", name), 0)
    assert result.roofline.cycles <= result.timing.cycles


def test_calls_of_fewer_taps_read_what_is_moved_once_for_each(tmp_path: Path) -> None:
    """A window with steps of two whose taps may be few has no gapless row, for the emulator."""
    text = MACHINE.with_name("sliding_filter.yaml").read_text()
    text = text.replace("x[q + s]", "x[2*q + s]").replace(
        "positions + taps - 1)", "2 * positions + taps - 2)"
    )
    text = text.replace("granule: 1 byte,", "granule: 1 byte, ports: {read: 1 bytes/cycle},")
    file = tmp_path / "steps.yaml"
    file.write_text(text)
    kernel = parse_semantics(
        "X, W, Y = In(i8, 64), In(i8, 7), InOut(i32, 22)\nfor i, r in grid(22, 7):\n"
        "  Y[i] += i32(X[2*i + r]) * i32(W[r])\n",
        "steps",
    )
    result = isamap.map(kernel, file, verify="quick")
    assert isinstance(result, isamap.Result) and result.timing is not None
    assert result.verification.is_verified
    (busy,) = (port.busy_cycles for port in result.timing.ports)
    assert dict(result.schedule.estimate.port_cycles) == {("line", "read"): busy}
    assert result.roofline.cycles <= result.timing.cycles
