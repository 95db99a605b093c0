"""What the emulator counted, as text: headline, busy units and ports, traffic.

In: a Timing, a Verification. Out: lines of text. Not its job: estimates, proofs.
"""

from rich.text import Text

from isamap.costmodels import pretty_energy
from isamap.emulator import Timing, UnitTime
from isamap.hwdesc import Hardware, show_bytes
from isamap.verify import Verification

from .show_verification import headline_word
from .units import align, show_count, show_cycles, show_frequency, show_seconds, show_share

MAX_SHARES = 8  # of cores, written out one by one
UNKNOWN = "unknown: not emulated"


def headline(
    kernel: str, hw: Hardware, timing: Timing | None, estimated_cycles: int, check: Verification
) -> Text:
    """`gemm on gemmini: 28 926 576 cycles, 28.9 ms at 1 GHz, verified`."""
    cycles = timing.cycles if timing else estimated_cycles
    kind = "emulated" if timing else "estimated"
    seconds = show_seconds(cycles / hw.clock_hz)
    word, style = headline_word(check)
    text = Text(
        f"{kernel} on {hw.name}: {show_cycles(cycles)} ({kind}), "
        f"{seconds} at {show_frequency(hw.clock_hz)}, "
    )
    return text.append(word, style)


def busy_lines(timing: Timing | None) -> list[str]:
    """Where time goes: each unit's and port's busy share."""
    if timing is None:
        return [UNKNOWN]
    units = [f"{unit.unit} {show_share(unit.utilisation)}" for unit in timing.unit_busy]
    ports = [
        f"{port.memory}.{port.port} {show_share(port.busy_cycles / max(1, timing.cycles))}"
        for port in timing.ports
        if port.busy_cycles
    ]
    calls = [f"{show_count(count)} {name}" for name, count in timing.calls]
    lines = [f"units  {', '.join(units)}"]
    cores = [
        f"{unit.unit} {_core_shares(unit, timing.cycles)}"
        for unit in timing.unit_busy
        if unit.core_cycles and unit.busy_cycles
    ]
    lines += [f"cores  {'; '.join(cores)}"] if cores else []
    lines += [f"ports  {', '.join(ports)}"] if ports else []
    return [*lines, f"calls  {', '.join(calls)}"]


def _core_shares(unit: UnitTime, cycles: int) -> str:
    """Each core's busy share; of many or equal ones the least and the most."""
    shares = [show_share(busy / max(1, cycles)) for busy in unit.core_cycles]
    if len(set(shares)) == 1:
        return f"{shares[0]} each"
    if len(shares) <= MAX_SHARES:
        return ", ".join(shares)
    least, most = min(unit.core_cycles), max(unit.core_cycles)
    return f"{show_share(least / max(1, cycles))} to {show_share(most / max(1, cycles))}"


def traffic_lines(timing: Timing | None) -> list[str]:
    """Bytes per memory, and energy where the machine says what it takes."""
    if timing is None:
        return [UNKNOWN]
    lines = align(
        [
            (x.memory, f"{show_bytes(x.read_bytes)} read", f"{show_bytes(x.written_bytes)} written")
            for x in timing.traffic
            if x.read_bytes or x.written_bytes
        ],
        right=(1, 2),
    )
    if timing.energy_pj:
        lines.append(f"energy {pretty_energy(timing.energy_pj)}")
    return lines


def error_note(estimated_cycles: int, timing: Timing | None) -> str:
    """`, -3.1 % against emulated`; empty when nothing was emulated."""
    if timing is None or not timing.cycles:
        return ""
    return f", {100 * (estimated_cycles / timing.cycles - 1):+.1f} % against emulated"
