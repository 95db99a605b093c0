"""Checks accept right programs and catch wrong ones.

In: scheduled kernels. Out: verdicts. Not its job: quality of schedules.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel, parse_semantics
from isamap.program import Edge, For, Issue, Node, Program, When
from isamap.resources import find_hardware, find_kernel
from isamap.scheduler import EffortClock, Wishes, find_schedule, is_legal, lower
from isamap.verify import (
    Check,
    KernelFile,
    Reference,
    Verification,
    compare,
    float_tolerance,
    run_quick,
    verify_full,
    verify_quick,
)
from isamap.verify.run_full import with_reference

SIZES = {"m": 40, "n": 40, "k": 40}  # square, so that a transposed program runs and is wrong
FLOAT_GEMM = """
from isamap.lang import In, InOut, f32, grid, kernel

@kernel
def gemm(m=20, n=24, k=50):
    A, B, C = In(f32, m, k), In(f32, k, n), InOut(f32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += A[i, p] * B[p, j]

def gemm_reference(A, B, C):
    return {"C": C + A @ B}
"""


@pytest.mark.parametrize("check", [Check.QUICK, Check.FULL])
@pytest.mark.parametrize("machine", ["gemmini", "outer", "vecdot"])
def test_right_programs_are_verified(machine: str, check: Check) -> None:
    found = isamap.map("gemm", machine, sizes={"m": 41, "n": 35, "k": 70}, verify=check)
    assert found.verification.is_verified
    assert found.verification.reference is Reference.AGREES
    assert found.verification.tolerance == 0.0


@pytest.mark.parametrize(
    ("types", "value", "reason"),
    [
        ("i32", "a[i] // (b[i] - b[i])", "integer division by zero"),
        ("i8", "a[i] << (b[i] - c[i])", "negative shift count"),
    ],
)
def test_a_kernel_without_a_meaning_on_random_inputs_is_not_verified_but_not_wrong(
    types: str, value: str, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "by_data.py"
    inputs = ", ".join([f"In({types}, n)"] * 3)
    path.write_text(
        f"from isamap.lang import In, Out, i8, i32, kernel\n\n\n@kernel\ndef by_data(n=33):\n"
        f"    a, b, c, y = {inputs}, Out({types}, n)\n    for i in range(n):\n"
        f"        y[i] = {value}\n\n\ndef by_data_reference(a, b, c):\n    return {{'y': a}}\n"
    )
    for check in (Check.QUICK, Check.FULL):
        found = isamap.map(path, "gemmini", verify=check).verification
        assert not found.is_verified and not found.is_wrong
        assert found.failure == f"{reason} on all random inputs that were tried"
    small = Verification(Check.QUICK)  # by chance
    file = KernelFile(path, "by_data", ())
    found = with_reference(small, load_kernel(path), file, 0)
    assert found.is_verified and found.reference is Reference.NO_MEANING


def test_floats_agree_within_a_derived_tolerance(tmp_path: Path) -> None:
    path = tmp_path / "float_gemm.py"
    path.write_text(FLOAT_GEMM, encoding="utf-8")
    found = isamap.map(path, "outer", verify=Check.FULL, may_reassociate=True).verification
    assert found.is_verified
    assert 0.0 < found.tolerance < 0.05
    assert found.reference is Reference.AGREES


def test_program_of_another_kernel_is_wrong() -> None:
    hw = load_hardware(find_hardware("gemmini"))
    path, _ = find_kernel("gemm")
    program = find_schedule(load_kernel(path, SIZES, "gemm"), hw).best.program
    found = verify_full(program, load_kernel(path, SIZES, "gemm_tn"), hw)
    assert found.is_wrong
    assert not found.is_verified
    assert found.mismatch is not None
    assert found.mismatch.buffer == "C"
    assert found.mismatch.got != found.mismatch.expected


def without_drains(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """The body less everything that happens at the last iteration of some loop."""
    kept: list[Node] = []
    for node in body:
        if isinstance(node, Issue):
            kept.append(node)
        elif isinstance(node, For):
            kept.append(replace(node, body=without_drains(node.body)))
        elif all(edge is not Edge.LAST for _, edge in node.conditions):
            kept.append(When(node.conditions, without_drains(node.body)))
    return tuple(kept)


def test_quick_check_catches_a_lowering_that_forgets_results(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hw = load_hardware(find_hardware("gemmini"))
    path, _ = find_kernel("gemm")
    kernel = load_kernel(path, {"m": 128, "n": 128, "k": 128})
    best = find_schedule(kernel, hw).best
    tiling = best.tiling
    assert verify_quick(kernel, best.covering, tiling, hw).is_verified

    def forgetful(*arguments: object) -> Program:
        program = lower(*arguments)  # type: ignore[arg-type]
        assert program is not None
        return replace(program, body=without_drains(program.body))

    monkeypatch.setattr(run_quick, "lower", forgetful)
    found = verify_quick(kernel, best.covering, tiling, hw)
    assert found.is_wrong
    assert not found.is_verified


def test_impossible_quick_check_is_not_called_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_quick, "MAX_COVERINGS", 0)
    found = isamap.map("gemm", "gemmini", sizes=SIZES).verification
    assert not found.is_verified
    assert not found.is_wrong
    assert found.failure == "quick check not possible: no cut-down sizes give the same covering"


def test_first_difference_is_reported() -> None:
    right = {"y": np.arange(12, dtype=np.int32).reshape(3, 4)}
    wrong = {"y": right["y"].copy().reshape(3, 4, 1)}
    assert compare(wrong, right, "oracle") is None
    wrong["y"][1, 2, 0] = 99
    wrong["y"][2, 0, 0] = 98
    found = compare(wrong, right, "oracle")
    assert found is not None
    assert (found.index, found.got, found.expected) == ((1, 2), "99", "6")
    assert (found.num_wrong, found.num_elements) == (2, 12)


def test_nan_equals_nan_and_tolerance_is_a_limit() -> None:
    right = {"y": np.array([1.0, np.nan], np.float32)}
    assert compare({"y": np.array([1.0, np.nan], np.float32)}, right, "oracle") is None
    assert compare({"y": np.array([1.25, np.nan], np.float32)}, right, "oracle", 0.25) is None
    assert compare({"y": np.array([1.5, np.nan], np.float32)}, right, "oracle", 0.25) is not None
    assert compare({"y": np.array([np.nan, 1.0], np.float32)}, right, "oracle", 0.25) is not None


def test_integers_have_no_tolerance() -> None:
    path, _ = find_kernel("gemm")
    assert float_tolerance(load_kernel(path), {}) == 0.0


def test_rows_that_must_begin_at_multiples_are_cut_down_too() -> None:
    """Sums are stored by rows that lie j * 17 words apart, which must be a multiple of 32 bytes:
    tiles of 7 leave 5, 3, 9, 13 or 22 of j."""
    text = (
        "A, B = In(f16, 64, 48, 32), In(f16, 32, 17)\n"
        "C = InOut(f32, 64, 48, 17)\n"
        "for i, j, o, p in grid(64, 48, 17, 32):\n"
        "  C[i, j, o] += f32(A[i, j, p]) * f32(B[p, o])\n"
    )
    kernel, hw = parse_semantics(text, "rows"), load_hardware(find_hardware("ascend"))
    best = find_schedule(kernel, hw, Wishes(may_reassociate=True, clock=EffortClock())).best
    assert dict(best.covering.binding) == {"i": ("i",), "j": ("o",), "k": ("p",)}
    tiling = best.tiling.with_tile("j", 7)
    assert is_legal(best.covering, tiling, hw)
    found = verify_quick(kernel, best.covering, tiling, hw, may_reassociate=True)
    assert found.is_verified, found.failure
    assert dict(found.sizes)["j"] < 48
