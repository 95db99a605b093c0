"""What a hardware file says is what the machine is."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from isamap.hwdesc import (
    CForm,
    CTemplate,
    Direction,
    ExtentKind,
    ExtentRule,
    ImmediateRule,
    MemoryKind,
    OperandHole,
    Port,
    StrideRule,
    load_hardware,
)

SPEC = """\
name: demo
clock: 250 MHz
synchronisation: tokens
parameters: {lanes: 0x8, rows: 2 * lanes}
memories:
  far: {kind: external, size: 1 GiB, ports: {both: lanes bytes/cycle}, source: estimate}
  near:
    kind: managed
    size: 4 * rows * lanes bytes
    granule: lanes bytes
    ports: {read: 0.5 bytes/cycle, write: 1 B/cycle}
    read_energy: 2 pJ/byte
    source: estimate
  shared: {kind: cache, size: 1 KiB, source: estimate}
units: {move: {count: lanes / 4}, on: }
channels: {go: {from: move, to: on, depth: rows}}
instructions:
  take:
    semantics: |

      # a comment first
      S, D = In(i16, rows, lanes), InOut(i16, rows, lanes)
      for r, c in grid(rows, lanes):
          D[r, c] += S[r, c] + bias
    extents: {c: {multiple_of: lanes / 2}, r: at_most}
    operands:
      D:
        memory: near
        strides: [{multiple_of: lanes bytes, nonzero: true}, dense]
        align: rows bytes
      S: far
    repeat:
      outer: {at_most: rows, strides: {D: dense, S: free}}
      inner: {at_most: 4, strides: {S: 0 bytes, D: {at_most: 1 KiB}}}
    immediates: {bias: {min: -lanes, max: 127}}
    unit: move
    issue: 'r * ceil(c / lanes) * outer * inner cycles'
    latency: "rows + r * ceil(c / lanes) * outer * inner cycles"
    accumulate: 1 cycle
    energy: 1.5 * r nJ
    emit: {asm: "take {S}", c: "take();"}
    source: estimate
  give:
    semantics: |
      S, D = In(i16, 1), Out(i16, 1)
      for r in range(1):
        D[r] = S[r]
    extents: {r: exactly}
    operands: {S: near, D: far}
    unit: move
    issue: 1 cycle
    source: estimate
  wait: {is_sync: true, unit: on, issue: 1 cycle, source: estimate}
  pause: {is_sync: true, unit: move, issue: 1 cycle, source: estimate}
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    file = tmp_path / "demo.yaml"
    file.write_text(SPEC)
    return file


def test_memories_units_and_channels(spec: Path) -> None:
    hw = load_hardware(spec)
    assert (hw.name, hw.clock_hz) == ("demo", 250e6)
    assert hw.has_tokens
    assert hw.parameters == (("lanes", 8), ("rows", 16))
    assert hw.external.ports == (Port("both", Direction.BOTH, 8.0),)
    near = hw.memory("near")
    assert (near.size_bytes, near.granule_bytes) == (512, 8)
    assert near.ports == (Port("read", Direction.READ, 0.5), Port("write", Direction.WRITE, 1.0))
    assert (near.read_energy_pj_per_byte, near.write_energy_pj_per_byte) == (2.0, 0.0)
    assert hw.memory("shared").kind is MemoryKind.CACHE
    assert [(unit.name, unit.count) for unit in hw.units] == [("move", 2), ("on", 1)]
    (channel,) = hw.channels
    assert (channel.source_unit, channel.target_unit, channel.depth) == ("move", "on", 16)


def test_instruction_rules_follow_the_semantics_order(spec: Path) -> None:
    take = load_hardware(spec).instruction("take")
    assert take.extents == (
        ("r", ExtentRule(ExtentKind.AT_MOST, 16)),
        ("c", ExtentRule(ExtentKind.MULTIPLE_OF, 8, 4)),
    )
    assert [operand.name for operand in take.operands] == ["S", "D"]
    assert take.operand("S").strides == (StrideRule(fixed_bytes=16), StrideRule(fixed_bytes=2))
    assert take.operand("S").align_bytes == 1
    free_rows = StrideRule(multiple_bytes=8, may_be_zero=False)
    assert take.operand("D").strides == (free_rows, StrideRule(is_dense=True))
    assert take.operand("D").align_bytes == 16
    outer, inner = take.repeats
    assert (outer.name, outer.maximum, inner.name, inner.maximum) == ("outer", 16, "inner", 4)
    assert outer.strides == (StrideRule(), StrideRule(is_dense=True))
    assert inner.strides == (StrideRule(fixed_bytes=0), StrideRule(maximum_bytes=1024))
    assert take.immediates == (ImmediateRule("bias", -8, 127),)
    assert take.semantics.immediates == ("bias",)
    assert take.asm_form == CTemplate(("take ", OperandHole("S")))
    assert take.c_form == CForm(CTemplate(("take();",)))


def test_times_know_parameters_extents_and_repeats(spec: Path) -> None:
    take = load_hardware(spec).instruction("take")
    values = {"r": 3, "c": 4, "outer": 5, "inner": 2}
    assert take.issue_cycles.evaluate(values) == 30
    assert take.latency_cycles.evaluate(values) == 46
    assert take.accumulate_cycles is not None
    assert take.accumulate_cycles.evaluate(values) == 1
    assert take.energy_pj is not None
    assert take.energy_pj.evaluate_exact(values) == 4500


def test_latency_is_the_issue_time_if_left_out_and_sync_has_no_statement(spec: Path) -> None:
    wait = load_hardware(spec).instruction("wait")
    assert wait.latency_cycles == wait.issue_cycles
    assert wait.is_sync
    assert wait.semantics.statements == ()


def test_machines_that_differ_in_one_rule_or_time_have_other_hashes(spec: Path) -> None:
    """Else every look-up among such machines, as of a sweep, would compare them in depth."""
    hw = load_hardware(spec)
    first, *rest = hw.instructions
    other = hw.instruction("wait").issue_cycles
    assert other != first.issue_cycles
    rule = replace(first.operands[0], align_bytes=64)
    for changed in (
        replace(first, issue_cycles=other),
        replace(first, latency_cycles=other),
        replace(first, operands=(rule, *first.operands[1:])),
    ):
        assert hash(replace(hw, instructions=(changed, *rest))) != hash(hw)


def test_positions_lead_back_into_the_file(spec: Path) -> None:
    take = load_hardware(spec).instruction("take")
    assert take.loc is not None
    assert take.loc.text == "  take:"
    (statement,) = take.semantics.statements
    assert statement.loc is not None
    assert statement.loc.text.strip() == "D[r, c] += S[r, c] + bias"
    lines = spec.read_text().split("\n")
    assert lines[statement.loc.line - 1] == statement.loc.text
    assert statement.loc.text[statement.loc.column - 1] == "D"


def test_yaml_1_2_words_are_text(tmp_path: Path, spec: Path) -> None:
    file = tmp_path / "words.yaml"
    file.write_text(spec.read_text().replace("name: demo", "name: off"))
    assert load_hardware(file).name == "off"


def test_an_alias_repeats_an_entry(tmp_path: Path, spec: Path) -> None:
    file = tmp_path / "alias.yaml"
    text = spec.read_text().replace("  give:", "  give: &give")
    file.write_text(text + "  again: *give\n")
    hw = load_hardware(file)
    assert hw.instruction("again").extents == hw.instruction("give").extents


def test_importing_the_package_loads_no_reader() -> None:
    code = "import sys, isamap.hwdesc; print({'pydantic', 'yaml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
