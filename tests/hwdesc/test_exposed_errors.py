"""Mistakes in what concerns machines that do not wait: message, place, hint."""

from pathlib import Path

import pytest

from isamap.hwdesc import Which, check_hardware, continued_by, load_hardware, opened_by
from tests.hwdesc.tiny_spec import TINY, Case, check_case

MACHINES = Path(__file__).parents[1] / "emulator" / "machines"
DISTANCE = "distances: [{from: load, to: scale, cycles: 2 * n cycles, source: estimate}]\n"
EXPOSED = "synchronisation: exposed\nissue_width: 2\n" + DISTANCE
KIND = "synchronisation: interlocked\n"
CASES = (
    Case(KIND, KIND + "issue_width: 1\n", "issue_width", "'issue_width' needs exposed", "exposed"),
    Case(KIND, KIND + DISTANCE, "distances", "'distances' needs exposed timing", "remove it"),
    Case(KIND, EXPOSED.replace("width: 2", "width: 0"), "0", "'0' must be a whole number", ""),
    Case(KIND, EXPOSED.replace("load", "lod"), "lod", "unknown instruction 'lod'", "load"),
    Case(KIND, EXPOSED.replace("scale", "x"), "x", "unknown instruction 'x'", "there are: load"),
    Case(KIND, EXPOSED.replace("* n", "* m"), "m", "unknown name 'm'", "known names: n, dim"),
    Case(
        KIND,
        EXPOSED.replace("cycles:", "when: new_entry, cycles:"),
        "load",
        "'load' reads no entry of a fifo memory",
        "write 'when: always'",
    ),
    Case(KIND, EXPOSED.replace("to:", "when: never, to:"), "never", "'never' is no choice", ""),
    Case(
        "    emit: {asm",
        "    stream: m\n    emit: {asm",
        "m",
        "unknown loop 'm'",
        "there are: n",
    ),
    Case(
        "    emit: {asm",
        "    stream: {loop: n, every: 2 cycles}\n    emit: {asm",
        "stream",
        "issue is 4 cycles when n = 4, and its last iteration begins after 6 cycles",
        "lengthen 'issue'",
    ),
    Case(
        "    emit: {asm",
        "    stream: {loop: n, every: 1 / 2 cycles}\n    emit: {asm",
        "1 / 2 cycles",
        "'1 / 2 cycles' must be a whole number of cycles",
        "",
    ),
    Case(
        KIND,
        EXPOSED.replace("2 * n", "1 - n"),
        "1 - n",
        "the distance is -3 cycles, below 0, when n = 4",
        "correct the expression",
    ),
    Case(
        "granule: 4 bytes\n",
        "granule: 4 bytes\n    fifo: {}\n",
        "D:",
        "'D' must lie within one entry of 'sram'",
        "reach 4 bytes at most",
    ),
    Case(
        "granule: 4 bytes\n",
        "granule: 16 bytes\n    fifo: {within: 3 cycles}\n",
        "repeat",
        "'X' is an entry, which a repeat would move",
        "remove the repeat",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.message[:40] + case.at)
def test_mistakes_are_explained_where_they_are(case: Case, tmp_path: Path) -> None:
    check_case(case, tmp_path)


def test_a_call_touches_one_entry(tmp_path: Path) -> None:
    text = (MACHINES / "tiny_exposed.yaml").read_text()
    case = Case(
        "A: {memory: rows, strides: [4 bytes, 1 byte]}",
        "A: {memory: tiles, strides: [4 bytes, 1 byte]}",
        "operands",
        "'mul' touches two entries, 'A' and 'W'",
        "a call may touch one",
    )
    file = tmp_path / "tiny.yaml"
    file.write_text(text.replace(case.old, case.new, 1))
    assert case.message in [error.message for error in check_hardware(file)]


def test_what_a_machine_without_interlocks_says(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(TINY.replace(KIND, EXPOSED))
    hw = load_hardware(file)
    (distance,) = hw.distances
    assert (hw.issue_width, distance.which) == (2, Which.ALWAYS)
    assert distance.cycles.evaluate({"n": 3}) == 6
    exposed = load_hardware(MACHINES / "tiny_exposed.yaml")
    tiles = exposed.memory("tiles").fifo
    assert tiles is not None
    assert tiles.within_cycles == 14
    stream = exposed.instruction("mul").stream
    assert stream is not None
    assert (stream.loop, stream.every_cycles) == ("l", 1)
    assert exposed.entry_operand(exposed.instruction("mul")) == "W"
    assert exposed.entry_operand(exposed.instruction("fetch")) is None, "it writes one"


def test_a_stream_is_checked_at_the_extents_that_calls_may_have(tmp_path: Path) -> None:
    """Calls of 4 or 8 rows in 2 l - 3 cycles: one of a single row, in none, is not made."""
    text = (MACHINES / "tiny_exposed.yaml").read_text()
    _, mul = text.split("  mul:\n")
    rules = mul.replace("l: at_most", "l: {multiple_of: 4}", 1)
    for issue, mistakes in (
        ("2 * l - 3", []),
        (
            "2 * l - 5",
            ["issue is 3 cycles when l = 4, and its last iteration begins after 3 cycles"],
        ),
    ):
        file = tmp_path / f"stream_{len(mistakes)}.yaml"
        file.write_text(text.replace(mul, rules.replace("l + 1 cycles", f"{issue} cycles", 1)))
        assert [error.message for error in check_hardware(file)] == mistakes


def test_sums_are_begun_by_the_instruction_that_computes_the_same_onto_zeros() -> None:
    hw = load_hardware(MACHINES / "tiny_exposed.yaml")
    first, then = hw.instruction("mul_first"), hw.instruction("mul")
    assert opened_by(then, hw) == first
    assert continued_by(first, hw) == then
    for other in ("get", "mul"):
        assert continued_by(hw.instruction(other), hw) == hw.instruction(other)


def test_start_cycles_are_those_of_one_core(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    cores = "cores: {count: 2, memories: [sram], units: [dma, matrix], source: estimate}\n"
    file.write_text(TINY.replace(KIND, EXPOSED + cores))
    messages = [error.message for error in check_hardware(file)]
    assert "a machine with exposed timing has one core so far" in messages
