"""What becomes of finished sums: the instructions found compute the expression, bit by bit.

In: random expressions over an i32, the shipped machines. Out: failures. Not its job: layouts.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Buffer,
    Expr,
    Immediate,
    Kernel,
    Literal,
    Loop,
    Role,
    Statement,
    integer_range,
    interpret,
    verify,
)
from isamap.mapper.finish import Finish, FinishStep, find_finishes, spelled_out
from isamap.mapper.match import spelled_update

SPECS = Path(__file__).resolve().parent.parent.parent / "hw_specs"
SUMS = {  # where sums lie on each machine
    "gemmini": "accumulator",
    "vta": "acc",
    "fused_npu": "accumulator",
    "conv_engine": "sums",
}
MACHINES = {name: load_hardware(SPECS / f"{name}.yaml") for name in SUMS}
QUICK = settings(max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck))
TOTAL = Access("T", (Affine.var("i"),))
LOW, HIGH = integer_range("i32")
EDGES = [
    LOW, LOW + 1, HIGH, HIGH - 1, 0, 1, -1, 127, 128, -128, -129, 255, 256, 2**30, -(2**30),
]  # fmt: skip
VALUES = np.array(
    EDGES
    + [sign * (2**n) + d for n in range(1, 31) for d in (-1, 0, 1) for sign in (1, -1)]
    + list(np.random.default_rng(0).integers(LOW, HIGH, 500, endpoint=True)),
    np.int32,
)


@st.composite
def tails(draw: st.DrawFn) -> tuple[Expr, str]:
    """An expression over the sum, and its type."""
    value: Expr = TOTAL
    if draw(st.booleans()):
        value = Apply("relu", (value,)) if draw(st.booleans()) else value
        value = Apply("rshift_round", (value, Literal(draw(st.integers(0, 33)))))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2, 3]))):
        kind = draw(st.sampled_from(["relu", "rshift_round", ">>", "max", "min", "+", "sat", "-"]))
        number = draw(st.sampled_from([0, 1, 2, 3, 7, 8, 15, 31, 127, -128, 1000, -1]))
        match kind:
            case "relu":
                value = Apply("relu", (value,))
            case "rshift_round" | ">>":
                value = Apply(kind, (value, Literal(abs(number) % 33)))
            case "sat":
                value = Apply("i32", (Apply("sat_i8", (value,)),))
            case _:
                value = Apply(kind, (value, Literal(number)))
    cast = draw(st.sampled_from(["", "i8", "sat_i8", "sat_i8"]))
    return (Apply(cast, (value,)), "i8") if cast else (value, "i32")


def evaluated(value: Expr, dtype: str) -> np.ndarray:
    """The expression of every one of `VALUES`."""
    loop = Loop("i", len(VALUES))
    buffers = (
        Buffer("T", "i32", VALUES.shape, Role.IN),
        Buffer("D", dtype, VALUES.shape, Role.OUT),
    )
    statement = Statement((loop,), Access("D", (Affine.var("i"),)), "=", value)
    kernel = Kernel("tail", buffers, (statement,))
    verify(kernel)
    return interpret(kernel, {"T": VALUES})["D"]


def applied(step: FinishStep, inside: Expr) -> Expr:
    """What an instruction makes of an element."""
    statement = spelled_update(step.mover.instruction.semantics.statements[0])
    source = step.mover.source or step.mover.target
    return replaced(statement.value, source, inside, dict(step.immediates))


def replaced(value: Expr, source: str, inside: Expr, given: dict[str, int]) -> Expr:
    """The pattern with its source and its immediates filled in."""
    match value:
        case Access():
            assert value.buffer == source
            return inside
        case Immediate(name):
            return Literal(given[name])
        case Apply(op, args):
            return Apply(op, tuple(replaced(arg, source, inside, given) for arg in args))
        case _:
            return value


def done(finish: Finish) -> Expr:
    """Everything that the instructions do to the sum."""
    value: Expr = TOTAL
    for step in (*finish.updates, finish.store):
        value = applied(step, value)
    return value


def finishes(value: Expr, dtype: str, name: str) -> list[Finish]:
    """All finishes on a machine."""
    hw: Hardware = MACHINES[name]
    return list(find_finishes(value, TOTAL, ("i32", dtype), (SUMS[name], hw.external.name), hw))


@QUICK
@given(tails())
def test_spelled_out_means_the_same(tail: tuple[Expr, str]) -> None:
    value, dtype = tail
    np.testing.assert_array_equal(evaluated(spelled_out(value), dtype), evaluated(value, dtype))


@pytest.mark.parametrize("name", SUMS)
def test_finishes_compute_the_expression(name: str) -> None:
    found = 0

    @QUICK
    @given(tails())
    def check(tail: tuple[Expr, str]) -> None:
        nonlocal found
        expected = evaluated(*tail)
        for finish in finishes(*tail, name):
            found += tail[0] != TOTAL
            np.testing.assert_array_equal(evaluated(done(finish), tail[1]), expected)

    check()
    assert found > 1, "else nothing is tested"
