"""Instructions that are given a float: executed with that value to the last bit.

In: the scaling stores of `hw_specs/gemmini.yaml` in a program by hand. Out: failures. Not its job:
finding such programs.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isamap.emulator import check_program, run
from isamap.errors import ProgramError
from isamap.hwdesc import Hardware, load_hardware
from isamap.program import (
    Issue,
    Operand,
    Placement,
    Program,
    Span,
    from_json,
    listing,
    natural_layout,
    to_json,
)
from tests.emulator.hand_programs import at

EDGES = [
    2**31 - 1,
    -(2**31),
    2**24 + 1,
    2**24 - 1,
    0,
    1,
    -1,
    5,
    15,
    25,
    -5,
    -15,
    127,
    128,
    -128,
    63,
]


@pytest.fixture(scope="module")
def gemmini() -> Hardware:
    """The machine with scaling stores."""
    return load_hardware(Path(__file__).parents[2] / "hw_specs" / "gemmini.yaml")


def program(store: str, scale: float) -> Program:
    """D = requantised S, 2 rows of 8."""
    extents = (("r", Span(2)), ("c", Span(8)))
    inside = Operand("D", "accumulator", at(), (64, 4))
    load = Issue("mvin_acc", (Operand("S", "dram", at(), (32, 4)), inside), extents)
    out = Operand("D", "dram", at(4096), (8, 1))
    done = Issue(store, (replace(inside, name="S"), out), extents, (), (("scale", scale),))
    return Program(
        "scaled",
        "gemmini",
        (Placement("S", 0, natural_layout("i32", (2, 8))),),
        (Placement("D", 4096, natural_layout("i8", (2, 8))),),
        (load, done),
    )


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("store", ["mvout_i8", "mvout_relu_i8"])
@pytest.mark.parametrize("scale", [0.1, 0.5, -0.3, 3.4028234e38, 2.0**-149, 0.0, 1.0, 9.5367e-07])
def test_scaling_rounds_as_f32_does(
    gemmini: Hardware, store: str, scale: float, compiled: bool
) -> None:
    value = float(np.float32(scale))
    whole = np.array(EDGES, np.int32).reshape(2, 8)
    kept = np.maximum(whole, 0) if "relu" in store else whole
    with np.errstate(over="ignore"):
        expected = np.clip(np.rint(kept.astype(np.float32) * np.float32(scale)), -128, 127)
    written = from_json(json.loads(json.dumps(to_json(program(store, value)))))
    assert written == program(store, value)
    assert f"scale=#{value}" in listing(written)
    found = run(written, gemmini, {"S": whole}, compiled=compiled).outputs["D"]
    np.testing.assert_array_equal(found, expected.astype(np.int8))


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (0.1, "immediate 'scale' is 0.1, which is no f32"),
        (1e39, "immediate 'scale' is 1e+39, not in -3.4028234663852886e+38 .. 3.40282346"),
        (float("nan"), "immediate 'scale' is nan, not in"),
    ],
)
def test_what_is_no_such_float_is_refused(gemmini: Hardware, scale: float, message: str) -> None:
    with pytest.raises(ProgramError) as caught:
        check_program(program("mvout_i8", scale), gemmini)
    assert message in caught.value.message


def test_a_float_is_no_integer(gemmini: Hardware) -> None:
    vta = load_hardware(Path(__file__).parents[2] / "hw_specs" / "vta.yaml")
    shift = replace(vta.instruction("alu_shr_imm").immediate("imm"), name="scale")
    store = replace(gemmini.instruction("mvout_i8"), immediates=(shift,))
    kept = tuple(i for i in gemmini.instructions if i.name != "mvout_i8")
    with pytest.raises(ProgramError) as caught:
        check_program(program("mvout_i8", 3.0), replace(gemmini, instructions=(*kept, store)))
    assert "immediate 'scale' is 3.0, which is no integer" in caught.value.message
