"""Mistakes in YAML, keys, quantities and names: message, place, hint."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from isamap.hwdesc import check_hardware
from isamap.hwdesc.schema import HardwareModel
from isamap.hwdesc.validate import MODELS
from tests.hwdesc.tiny_spec import TINY, Case, check_case, errors_of

CASES = (
    Case("name: tiny", "name: a: b", ": b", "not valid YAML: mapping values are not", "in quotes"),
    Case("name: tiny", "name: *b", "*b", "not valid YAML: found undefined alias", "in quotes"),
    Case("name: tiny", "name: \0", "\0", "not valid YAML: a character that YAML", "remove it"),
    # shape
    Case(
        "count: 1",
        "cuont: 1",
        "cuont",
        "unknown key 'cuont' in unit 'matrix'",
        "did you mean 'count'?",
    ),
    Case(
        "latency:",
        "latncy:",
        "latncy",
        "unknown key 'latncy' in instruction 'scale'",
        "did you mean 'latency'?",
    ),
    Case(
        "name: tiny",
        "nam: x\nname: tiny",
        "nam: x",
        "unknown key 'nam' in hardware file",
        "did you mean 'name'?",
    ),
    Case("read: 4", "raed: 4", "raed", "unknown key 'raed' in ports", "did you mean 'read'?"),
    Case(
        "    unit: matrix\n",
        "    unit: matrix\n    unit: dma\n",
        "unit: dma",
        "duplicate key 'unit', first on line 36",
        "remove or rename",
    ),
    Case(
        "    source: estimate\n  store",
        "  store",
        "scale:",
        "instruction 'scale' has no 'source'",
        "document and section",
    ),
    Case(
        ", source: estimate}",
        "}",
        "dram:",
        "memory 'dram' has no 'source'",
        "a guess says 'estimate'",
    ),
    Case(
        "parameters:",
        "host: {unit: dma, start: 1 cycle, operation: 1 cycle}\nparameters:",
        "host:",
        "host has no 'source'",
        "a guess says 'estimate'",
    ),
    Case("clock: 1 GHz\n", "", "name: tiny", "hardware file has no 'clock'", "The one clock"),
    Case(
        "kind: managed",
        "kind: managd",
        "managd",
        "'managd' is no choice for 'kind'",
        "did you mean 'managed'? one of: external, managed, cache",
    ),
    Case(
        "{n: exactly}",
        "{n: exact}",
        "exact",
        "'exact' is no choice for 'n'",
        "did you mean 'exactly'?",
    ),
    Case(
        "{n: exactly}",
        "{n: {}}",
        "{}",
        "the extent of 'n' needs one rule",
        "write exactly, at_most or",
    ),
    Case("{n: exactly}", "n", "n", "'extents' must be a mapping", "Each loop of the semantics"),
    Case(
        "strides: [free]", "strides: free", "free", "'strides' must be a list", "One per dimension"
    ),
    Case(
        "unit: matrix\n",
        "unit: [matrix]\n",
        "[matrix]",
        "'unit' must be text",
        "The unit that executes it",
    ),
    Case(
        "matrix: {count: 1}",
        "matrix: {count: [1]}",
        "[1]",
        "'count' must be a whole number",
        "How many identical ones",
    ),
    Case(
        "factor: {min: 0, max: 15}",
        "factor: {min: [0], max: 15}",
        "[0]",
        "'min' must be a number",
        "Smallest value",
    ),
    Case(
        "{dma: {}, matrix: {count: 1}}",
        "{dma: {cuont: 1}}",
        "cuont",
        "unknown key 'cuont' in unit 'dma'",
        "did you mean 'count'?",
    ),
    Case(
        '"st"}', '"st"}\n    is_sync: yes', "yes", "'is_sync' must be true or false", "carry tokens"
    ),
    Case(
        "name: tiny",
        'name: ""',
        '"',
        "'name' must be text that is not empty",
        "Name of the machine",
    ),
    Case(
        "units: {dma: {}, matrix: {count: 1}}",
        "units: {}",
        "{}",
        "'units' must be at least one entry",
        "Units by name",
    ),
    Case(
        "name: tiny",
        "name: !!python/name:os.system",
        "!!python",
        "tag 'tag:yaml.org,2002:python/name:os.system' is not allowed",
        "remove it",
    ),
    Case(
        "name: tiny",
        "name: &a [*a]",
        "&a",
        "an alias repeats itself without end",
        "write the entry out",
    ),
    Case("name: tiny", "? [1]\n: 2\nname: tiny", "[1]", "a key must be plain text", ""),
    Case("name: tiny", "name: [", ": interlocked", "not valid YAML: ", "brackets and quotes"),
    Case(
        "  dram: {",
        "\tdram: {",
        "\tdram",
        "not valid YAML: found character that cannot start any token",
        "indent with spaces",
    ),
    Case(
        "    kind: managed\n",
        "   kind: managed\n",
        ": 1 KiB",
        "not valid YAML: mapping values are not allowed",
        "indent keys of one entry alike",
    ),
    # quantities, numbers, names
    Case(
        "size: 1 KiB",
        "size: 1024",
        "1024",
        "'1024' has no unit, expected a size",
        "units: byte, bytes",
    ),
    Case(
        "size: 1 KiB",
        "size: 0 KiB",
        "0 KiB",
        "'0 KiB' must be a whole number of bytes, at least 1",
        "",
    ),
    Case(
        "size: 1 KiB", "size: 1.5 bytes", "1.5", "'1.5 bytes' must be a whole number of bytes", ""
    ),
    Case("clock: 1 GHz", "clock: 0 GHz", "0 GHz", "'0 GHz' must be more than 0", ""),
    Case(
        "size: 1 KiB",
        "size: 1 KiB\n    shown: 1.5",
        "1.5",
        "'1.5' must be more than 0, and 1 at most",
        "",
    ),
    Case("size: 1 KiB", "size: 1 KiB\n    shown: -1", "-1", "'-1' must be more than 0", ""),
    Case("size: 1 KiB", "size: 1 KiB\n    lost: 0", "0", "'0' must be more than 0", ""),
    Case(
        "size: 1 KiB",
        "size: 1 KiB\n    prefetch: {c: x}",
        "prefetch:",
        "prefetch has no 'ahead'",
        "How long before its use",
    ),
    Case("dim: 4", "dim: 4.5", "4.5", "'4.5' must be a whole number", ""),
    Case("dim: 4", "dim: 1e400", "1e400", "the number 1e400 is too large", "numbers go up to"),
    Case("size: 1 KiB", "size: 1e400 KiB", "1e400 KiB", "the number 1e400 is too", "go up to"),
    Case("dim: 4", "a-b: 4", "a-b", "parameter 'a-b' is not a name", "use letters"),
    Case("count: 1", "count: 0", "0", "'0' must be a whole number, at least 1", ""),
    Case(
        "count: 1",
        "count: 1000000000",
        "1000000000",
        "1000000000 of unit 'matrix', at most 16384 can be",
        "describe fewer",
    ),
    Case("issue: n *", "issue: m *", "m *", "unknown name 'm'", "known names: n, times, dim"),
    Case(
        "energy: 0.5 * n",
        "energy: 0.5 * k",
        "k pJ",
        "unknown name 'k'",
        "known names: n, times, dim",
    ),
    Case(
        "unit: matrix\n", "unit: matrx\n", "matrx", "unknown unit 'matrx'", "did you mean 'matrix'?"
    ),
    Case("{memory: sram,", "{memory: l1,", "l1", "unknown memory 'l1'", "there are: dram, sram"),
    Case(
        "units: {dma: {}",
        "units: {d ma: {}, dma: {}",
        "d ma",
        "'d ma' is not a name",
        "begin with a letter",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.message or case.new)
def test_a_mistake_is_reported_once_with_place_and_hint(case: Case, tmp_path: Path) -> None:
    check_case(case, tmp_path)


def test_files_that_are_no_hardware(tmp_path: Path) -> None:
    (missing,) = check_hardware(tmp_path / "none.yaml")
    assert "none.yaml: No such file" in missing.message
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (binary,) = check_hardware(tmp_path / "binary.yaml")
    assert binary.message.endswith("not UTF-8 text")
    for text in ("", "- a\n", "word\n"):
        (wrong,) = errors_of(text, tmp_path)
        assert wrong.message.endswith("is not a mapping of keys to values" if text else "is empty")
        assert wrong.hint == "begin with 'name: ...'"


def test_aliases_cannot_explode(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 8):
        lines.append(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]")
    messages = [error.message for error in errors_of("\n".join(lines), tmp_path)]
    assert messages.count("more than 200000 entries") == 1
    assert not any("without end" in message for message in messages)


@pytest.mark.parametrize("depth", [120, 900])
def test_entries_within_each_other_have_a_limit(depth: int, tmp_path: Path) -> None:
    errors = errors_of(TINY.replace("name: tiny", f"name: {'[' * depth}{']' * depth}"), tmp_path)
    (error,) = (e for e in errors if e.message == "more than 100 entries within each other")
    assert error.hint == "check brackets"
    assert error.loc is not None and error.loc.column == len("name: ") + 101


def test_errors_know_every_part_of_the_schema() -> None:
    """What no row of `MODELS` stands for would be looked for among the keys of what it is in."""
    named = {model for _, _, model in MODELS}
    assert named == set(_parts(HardwareModel))


def _parts(part: object) -> Iterator[type[BaseModel]]:
    if isinstance(part, type) and issubclass(part, BaseModel):
        yield part
        inner = [field.annotation for field in part.model_fields.values()]
    else:
        inner = list(get_args(part))
    for one in inner:
        yield from _parts(one)
