"""Renamed registers: a write never waits, a read waits for its last writer (docs/timing.md, 4)."""

from pathlib import Path

import pytest

from isamap.emulator import time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Affine
from isamap.program import Address, Issue, Operand, Placement, Program, Span, natural_layout

VEC4 = Path(__file__).parents[1] / "codegen" / "vec4.yaml"


def machine(folder: Path, *, renamed: bool) -> Hardware:
    """vec4 whose loads take 10 cycles, with or without renaming."""
    text = VEC4.read_text().replace("renamed: true", f"renamed: {str(renamed).lower()}")
    text = text.replace(
        "    unit: load\n    issue: 1 cycle\n",
        "    unit: load\n    issue: 1 cycle\n    latency: 10 cycles\n",
    )
    (folder / "vec4.yaml").write_text(text)
    return load_hardware(folder / "vec4.yaml")


def call(name: str, **places: tuple[str, int]) -> Issue:
    """One call on whole registers."""
    operands = tuple(
        Operand(operand, memory, Address(Affine((), at)), (4,))
        for operand, (memory, at) in places.items()
    )
    return Issue(name, operands, (("j", Span(4)),))


def program() -> Program:
    """Two loads into one register, each followed by a store."""
    layout = natural_layout("f32", (4,))
    calls = []
    for number in range(2):
        calls.append(call("load", S=("dram", 64 * number), D=("regs", 0)))
        calls.append(call("store", S=("regs", 0), D=("dram", 128 + 64 * number)))
    inputs = (Placement("A", 0, layout), Placement("B", 64, layout))
    outputs = (Placement("C", 128, layout), Placement("D", 192, layout))
    return Program("two", "vec4", inputs, outputs, tuple(calls))


@pytest.mark.parametrize("compiled", [False, None])
@pytest.mark.parametrize("renamed, cycles", [(False, 10 + 1 + 10 + 1), (True, 1 + 10 + 1)])
def test_a_second_load_waits_for_the_first_store_only_without_renaming(
    renamed: bool, cycles: int, compiled: bool | None, tmp_path: Path
) -> None:
    hw = machine(tmp_path, renamed=renamed)
    assert time_program(program(), hw, compiled=compiled).cycles == cycles
