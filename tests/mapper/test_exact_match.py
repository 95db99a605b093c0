"""Casts and saturations that ranges prove harmless do not keep an instruction from matching.

In: instructions and kernels as text. Out: failures. Not its job: layouts, schedules.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.hwdesc import ExtentKind, ExtentRule, load_hardware
from isamap.ir import (
    Apply,
    exact_form,
    exact_range,
    interpret_slow,
    parse_semantics,
    pretty,
    random_arrays,
)
from isamap.mapper import Mismatch, match_statement

ROOT = Path(__file__).resolve().parent.parent.parent
SMOPA = load_hardware(ROOT / "hw_specs" / "outer.yaml").instruction("smopa")
DECLARED = "A, B, C = In({0}, 4, 4), In({1}, 4, 4), InOut({2}, 4, 4)\n"
LOOPS = "for i, j, k in grid(4, 4, 4):\n  "
I8_TO_I16 = ("i8", "i8", "i16")
PAIRS = (  # as x86 PMADDUBSW: two products of a byte each, summed with saturation
    "A, B, E, F, C = In(u8, 4), In(i8, 4), In(u8, 4), In(i8, 4), InOut(i16, 4)\n"
    "for i in range(4):\n  "
)


def found(instruction: str, kernel: str) -> tuple[int, Mismatch | None]:
    """Number of matches, and why there is none."""
    semantics = parse_semantics(instruction, "instruction")
    loops = semantics.statements[0].loops
    extents = tuple((x.name, ExtentRule(ExtentKind.AT_MOST, x.extent)) for x in loops)
    subject = replace(SMOPA, name="instruction", semantics=semantics, extents=extents)
    matches, mismatch = match_statement(parse_semantics(kernel, "kernel"), 0, subject)
    return len(matches), mismatch


def product(value: str, *types: str) -> str:
    """C += value over three loops."""
    return DECLARED.format(*types) + LOOPS + f"C[i, j] += {value}"


@pytest.mark.parametrize(
    ("instruction", "kernel", "types"),
    [
        ("i32(A[i, k]) * i32(B[k, j])", "i32(i16(A[i, k]) * i16(B[k, j]))", ("i8", "i8", "i32")),
        ("i32(i16(A[i, k]) * i16(B[k, j]))", "i32(A[i, k]) * i32(B[k, j])", ("u8", "i8", "i32")),
        ("sat_i16(i32(A[i, k]) * i32(B[k, j]))", "i16(A[i, k]) * i16(B[k, j])", I8_TO_I16),
        ("i32(A[i, k] * B[k, j])", "i32(i8(i16(A[i, k]) * i16(B[k, j])))", ("i8", "i8", "i32")),
    ],
)  # fmt: skip
def test_casts_that_change_nothing_do_not_matter(
    instruction: str, kernel: str, types: tuple[str, ...]
) -> None:
    assert found(product(instruction, *types), product(kernel, *types))[0] > 0
    assert found(product(kernel, *types), product(instruction, *types))[0] > 0


@pytest.mark.parametrize(
    ("instruction", "kernel", "types"),
    [
        ("i32(A[i, k]) * i32(B[k, j])", "i32(A[i, k] * B[k, j])", ("i8", "i8", "i32")),
        ("i32(A[i, k]) * i32(B[k, j])", "i32(i16(A[i, k]) * i16(B[k, j]))", ("u8", "u8", "i32")),
        ("i32(A[i, k]) * i32(B[k, j])", "i32(u8(A[i, k])) * i32(B[k, j])", ("i8", "i8", "i32")),
    ],
)
def test_casts_that_may_wrap_do_matter(
    instruction: str, kernel: str, types: tuple[str, ...]
) -> None:
    number, mismatch = found(product(instruction, *types), product(kernel, *types))
    assert number == 0
    assert mismatch is not None and "saturates" not in mismatch.reason


SATURATING = "C[i] += sat_i16(i32(A[i]) * i32(B[i]) + i32(E[i]) * i32(F[i]))"
WRAPPING = "C[i] += i16(A[i]) * i16(B[i]) + i16(E[i]) * i16(F[i])"


@pytest.mark.parametrize(
    ("instruction", "kernel", "cast"),
    [
        (PAIRS + SATURATING, PAIRS + WRAPPING, "sat_i16"),
        (
            DECLARED.format("i8", "i8", "i16")
            + LOOPS
            + "C[i, j] = sat_i16(i32(C[i, j]) + i32(A[i, k]) * i32(B[k, j]))",
            product("i16(A[i, k]) * i16(B[k, j])", "i8", "i8", "i16"),
            "sat_i16",
        ),
        (
            product("sat_i8(A[i, k] * B[k, j])", "i16", "i16", "i8"),
            product("i8(A[i, k] * B[k, j])", "i16", "i16", "i8"),
            "sat_i8",
        ),
    ],
)
def test_saturation_that_may_happen_is_refused_by_name(
    instruction: str, kernel: str, cast: str
) -> None:
    number, mismatch = found(instruction, kernel)
    assert number == 0 and mismatch is not None
    assert mismatch.reason.startswith(f"saturates ({cast} in "), mismatch.reason
    assert mismatch.reason.endswith(
        "the kernel does not, and the operands' types do not exclude that it happens"
    )


def test_saturation_that_cannot_happen_is_allowed() -> None:
    """i8 times i8 twice reaches 32768: one more than i16 holds. i8 times i4 does not."""
    narrow = PAIRS.replace("u8", "i4")
    assert found(narrow + SATURATING, narrow + WRAPPING)[0] > 0
    wide = PAIRS.replace("u8", "i8")
    assert found(wide + SATURATING, wide + WRAPPING)[0] == 0


LEAVES = st.sampled_from(("A[i]", "B[i]", "D[i]"))
TYPES = st.sampled_from(("i4", "i8", "u8", "i16"))


@st.composite
def values(draw: st.DrawFn, depth: int = 3) -> tuple[str, str]:
    """Text of a random integer expression, and its type."""
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        leaf = draw(LEAVES)
        return leaf, {"A": "i8", "B": "u8", "D": "i4"}[leaf[0]]
    text, dtype = draw(values(depth - 1))
    kind = draw(st.sampled_from(("cast", "saturate", "relu", "+", "-", "*", "max", "shift")))
    if kind in ("cast", "saturate"):
        target = draw(TYPES)
        return f"{'sat_' if kind == 'saturate' else ''}{target}({text})", target
    if kind == "relu":
        return f"relu({text})", dtype
    if kind == "shift":
        return f"({text} >> 2)", dtype
    other, _ = draw(values(depth - 1))
    if kind == "max":
        return f"max({text}, {dtype}({other}))", dtype
    return f"({text} {kind} {dtype}({other}))", dtype


@given(values())
def test_exact_form_has_the_same_value_in_a_wide_type(value: tuple[str, str]) -> None:
    """Computed in i64 (casts of its own aside) it gives what the typed expression gives."""
    text, _ = value
    head = "A, B, D, C = In(i8, 64), In(u8, 64), In(i4, 64), Out(i64, 64)\nfor i in range(64):\n  "
    kernel = parse_semantics(f"{head}C[i] = i64({text})", "typed")
    statement = kernel.statements[0]
    form = exact_form(statement.value, kernel)
    wide = replace(kernel, statements=(replace(statement, value=_widened(form)),))
    arrays = random_arrays(kernel, 0)
    expected, got = (interpret_slow(k, arrays)["C"] for k in (kernel, wide))
    assert (expected == got).all(), pretty(wide)
    bounds = exact_range(statement.value, kernel)
    assert bounds is not None and bounds[0] <= expected.min() and expected.max() <= bounds[1]


def _widened(expr: object) -> object:
    """Every access as i64, so that no operation wraps but the casts of the exact form."""
    if not isinstance(expr, Apply):
        return Apply("i64", (expr,)) if type(expr).__name__ == "Access" else expr
    args = tuple(_widened(arg) for arg in expr.args)
    whole = Apply(expr.op, args)
    return (
        Apply("i64", (whole,))
        if expr.op.removeprefix("sat_") in ("i4", "i8", "u8", "i16")
        else whole
    )


@pytest.mark.parametrize("name", ["gemmini", "x86_avx512", "nvidia_hopper_mma", "tpu_v1"])
def test_whoever_asks_for_no_reason_gets_the_same_matches(name: str) -> None:
    """Each instruction's semantics is a kernel for all others of the machine."""
    machine = load_hardware(ROOT / "hw_specs" / f"{name}.yaml")
    single = [x for x in machine.instructions if len(x.semantics.statements) == 1]
    for kernel in [x.semantics for x in single if not x.immediates]:
        for instruction in single:
            found, _ = match_statement(kernel, 0, instruction)
            assert match_statement(kernel, 0, instruction, explains=False) == (found, None)
