"""What is longer than a copy's longest call moves in as few calls as it takes.

In: a filter on a machine whose copies take few elements, blocks and windows of awkward lengths.
Out: failures. Not its job: which tilings are good.
"""

import random
from pathlib import Path

import pytest

from isamap.costmodels import count_work, estimate
from isamap.hwdesc import load_hardware
from isamap.ir import parse_semantics
from isamap.mapper import coverings
from isamap.scheduler import lower
from tests.scheduler.execution import assert_computes
from tests.scheduler.tilings import random_legal_tiling

TAPS = 3
FILTER = """
name: filter
clock: 1 GHz
synchronisation: interlocked
source: invented
memories:
  dram: {kind: external, size: 1 MiB, source: invented}
  sram: {kind: managed, size: 4 KiB, granule: 4 bytes, source: invented}
  sums: {kind: managed, size: 512 bytes, granule: 4 bytes, source: invented}
units: {load: {}, mac: {}, store: {}}
instructions:
"""
COPY = """
  {name}:
    semantics: |
      S, D = In(i32, {most}), Out(i32, {most})
      for i in range({most}):
        D[i] = S[i]
    extents: {{i: at_most}}
    operands:
      S: {{memory: {source}, strides: [4 bytes]}}
      D: {{memory: {target}, strides: [4 bytes]}}
    unit: {name}
    issue: 1 cycle
    latency: 9 cycles
    source: invented
"""
COMPUTE = """
  fir:
    semantics: |
      X, W, Y = In(i32, 13), In(i32, 3), InOut(i32, 11)
      for i, t in grid(11, 3):
        Y[i] += X[i + t] * W[t]
    extents: {i: at_most, t: at_most}
    operands:
      X: {memory: sram, strides: [4 bytes]}
      W: {memory: sram, strides: [4 bytes]}
      Y: {memory: sums, strides: [4 bytes]}
    unit: mac
    issue: 3 cycles
    source: invented
  clear:
    semantics: |
      D = Out(i32, 11)
      for i in range(11):
        D[i] = 0
    extents: {i: at_most}
    operands: {D: {memory: sums, strides: [4 bytes]}}
    unit: mac
    issue: 1 cycle
    source: invented
"""


@pytest.mark.parametrize("most", [4, 5])
@pytest.mark.parametrize("length", [22, 41, 67])
def test_copies_take_as_many_calls_as_the_closed_form_says(
    length: int, most: int, tmp_path: Path
) -> None:
    """Sums lie in blocks of 11, the last one shorter, windows are 2 longer than their blocks."""
    ends = {"load": ("dram", "sram"), "store": ("sums", "dram")}
    copies = (COPY.format(name=n, most=most, source=s, target=t) for n, (s, t) in ends.items())
    file = tmp_path / "filter.yaml"
    file.write_text(FILTER + COMPUTE + "".join(copies))
    hw = load_hardware(file)
    text = f"X, W, Y = In(i32, {length + TAPS - 1}), In(i32, {TAPS}), Out(i32, {length})\n"
    text += f"for i, t in grid({length}, {TAPS}):\n  Y[i] += X[i + t] * W[t]\n"
    subject = parse_semantics(text, "filter")
    found = [c for c in coverings(subject, hw, []) if c.group("i") == ("i",)]
    generator = random.Random(length)
    for _ in range(4):
        covering = generator.choice(found)
        tiling = random_legal_tiling(covering, hw, generator, any_tile=False, attempts=200)
        assert tiling is not None
        told = dict(estimate(covering, count_work(covering, hw), tiling, hw).unit_cycles)
        timing = assert_computes(subject, lower(covering, tiling, hw), hw, str(tiling))
        busy = {unit.unit: unit.busy_cycles for unit in timing.unit_busy}
        assert busy["store"] == told["store"]
        # the last tile of a loop, which may be shorter, is taken for a whole one
        assert busy["load"] <= told["load"] <= 1.2 * busy["load"] + 1, tiling
