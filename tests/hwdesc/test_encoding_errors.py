"""Mistakes in what a hardware file says about binary programs: message, place, hint."""

import pytest

from isamap.hwdesc import check_hardware
from tests.hwdesc.coded_spec import CODED

CASES = (  # text, what replaces it, where the caret stands, message, hint
    ("count: 8-15\n", "count: 15-8\n", "15-8", "'15-8' is not between 1 and 64 bits", "first bit"),
    ("count: 8-15\n", "count: 8..15\n", "8..15", "'8..15' is no place of bits", "w1 16-31"),
    ("count: 8-15\n", "count: 6-15\n", "6-15", "fields 'push' and 'count' share bits", "move one"),
    ("w2 0-7\n", "w4 0-7\n", "w4", "field 'stride' ends at bit 71, 'move' has 64 bits", "w1"),
    ("pops: [free, filled]}", "pops: [fre]}", "fre]", "unknown channel 'fre'", "'free'"),
    ("code: 5, local", "cod: 5, local", "cod", "format 'move' has no field 'cod'", "code, which"),
    ("code: 5, local", "pop: 1, local", "pop", "field 'pop' counts tokens and takes", "remove it"),
    ("code: 5, local", "code: 16, local", "16", "field 'code' holds 0 to 15, not 16", "correct"),
    ("local: S / 4", "local: T / 4", "T / 4", "unknown name 'T'", "known names: S"),
    ("local: S / 4", "local: S * D", "S * D", "'S * D' is not a sum of multiples", "(base + S)"),
    ("local: S / 4", "local: 'S /'", "S /", "cannot read 'S /'", "a value is"),
    ("which: [0, 1]", "which: [0]", "[0]", "1 values for 2 copies of a state", "per copy"),
    ("which: [0, 1], ", "", "bits", "the bits do not say which copy of its state", "a list"),
    ("{step: S.r / 4}", "{stop: 1}", "1", "unknown register 'stop'", "'step'"),
    ("obeys: {pitch: {step: S.r / 4}}", "obeys: {pich: {}}", "{}", "unknown state 'pich'", "pitch"),
    (", count: r - 1", "", "bits", "the bits of 'load' do not determine 'r'", "give it a field"),
    ("code: 6", "code: 15", "bits", "'end' and 'wait_alu' may be written with", "a constant"),
    ("default: 4096", "default: 4097", "4097", "the base address 4097 is no multiple of 4", "one"),
    (
        "      unit: alu\n      load",
        "      unit: dma\n      load",
        "places",
        "unit 'dma' loads",
        "order",
    ),
    ("places: {set", "place: {set", "{set", "unknown table 'place'", "'places'"),
    ("format: step, set: {code: 6}", "format: stop", "stop", "unknown format 'stop'", "'step'"),
)


@pytest.mark.parametrize(("old", "new", "at", "message", "hint"), CASES)
def test_a_mistake_is_named_where_it_is(old, new, at, message, hint, tmp_path):
    text = CODED.replace(old, new, 1)
    assert text != CODED
    file = tmp_path / "coded.yaml"
    file.write_text(text)
    errors = [e for e in check_hardware(file) if e.message.startswith(message)]
    assert len(errors) == 1, [str(error) for error in check_hardware(file)]
    error = errors[0]
    assert hint in error.hint, error.hint
    assert error.loc is not None and error.loc.text[error.loc.column - 1 :].startswith(at)


SUM = """\
  sum:
    semantics: |
      X, Y = In(i8, dim), InOut(i32, dim)
      for n in range(dim):
        Y[n] += i32(X[n])
    extents: {n: at_most}
    operands: {X: dram, Y: sram}
    unit: alu
    issue: n cycles
    emit:
      bits:
        chain: Y
        commands:
          - only: {chain: earlier}
            format: move
            set: {code: 7, which: 0, count: n, far: base + X}
          - only: {chain: last}
            format: move
            set: {code: 7, which: 1, count: n, far: base + X, local: Y / 4}
          - only: {chain: later}
            format: step
            set: {code: 8}
    source: estimate
"""
CHAINS = (
    ("chain: Y", "chain: Z", "Z", "unknown operand 'Z'", "there are: X, Y"),
    ("chain: Y", "chain: X", "X", "'X' is no sum of integers", "added later"),
    ("Y[n] += i32(X[n])", "Y[n] = i32(X[n])", "Y", "'Y' is no sum of integers", "added later"),
    ("i32", "f32", "Y", "'Y' is no sum of integers", "only such sums"),
    ("X: dram", "X: sram", "Y", "a call of a chain has no repeats, and no other", "of its own"),
    ("chain: later", "chain: new", "new", "unknown case 'new'", "first, later, last, earlier"),
    ("        chain: Y\n", "", "earlier", "unknown latched operand 'chain'", "there are: none"),
)


@pytest.mark.parametrize(("old", "new", "at", "message", "hint"), CHAINS)
def test_a_mistake_about_a_chain_is_named(old, new, at, message, hint, tmp_path):
    file = tmp_path / "coded.yaml"
    file.write_text(CODED + SUM)
    assert not check_hardware(file)
    file.write_text(CODED + SUM.replace(old, new))
    found = [e for e in check_hardware(file) if e.message.startswith(message)]
    assert found, [str(error) for error in check_hardware(file)]
    assert hint in found[0].hint, found[0].hint
    assert found[0].loc is not None and found[0].loc.text[found[0].loc.column - 1 :].startswith(at)


def test_bits_without_an_encoding_are_refused(tmp_path):
    start, end = CODED.index("encoding:"), CODED.index("instructions:")
    file = tmp_path / "coded.yaml"
    file.write_text(CODED[:start] + CODED[end:])
    messages = [error.message for error in check_hardware(file)]
    assert "there is a 'state', but no 'encoding'" in messages
    assert "there are bits, but no 'encoding'" in messages


def test_the_file_itself_is_right(tmp_path):
    file = tmp_path / "coded.yaml"
    file.write_text(CODED)
    assert check_hardware(file) == ()
