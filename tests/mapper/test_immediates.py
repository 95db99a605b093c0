"""Instructions that are given a number: what they match, what they finish.

In: small kernels, Gemmini's scaling stores and variants of them. Out: failures. Not its job: the
laws themselves (`test_spelling`), schedules (`test_requantise`).
"""

from dataclasses import replace
from pathlib import Path

import pytest

from isamap.hwdesc import Hardware, Instruction, load_hardware
from isamap.ir import Access, Affine, Kernel, parse_semantics
from isamap.mapper import match_statement
from isamap.mapper.finish import find_finishes

ROOT = Path(__file__).resolve().parent.parent.parent
TOTAL = Access("T", (Affine.var("i"), Affine.var("j")))
F32_OF_TENTH = 13421773 * 2.0**-27


def gemmini() -> Hardware:
    """The machine with scaling stores."""
    return load_hardware(ROOT / "hw_specs" / "gemmini.yaml")


def kernel(value: str) -> Kernel:
    """C[i, j] = value, over the i32 T."""
    head = "T, C = In(i32, 5, 7), Out(i8, 5, 7)\nfor i, j in grid(5, 7):\n"
    return parse_semantics(f"{head}    C[i, j] = {value}\n", "k")


def limited(low: float, high: float, value: str | None = None) -> Instruction:
    """mvout_i8 with other limits, or computing something else."""
    store = gemmini().instruction("mvout_i8")
    (scale,) = store.immediates
    semantics = store.semantics
    if value is not None:
        head = "S, D = In(i32, 16, 16), Out(i8, 16, 16)\nfor r, c in grid(16, 16):\n"
        text = f"{head}    D[r, c] = {value}\n"
        semantics = parse_semantics(text, store.name, immediates=("scale",))
    rule = replace(scale, minimum=low, maximum=high)
    return replace(store, semantics=semantics, immediates=(rule,))


def finishes(value: str, hw: Hardware) -> list[tuple[str, tuple[tuple[str, int | float], ...]]]:
    """Store and its numbers of every finish of `value` without further steps."""
    expr = kernel(value).statements[0].value
    found = list(find_finishes(expr, TOTAL, ("i32", "i8"), ("accumulator", "dram"), hw))
    assert all(not finish.updates for finish in found)
    return [(f.store.mover.instruction.name, f.store.immediates) for f in found]


@pytest.mark.parametrize(
    ("value", "name", "scale"),
    [
        ("sat_i8(round_even(f32(T[i, j]) * 0.1))", "mvout_i8", F32_OF_TENTH),
        ("sat_i8(round_even(-2 * f32(T[i, j])))", "mvout_i8", -2.0),
        ("sat_i8(round_even(f32(relu(T[i, j])) * 0.1))", "mvout_relu_i8", F32_OF_TENTH),
        ("sat_i8(round_even(relu(f32(T[i, j]) * 0.1)))", "mvout_relu_i8", F32_OF_TENTH),
        ("relu(sat_i8(round_even(0.1 * f32(T[i, j]))))", "mvout_relu_i8", F32_OF_TENTH),
        ("sat_i8(round_even(f32(relu(T[i, j])) * -0.1))", "mvout_relu_i8", -F32_OF_TENTH),
        ("sat_i8(T[i, j])", "mvout_i8", 1.0),
        ("relu(sat_i8(T[i, j]))", "mvout_relu_i8", 1.0),
    ],
)
def test_scaling_stores_finish_sums_and_match_statements(
    value: str, name: str, scale: float
) -> None:
    assert finishes(value, gemmini()) == [(name, (("scale", scale),))]
    found, _ = match_statement(kernel(value), 0, gemmini().instruction(name))
    assert {match.immediates for match in found} == {(("scale", scale),)}
    (((_, number),),) = {match.immediates for match in found}
    assert isinstance(number, float), "a whole literal becomes a float, too"


@pytest.mark.parametrize(
    "value",
    [
        "sat_i8(round_even(relu(f32(T[i, j]) * -0.1)))",
        "sat_i8(round_even(f32(T[i, j]) * inf))",
        "sat_i8(round_even(f64(T[i, j]) * 0.1))",
        "i8(round_even(f32(T[i, j]) * 0.1) * 3.0)",
        "sat_i8(f32(T[i, j]) * 0.1)",
        "i8(T[i, j])",
    ],
)
def test_other_arithmetic_is_no_finish(value: str) -> None:
    assert finishes(value, gemmini()) == []
    for name in ("mvout_i8", "mvout_relu_i8"):
        assert match_statement(kernel(value), 0, gemmini().instruction(name))[0] == ()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("sat_i8(round_even(f32(T[i, j]) * 2.5))", "immediate scale takes 0.0 to 2.0, not 2.5"),
        (
            "sat_i8(round_even(f32(T[i, j]) * f32(T[i, j])))",
            "takes an immediate where the kernel has f32(T[i, j])",
        ),
        (
            "relu(sat_i8(round_even(f32(T[i, j]) * 1.5)))",
            "computes sat_i8(round_even(f32(S[r, c]) * scale)),"
            " the kernel max(sat_i8(round_even(f32(T[i, j]) * 1.5)), 0)",
        ),
    ],
)
def test_reasons_name_the_limits_and_what_the_kernel_says(value: str, reason: str) -> None:
    found, mismatch = match_statement(kernel(value), 0, limited(0.0, 2.0))
    assert found == () and mismatch is not None
    assert mismatch.reason == reason


def test_two_uses_of_an_immediate_must_agree() -> None:
    twice = limited(0.0, 2.0, "sat_i8(round_even(f32(S[r, c]) - scale - scale))")
    same = kernel("sat_i8(round_even(f32(T[i, j]) - 0.5 - 0.5))")
    other = kernel("sat_i8(round_even(f32(T[i, j]) - 0.5 - 0.25))")
    assert match_statement(same, 0, twice)[0]
    found, mismatch = match_statement(other, 0, twice)
    assert found == () and mismatch is not None
    assert mismatch.reason == "immediate scale would have two values"


@pytest.mark.parametrize(("low", "count"), [(2.0**-149, 1), (0.0, 0)])
def test_a_machine_may_have_its_relu_after_a_scale_that_is_positive(low: float, count: int) -> None:
    late = limited(low, 2.0, "sat_i8(round_even(relu(f32(S[r, c]) * scale)))")
    hw = replace(gemmini(), instructions=(late,))
    assert len(finishes("sat_i8(round_even(f32(relu(T[i, j])) * 0.5))", hw)) == count


def shifting(amount: str, value: str = "sat_i8(rshift_round(S[r, c], {}))") -> Instruction:
    """A store that shifts by a sum of numbers and of its immediate `s`, 0 to 9."""
    store = gemmini().instruction("mvout_i8")
    head = "S, D = In(i32, 16, 16), Out(i8, 16, 16)\nfor r, c in grid(16, 16):\n"
    text = f"{head}    D[r, c] = {value.format(amount)}\n"
    semantics = parse_semantics(text, store.name, immediates=("s",))
    rule = replace(store.immediates[0], name="s", dtype=None, minimum=0, maximum=9)
    return replace(store, semantics=semantics, immediates=(rule,))


@pytest.mark.parametrize(
    ("amount", "number"),
    [("s", 7), ("3 + s", 4), ("s + 3", 4), ("s - 2", 9), ("12 - s", 5), ("1 + (9 - s)", 3)],
)
def test_whole_immediates_in_sums_are_what_gives_the_kernels_number(
    amount: str, number: int
) -> None:
    value = "sat_i8(rshift_round(T[i, j], 7))"
    store = shifting(amount)
    found, _ = match_statement(kernel(value), 0, store)
    assert {match.immediates for match in found} == {(("s", number),)}
    quick, _ = match_statement(kernel(value), 0, store, explains=False)
    assert quick == found
    alone = replace(gemmini(), instructions=(store,))
    assert finishes(value, alone) == [("mvout_i8", (("s", number),))]


def test_what_no_immediate_makes_the_kernels_number_is_named() -> None:
    value = "sat_i8(rshift_round(T[i, j], 2))"
    found, mismatch = match_statement(kernel(value), 0, shifting("3 + s"))
    assert found == () and mismatch is not None
    assert mismatch.reason == "immediate s takes 0 to 9, not -1"
    assert finishes(value, replace(gemmini(), instructions=(shifting("3 + s"),))) == []


def test_float_immediates_in_sums_are_not_solved_for() -> None:
    store = limited(0.0, 2.0, "sat_i8(round_even(f32(S[r, c]) * (scale + 1)))")
    value = "sat_i8(round_even(f32(T[i, j]) * 2))"
    assert match_statement(kernel(value), 0, store)[0] == ()
    assert finishes(value, replace(gemmini(), instructions=(store,))) == []
