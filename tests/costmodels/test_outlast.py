"""Programs that end while ports are held: no bound counts what these are busy after the end.

In: one call of each instruction on a machine with slow ports. Oracle: the emulator.
"""

from dataclasses import replace

import pytest

import isamap
from isamap.costmodels import find_bounds
from isamap.costmodels.outlast import outlasting_cycles
from isamap.hwdesc import Direction, Port, load_hardware
from isamap.ir import parse_semantics
from tests.scheduler.cases import ROOT, machine

HW = load_hardware(ROOT / "tests" / "specs" / "machines" / "sliding_filter.yaml")
ONE_CALL = """
X, W, Y = In(i8, 15), In(i8, 5), InOut(i32, 11)
for i, r in grid(11, 5):
  Y[i] += i32(X[i + r]) * i32(W[r])
"""


@pytest.mark.parametrize(
    ("memory", "direction", "pace"),
    [
        ("dram", Direction.BOTH, 1.0),
        ("dram", Direction.WRITE, 1.0),
        ("results", Direction.WRITE, 1.0),
        ("line", Direction.READ, 0.25),
    ],
)
def test_no_bound_is_above_what_is_emulated(memory: str, direction: Direction, pace: float) -> None:
    port = Port("slow", direction, pace)
    memories = (replace(m, ports=(port,)) if m.name == memory else m for m in HW.memories)
    hw = replace(HW, memories=tuple(memories))
    found = isamap.map(parse_semantics(ONE_CALL, "slide"), hw, verify="off")
    assert isinstance(found, isamap.Result) and found.timing is not None
    assert found.timing.ports[0].busy_cycles > found.timing.cycles, "else it shows nothing"
    assert 0 < found.roofline.cycles <= found.timing.cycles
    bounds = find_bounds(found.schedule.covering, found.schedule.work, hw)
    assert all(bound.cycles <= found.timing.cycles for bound in bounds)


@pytest.mark.parametrize("name", ["gemmini", "vta", "tpu_v1", "trainium"])
def test_calls_whose_issue_is_that_of_their_ports_end_no_sooner(name: str) -> None:
    assert not outlasting_cycles(machine(name))
