"""An instruction of two statements with a temporary between them: executed and timed as one call.

In: `multiply_rescale` of `hw_specs/fused_npu.yaml` in a program by hand. Out: failures. Not its
job: finding such programs.
"""

from pathlib import Path

import numpy as np
import pytest

from isamap.emulator import run, time_program
from isamap.errors import ProgramError
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Role
from isamap.program import Issue, Operand, Placement, Program, Span, natural_layout
from tests.emulator.hand_programs import at

SHIFT = 6
A_AT, B_AT, BIAS_AT, D_AT = 0, 4096, 8192, 12288  # in dram
ROWS_A, ROWS_B, ROWS_D = 0, 2048, 8192  # in the scratchpad


@pytest.fixture(scope="module")
def npu() -> Hardware:
    """The core with the fused instruction."""
    return load_hardware(Path(__file__).parents[2] / "hw_specs" / "fused_npu.yaml")


def copy(name: str, source: Operand, target: Operand, rows: int, columns: int) -> Issue:
    """A call of a two-dimensional copy."""
    return Issue(name, (source, target), (("r", Span(rows)), ("c", Span(columns))))


def program(m: int, n: int, k: int, *, has_bias: bool = True) -> Program:
    """D[m, n] = sat_i8(rshift_round(relu(A[m, k] B[k, n] + bias), SHIFT)) in one call."""
    load_a = [  # columns of A in parts of 16
        copy(
            "load",
            Operand("S", "dram", at(A_AT + first), (k, 1)),
            Operand("D", "scratchpad", at(ROWS_A + first), (64, 1)),
            m,
            min(16, k - first),
        )
        for first in range(0, k, 16)
    ]
    load_b = [
        copy(
            "load",
            Operand("S", "dram", at(B_AT + first * n), (n, 1)),
            Operand("D", "scratchpad", at(ROWS_B + first * 16), (16, 1)),
            min(16, k - first),
            n,
        )
        for first in range(0, k, 16)
    ]
    load_bias = copy(
        "load_sums",
        Operand("S", "dram", at(BIAS_AT), (4 * n, 4)),
        Operand("D", "accumulator", at(), (64, 4)),
        1,
        n,
    )
    fused = Issue(
        "multiply_rescale",
        (
            Operand("A", "scratchpad", at(ROWS_A), (64, 1)),
            Operand("B", "scratchpad", at(ROWS_B), (16, 1)),
            Operand("bias", "accumulator", at(), (4,)),
            Operand("D", "scratchpad", at(ROWS_D), (16, 1)),
        ),
        (("i", Span(m)), ("j", Span(n)), ("k", Span(k))),
        immediates=(("shift", SHIFT),),
    )
    store = copy(
        "store",
        Operand("S", "scratchpad", at(ROWS_D), (16, 1)),
        Operand("D", "dram", at(D_AT), (n, 1)),
        m,
        n,
    )
    return Program(
        "fused",
        "fused_npu",
        (
            Placement("A", A_AT, natural_layout("i8", (m, k))),
            Placement("B", B_AT, natural_layout("i8", (k, n))),
            Placement("bias", BIAS_AT, natural_layout("i32", (n,))),
        ),
        (Placement("D", D_AT, natural_layout("i8", (m, n))),),
        (*load_a, *load_b, *([load_bias] if has_bias else []), fused, store),
    )


def arrays(m: int, n: int, k: int) -> dict[str, np.ndarray]:
    """Inputs that make some results saturate and some not."""
    random = np.random.default_rng(m * n * k)
    return {
        "A": random.integers(-128, 128, (m, k)).astype(np.int8),
        "B": random.integers(-128, 128, (k, n)).astype(np.int8),
        "bias": random.integers(-9999, 9999, n).astype(np.int32),
    }


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 64), (5, 13, 37), (1, 1, 1)])
def test_both_statements_run_in_one_call(
    npu: Hardware, m: int, n: int, k: int, compiled: bool
) -> None:
    given = arrays(m, n, k)
    total = given["A"].astype(np.int64) @ given["B"].astype(np.int64) + given["bias"]
    rounded = (np.maximum(total, 0) + 2 ** (SHIFT - 1)) >> SHIFT
    found = run(program(m, n, k), npu, given, compiled=compiled).outputs["D"]
    np.testing.assert_array_equal(found, np.minimum(rounded, 127).astype(np.int8))


def test_one_call_takes_the_time_of_its_rounds(npu: Hardware) -> None:
    timing = time_program(program(16, 16, 64), npu)
    assert dict(timing.calls)["multiply_rescale"] == 1
    assert next(u for u in timing.unit_busy if u.unit == "matrix").busy_cycles == 4 * 16
    roles = {b.name: b.role for b in npu.instruction("multiply_rescale").semantics.buffers}
    assert roles["T"] is Role.TEMP, "no operand, no memory: it exists inside the call only"


def test_an_operand_of_the_second_statement_must_be_there(npu: Hardware) -> None:
    with pytest.raises(ProgramError) as caught:
        run(program(5, 13, 37, has_bias=False), npu, arrays(5, 13, 37), compiled=False)
    assert "bias" in caught.value.message
