"""Machines with several cores: what loads, and every mistake with its place and hint."""

from pathlib import Path

import pytest

from isamap.hwdesc import Cores, load_hardware
from tests.hwdesc.tiny_spec import TINY, errors_of

GRID = "{row: 2, column: 3}"
CORES = f"""\
cores:
  grid: {GRID}
  memories: [sram]
  units: [matrix]
  source: estimate
"""
MANY = TINY.replace("instructions:\n", CORES + "instructions:\n  spread_load: LOAD\n", 1)
LOAD = """
    semantics: |
      S, D = In(i32, dim), Out(i32, dim)
      for n in range(dim):
        D[n] = S[n]
    extents: {n: at_most}
    operands:
      S: {memory: dram, strides: [free]}
      D: {memory: sram, strides: [4 bytes]}
    unit: dma
    multicast: [row]
    issue: n cycles
    source: estimate"""
MANY = MANY.replace(" LOAD", LOAD)

MISTAKES = (
    ("[sram]", "[sram, srem]", "srem", "unknown memory 'srem'", "did you mean 'sram'?"),
    ("[sram]", "[sram, sram]", "sram]", "'sram' is listed twice", "name each once"),
    ("[sram]", "[dram]", "dram", "the external memory 'dram' cannot be one per core", "external"),
    ("[matrix]", "[matrx]", "matrx", "unknown unit 'matrx'", "did you mean 'matrix'?"),
    ("[matrix]", "[matrix, dma]", "[row]", "multicast 'spread_load' runs on 'dma', one", "share"),
    (f"grid: {GRID}", "count: 0", "0", "'0' must be a whole number, at least 1", ""),
    (f"grid: {GRID}", "count: 4097", "4097", "4097 cores, at most 4096 can be", "fewer"),
    (f"  grid: {GRID}\n", "", "cores:", "'cores' needs one of 'count' and 'grid'", "count: 4"),
    (GRID, "{a-b: 2}", "a-b", "axis 'a-b' is not a name", "letters"),
    ("multicast: [row]", "multicast: [rows]", "[rows]", "unknown axis 'rows'", "'row'"),
    (
        "{memory: sram, strides",
        "{memory: dram, strides",
        "{memory: dram, strides: [4",
        "multicast 'spread_load' writes the shared memory 'dram'",
        "memories of each core",
    ),
    (
        "{memory: dram, strides",
        "{memory: sram, strides",
        "{memory: sram, strides: [free",
        "multicast 'spread_load' reads the private memory 'sram'",
        "memories that all cores share",
    ),
    (
        "    extents: {n: at_most}",
        "    extents: {n: exactly}",
        "[row]",
        "no instruction does for one core what multicast 'spread_load' does",
        "add one with the same semantics",
    ),
    (CORES, "", "[row]", "'spread_load' is multicast on a machine without cores", "describe them"),
)


def load_text(text: str, folder: Path) -> Path:
    """The file with this text."""
    file = folder / "many.yaml"
    file.write_text(text)
    return file


def test_a_grid_of_cores_loads(tmp_path: Path) -> None:
    hw = load_hardware(load_text(MANY, tmp_path))
    assert hw.cores == Cores((("row", 2), ("column", 3)), ("sram",), ("matrix",), "estimate")
    assert hw.num_cores == 6
    assert hw.cores.steps == (("row", 3), ("column", 1))
    assert [hw.num_copies(name) for name in ("sram", "matrix", "dram", "dma")] == [6, 6, 1, 1]
    assert hw.instruction("spread_load").multicast == ("row",)
    assert load_hardware(load_text(TINY, tmp_path)).num_cores == 1


def test_a_count_of_cores_has_one_axis(tmp_path: Path) -> None:
    text = MANY.replace(f"grid: {GRID}", "count: dim").replace("[row]", "all")
    hw = load_hardware(load_text(text, tmp_path))
    assert hw.cores is not None
    assert hw.cores.axes == (("core", 4),)
    assert hw.instruction("spread_load").multicast == ("core",)


@pytest.mark.parametrize(("old", "new", "at", "message", "hint"), MISTAKES)
def test_mistakes_in_cores(
    old: str, new: str, at: str, message: str, hint: str, tmp_path: Path
) -> None:
    text = MANY.replace(old, new, 1)
    assert text != MANY
    errors = errors_of(text, tmp_path)
    matching = [error for error in errors if error.message.startswith(message)]
    assert matching, [str(error) for error in errors]
    error = matching[0]
    assert hint in error.hint
    assert error.loc is not None
    assert error.loc.text[error.loc.column - 1 :].startswith(at)


def test_instances_are_counted_on_all_cores(tmp_path: Path) -> None:
    most = MANY.replace(f"grid: {GRID}", "count: 4096").replace("[row]", "all")
    most = most.replace("matrix: {count: 1}", "matrix: {count: 4}")
    assert errors_of(most, tmp_path) == ()
    (error,) = errors_of(most.replace("matrix: {count: 4}", "matrix: {count: dim + 1}"), tmp_path)
    assert error.message == "20480 of unit 'matrix' on 4096 cores, at most 16384 can be"
    assert error.hint == "describe fewer"
    assert error.loc is not None
    assert error.loc.text[error.loc.column - 1 :].startswith("dim + 1")


def test_the_host_is_shared(tmp_path: Path) -> None:
    host = "host: {unit: matrix, start: 1 cycle, operation: 1 cycle, source: estimate}\n"
    errors = errors_of(host + MANY, tmp_path)
    assert [error.message for error in errors] == [
        "the host's unit 'matrix' cannot be one per core"
    ]
