"""Mistakes in instructions and between parts of a machine: message, place, hint."""

from pathlib import Path

import pytest

from isamap.errors import SpecErrors
from isamap.hwdesc import load_hardware
from tests.hwdesc.tiny_spec import TINY, Case, check_case, errors_of

CASES = (
    Case("factor: {min", "dim: {min", "dim:", "the name 'dim' is taken", "share one name space"),
    Case("factor: {min", "a-b: {min", "a-b:", "'a-b' is not a name", "use letters"),
    Case("{times: {at", "{t-s: {at", "t-s", "'t-s' is not a name", "use letters"),
    Case(
        "kind: managed", "kind: cache", "sram, s", "'D' cannot live in the cache 'sram'", "managed"
    ),
    Case(
        "kind: managed",
        "kind: managed\n    rushed: 0.5",
        "rushed:",
        "only caches have 'rushed'",
        "other memories hold what the program puts there",
    ),
    Case(
        "  sram:\n",
        "  l1: {kind: cache, size: 1 KiB, granule: 64 bytes, split: 1 cycle, source: estimate}\n"
        "  l2: {kind: cache, size: 9 KiB, granule: 64 bytes, aliased: 1 cycle, source: estimate}\n"
        "  sram:\n",
        "aliased:",
        "only the nearest cache has 'aliased'",
        "the smallest one serves the calls: say it of 'l1'",
    ),
    # instructions
    Case("X[n] = X[n] * factor", "X[n] = Z[n] * factor", "Z[n]", "", ""),
    Case(
        "{X: sram}",
        "{X: sram, Y: sram}",
        "Y",
        "the semantics has no buffer 'Y'",
        "the semantics has: X",
    ),
    Case(
        "{S: sram, D: dram}",
        "{S: sram}",
        "operands",
        "'operands' of 'store' lacks buffer 'D'",
        "add an entry",
    ),
    Case(
        "    operands: {X: sram}\n",
        "",
        "scale:",
        "'operands' of 'scale' lacks buffer 'X'",
        "add an entry to 'operands'",
    ),
    Case(
        "{n: exactly}",
        "{n: exactly, m: exactly}",
        "m:",
        "the semantics has no loop 'm'",
        "the semantics has: n",
    ),
    Case(
        "    extents: {n: exactly}\n",
        "",
        "store:",
        "'extents' of 'store' lacks loop 'n'",
        "add an entry to 'extents'",
    ),
    Case(
        "{n: {multiple_of: 2}}",
        "{n: {multiple_of: 3}}",
        "3",
        "the largest extent of 'n', 4, is no multiple of 3",
        "change one",
    ),
    Case(
        "strides: [free]",
        "strides: [free, 4 bytes]",
        "[free, 4",
        "'S' has 1 dimensions, but 2 strides",
        "one stride per dimension",
    ),
    Case(
        "{X: {multiple_of: 4 bytes, at_most: 64 bytes}}",
        "{Q: dense, X: dense}",
        "Q",
        "the semantics has no buffer 'Q'",
        "the semantics has: X",
    ),
    Case(
        "{X: {multiple_of: 4 bytes, at_most: 64 bytes}}",
        "{}",
        "strides:",
        "'strides' of 'scale' lacks buffer 'X'",
        "add an entry",
    ),
    Case("repeat: {times:", "repeat: {n:", "n:", "the name 'n' is taken", "share one name space"),
    Case(
        "{min: 0, max: 15}",
        "{min: 16, max: 15}",
        "{min",
        "immediate 'factor': min 16 is above max 15",
        "swap",
    ),
    Case(
        "{min: 0, max: 15}",
        "{type: f33, min: 0, max: 15}",
        "f33",
        "'f33' is no choice for 'type'",
        "did you mean 'f32'?",
    ),
    Case("max: 15}", "max: 1.5}", "1.5", "'1.5' must be a whole number", ""),
    Case(
        "{min: 0, max: 15}",
        "{type: f32, min: 0, max: 1e39}",
        "1e39}",
        "'1e+39' must be a finite number of type f32",
        "",
    ),
    Case("{min: 0, max: 15}", "{type: f32, min: low, max: 1}", "low", "unknown name 'low'", ""),
    Case(
        "{min: 0, max: 15}",
        "{type: f32, min: 0, max: 15}",
        "f32",
        "immediate 'factor' is f32, the semantics uses it as i32",
        "leave out 'type'",
    ),
    Case(
        "{min: 0, max: 15}",
        "{type: f32, min: 2.5, max: 1e0}",
        "{type",
        "immediate 'factor': min 2.5 is above max 1.0",
        "swap",
    ),
    Case(
        '"st"}',
        '"st"}\n    is_sync: true',
        "semantics",
        "a sync instruction has no 'semantics'",
        "remove 'is_sync'",
    ),
    Case(
        TINY[TINY.index("    semantics: |\n      X") : TINY.index("    extents: {n: {m")],
        "",
        "scale:",
        "instruction 'scale' has no 'semantics'",
        "say what it computes",
    ),
    Case(
        "semantics: |\n      X",
        "semantics: >\n      X",
        ">",
        "semantics of several lines must be a block",
        "write 'semantics: |'",
    ),
    Case(
        "        X[n] = X[n] * factor",
        "        X[n] = X[n] * factor\n      for n in range(2):\n        X[n] = 0",
        "extents:",
        "'extents' of 'scale' lacks loop 'n_2'",
        "'n_2' is a further loop of that name",
    ),
    # rules between parts
    Case(
        "kind: external",
        "kind: cache",
        "memories",
        "no memory has kind 'external'",
        "inputs and outputs",
    ),
    Case(
        "kind: managed",
        "kind: external",
        "external",
        "second external memory 'sram', the first is 'dram'",
        "inputs and outputs",
    ),
    Case(
        "size: 1 KiB",
        "size: 1023 bytes",
        "1023",
        "the size of 'sram', 1023 bytes, is no multiple of its granule, 4 bytes",
        "change one",
    ),
    Case(
        "{memory: sram, strides: [4 bytes]}",
        "{memory: sram, align: 2 bytes}",
        "2 bytes",
        "alignment of 'D', 2 bytes, is no multiple of the granule of 'sram', 4 bytes",
        "write for example 'align: 4 bytes'",
    ),
    Case(
        "[4 bytes]",
        "[512 bytes]",
        "D:",
        "'D' needs 1540 bytes, 'sram' has 1024 bytes",
        "lower the extents",
    ),
    Case(
        "ports: {read:",
        "ports: {both: 1 B/cycle, read:",
        "both",
        "'both' excludes 'read' and 'write'",
        "one shared port",
    ),
    Case(
        "issue: dim cycles",
        "issue: dim - 4 cycles",
        "dim - 4",
        "issue is 0 cycles, expected at least 1, when n = 4",
        "correct",
    ),
    Case(
        "latency: 2 + n * times",
        "latency: 12 + n",
        "12 + n",
        "latency is 14 cycles, less than issue, 16 cycles, when n = 2, times = 8",
        "correct",
    ),
    Case(
        "accumulate: 1 cycle",
        "accumulate: 2 - n cycles",
        "2 - n",
        "accumulate is -2 cycles, below 0, when n = 4, times = 1",
        "correct",
    ),
    Case(
        "issue: n cycles",
        "issue: n cycles\n    accumulate: 1 cycle",
        "accumulate: 1",
        "'accumulate' of 'load' counts for nothing: it updates nothing",
        "when the next call may update the same elements again",
    ),
    Case(
        "  sram:\n",
        "  lost: {kind: managed, size: 4 bytes, source: estimate}\n  sram:\n",
        "lost",
        "no instructions bring data from 'dram' into memory 'lost'",
        "writes 'lost'",
    ),
    Case(
        "D: dram}",
        "D: sram}",
        "sram:",
        "no instructions bring data from memory 'sram' to 'dram'",
        "reads 'sram'",
    ),
    Case(
        "units: {dma",
        "channels: {a: {from: dma, to: matrix, depth: 1}}\nunits: {dma",
        "channels",
        "channels need token synchronisation",
        "write 'synchronisation: tokens'",
    ),
    Case("interlocked", "tokens", "tokens", "token synchronisation needs channels", "list them"),
    Case(
        "interlocked",
        "tokens\nchannels: {a: {from: dam, to: matrix, depth: 1}}",
        "dam",
        "unknown unit 'dam'",
        "did you mean 'dma'?",
    ),
    Case(
        "interlocked",
        "tokens\nchannels: {a: {from: dma, to: mtrix, depth: 1}}",
        "mtrix",
        "unknown unit 'mtrix'",
        "did you mean 'matrix'?",
    ),
    Case(
        "interlocked",
        "tokens\nchannels: {a: {from: dma, to: dma, depth: 1}}",
        "a:",
        "channel 'a' begins and ends at 'dma'",
        "in order without tokens",
    ),
    Case(
        "interlocked",
        "tokens\nchannels: {a: {from: dma, to: matrix, depth: 1}}",
        "a:",
        "no instruction on unit 'dma' only carries tokens",
        "add wait_dma: {is_sync: true, unit: dma, ",
    ),
)
WITH_HOST = """
host: {unit: core, start: 9 cycles, operation: 1 cycle, source: estimate}
channels:
  there: {from: dma, to: matrix, depth: 4}
  back: {from: matrix, to: dma, depth: 4}
  asked: {from: core, to: dma, depth: 4}
  done: {from: matrix, to: core, depth: 4}
instructions:
  wait_dma: {is_sync: true, unit: dma, issue: 1 cycle, source: estimate}
  wait_matrix: {is_sync: true, unit: matrix, issue: 1 cycle, source: estimate}
  wait_core: {is_sync: true, unit: core, issue: 1 cycle, source: estimate}
"""


@pytest.mark.parametrize(
    ("channel", "message", "hint"),
    [
        ("  asked: {from: core, to: dma, depth: 4}\n",
         "no channels lead from the host's unit 'core' to 'dma', 'matrix'",
         "add core_to_dma: {from: core, to: dma, depth: 1}"),
        ("  done: {from: matrix, to: core, depth: 4}\n",
         "no channels lead to the host's unit 'core' from 'dma', 'matrix'",
         "add dma_to_core: {from: dma, to: core, depth: 1}"),
    ],
)  # fmt: skip
def test_tokens_reach_the_host_and_come_from_it(
    channel: str, message: str, hint: str, tmp_path: Path
) -> None:
    text = TINY.replace("interlocked", "tokens").replace("\ninstructions:\n", WITH_HOST)
    text = text.replace("units: {", "units: {core: {}, ")
    assert errors_of(text, tmp_path) == ()
    (error,) = errors_of(text.replace(channel, ""), tmp_path)
    assert error.message == message
    assert error.hint.startswith(hint)
    assert error.loc is not None
    assert error.loc.text[error.loc.column - 1 :].startswith("core")


FLOAT_FACTOR = TINY.replace("X[n] * factor", "i32(f16(X[n]) * factor)")


def test_a_float_immediate_has_the_type_that_the_semantics_wants(tmp_path: Path) -> None:
    right = FLOAT_FACTOR.replace("{min: 0, max: 15}", "{type: f16, min: -dim / 8, max: 1e3}")
    assert errors_of(right, tmp_path) == ()
    (error,) = errors_of(right.replace("type: f16", "type: f32"), tmp_path)
    assert error.message == "immediate 'factor' is f32, the semantics uses it as f16"
    assert error.hint == "write 'type: f16'"
    assert error.loc is not None and error.loc.text[error.loc.column - 1 :].startswith("f32")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.message or case.new)
def test_a_mistake_is_reported_once_with_place_and_hint(case: Case, tmp_path: Path) -> None:
    check_case(case, tmp_path)


def test_wrong_semantics_hide_no_other_mistakes(tmp_path: Path) -> None:
    text = TINY.replace("X[n] * factor", "X[m] * factor").replace("{X: sram}", "{X: srm}")
    text = text.replace("issue: n * times cycles", "issue: n * times")
    found = errors_of(text, tmp_path)
    assert [e.loc.line for e in found if e.loc] == [31, 33, 37]


def test_the_unchanged_file_is_right(tmp_path: Path) -> None:
    assert errors_of(TINY, tmp_path) == ()


def test_all_errors_come_at_once_sorted_by_position(tmp_path: Path) -> None:
    text = TINY.replace("size: 1 KiB", "size: 1024").replace("unit: matrix", "unit: matrx")
    text = text.replace("issue: dim cycles", "issue: dmi cycles")
    found = errors_of(text, tmp_path)
    assert [e.loc.line for e in found if e.loc] == [9, 36, 50]
    with pytest.raises(SpecErrors) as caught:
        load_hardware(tmp_path / "tiny.yaml")
    assert [str(e) for e in caught.value.errors] == [str(e) for e in found]
    assert str(caught.value).count("hint:") == 3
