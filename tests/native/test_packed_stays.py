"""Operands packed on their way: emulated and compiled, against the kernel's meaning."""

import random
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from isamap.codegen import missing_features
from isamap.costmodels import Stay, Tiling
from isamap.emulator import run, time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Role, interpret, load_kernel
from isamap.mapper import Covering, OperandPlan, Residence, coverings
from isamap.native import execute_c, whole_arrays
from isamap.resources import find_hardware, find_kernel
from isamap.scheduler import is_legal, lower, rank_of
from isamap.scheduler.options import stay_choices, stays_of
from tests.native.test_x86 import KERNELS
from tests.scheduler.tilings import random_legal_tiling

LOOPS = ("i", "j", "p")


def packing(hw: Hardware, sizes: tuple[int, int, int], name: str) -> list[Covering]:
    """Coverings of a product, each buffer as it lies, in which something is packed."""
    kernel = load_kernel(KERNELS, dict(zip("mnk", sizes, strict=True)), name)
    return [
        covering
        for covering in coverings(kernel, hw, [], may_reassociate=True)
        if dict(covering.binding)["j"]
        and covering.instruction != "fma_f32"
        and any(map(packs, covering.operands))
        and rank_of(covering) == 0
    ]


def machine() -> Hardware:
    """x86_avx512 with little room for packed operands, which the emulator clears in every run."""
    hw = load_hardware(find_hardware("x86_avx512"))
    small = (replace(m, size_bytes=8192) if m.within else m for m in hw.memories)
    return replace(hw, memories=tuple(small))


def widens(plan: OperandPlan) -> bool:
    """Is bf16 packed as f32?"""
    return any(residence.is_packed and residence.dtype == "f32" for residence in plan.residences)


def packs(plan: OperandPlan) -> bool:
    return any(residence.is_packed for residence in plan.residences)


def tilings(covering: Covering, hw: Hardware, tiles: tuple[int, ...]) -> list[Tiling]:
    """Legal ones in both orders of the result, packed stays keeping tiles of some loops or none."""
    made = []
    for outer, levels in product((("i", "j", "p"), ("j", "i", "p")), stay_choices(covering, hw)):
        for count in range(3):
            stays = [
                keeping(covering, stay, outer, count) for stay in stays_of(covering, levels, {})
            ]
            sizes = tuple(
                (name, min(tile, covering.loop(name).units))
                for name, tile in zip(LOOPS, tiles, strict=True)
            )
            tiling = Tiling(sizes, outer, ("p", "j", "i"), tuple(stays))
            made += [tiling] if is_legal(covering, tiling, hw) else []
    return list(dict.fromkeys(made))


def keeping(covering: Covering, stay: Stay, outer: tuple[str, ...], count: int) -> Stay:
    plan = next(p for p in covering.operands if p.name == stay.operand)
    moving = [name for name in outer if name in plan.loops and covering.loop(name).units > 1]
    is_packed = plan.residences[stay.residence].is_packed
    return replace(stay, kept=tuple(moving[len(moving) - count :]) if is_packed and count else ())


CASES = [
    ("sgemm", (5, 19, 3), (2, 1, 2)),
    ("sgemm_nt", (18, 17, 2), (1, 1, 1)),
    ("bgemm", (3, 18, 3), (2, 1, 2)),
    ("ugemm", (5, 18, 8), (2, 1, 2)),
]


@pytest.mark.parametrize("name, sizes, tiles", CASES, ids=str)
def test_packed_operands_are_right_in_the_emulator(
    name: str, sizes: tuple[int, int, int], tiles: tuple[int, int, int]
) -> None:
    hw = machine()
    for covering in packing(hw, sizes, name):
        for tiling in tilings(covering, hw, tiles)[-2:]:
            assert_right(covering, tiling, hw)


def assert_right(covering: Covering, tiling: Tiling, hw: Hardware) -> None:
    """In the emulator, on numbers whose sums are exact in any order."""
    arrays = whole_arrays(covering.kernel, 1)
    (name,) = (b.name for b in covering.kernel.buffers if b.role is not Role.IN)
    expected = interpret(covering.kernel, arrays)[name]
    program = lower(covering, tiling, hw)
    assert program is not None
    time_program(program, hw, compiled=False)
    shaped = {p.buffer: arrays[p.buffer].reshape(p.layout.shape) for p in program.inputs}
    got = run(program, hw, shaped, compiled=False).outputs[name]
    np.testing.assert_array_equal(got.reshape(expected.shape), expected, str(tiling))


def test_what_all_lanes_take_is_packed_once() -> None:
    """Four elements of a row of A, whichever of 16 columns they are broadcast to."""
    hw = machine()
    found = [
        (covering, tiling)
        for covering in packing(hw, (5, 18, 8), "ugemm")
        for tiling in tilings(covering, hw, (5, 2, 2))[-1:]
        if "pack_quad_u8" in {r.fill.instruction for r in residences(covering) if r.fill}
    ]
    for covering, tiling in found:
        program = lower(covering, tiling, hw)
        assert program is not None
        calls = dict(time_program(program, hw, compiled=False).calls)
        assert calls["pack_quad_u8"] == 5 * 8 / 4
    assert found


def residences(covering: Covering) -> list[Residence]:
    return [residence for plan in covering.operands for residence in plan.residences]


# loop that vectors lie along, is the other operand packed?
WAYS = {("j", True), ("i", True), ("j", False)}


@pytest.mark.parametrize(
    "name, loaded", [("sgemm", WAYS), ("sgemm_nt", WAYS), ("bgemm", WAYS - {("j", False)})]
)
def test_packed_operands_are_right_when_compiled(name: str, loaded: set[tuple[str, bool]]) -> None:
    hw = machine()
    if hw.compiler is None or missing_features(hw.compiler):
        pytest.skip("this processor lacks what the machine needs")
    found = packing(hw, (7, 37, 5), name)
    ways = {(dict(c.binding)["j"], tuple(map(packs, c.operands))) for c in found}
    assert loaded <= {(loops[0], rows[0]) for loops, rows in ways}
    assert (name == "bgemm") <= any(widens(plan) for c in found for plan in c.operands[:2])
    for covering in found:
        arrays = whole_arrays(covering.kernel, 1)
        tiling = tilings(covering, hw, (3, 2, 1))[-1]
        program = lower(covering, tiling, hw)
        assert program is not None
        got = execute_c(program, hw, arrays)["C"]
        np.testing.assert_array_equal(got, interpret(covering.kernel, arrays)["C"], str(tiling))


@pytest.mark.parametrize(
    "name, packer",
    [
        ("bgemm", "pack_pair"),
        ("bgemm_tn", "pack_pair"),
        ("ugemm", "pack_quad_u8"),
        ("ugemm_tn", "pack_quad_u8"),
    ],
)
def test_groups_that_all_lanes_take_are_right_when_compiled(name: str, packer: str) -> None:
    """Their elements lie side by side in A, or rows apart."""
    hw = machine()
    if hw.compiler is None or missing_features(hw.compiler):
        pytest.skip("this processor lacks what the machine needs")
    found = [
        covering
        for covering in packing(hw, (7, 37, 8), name)
        if packer in {r.fill.instruction for r in residences(covering) if r.fill}
    ]
    for covering in found[:2]:
        arrays = whole_arrays(covering.kernel, 1)
        program = lower(covering, tilings(covering, hw, (3, 2, 1))[-1], hw)
        assert program is not None
        got = execute_c(program, hw, arrays)["C"]
        np.testing.assert_array_equal(got, interpret(covering.kernel, arrays)["C"])
    assert found


@pytest.mark.parametrize("window", [1, 2])
def test_convolutions_with_a_panel_are_right(window: int) -> None:
    """Strided ones; what a sliding window moves over is packed once per position of the window."""
    hw = machine()
    sizes = {"h": 5, "w": 6, "c": 2, "k": 17, "r": window, "s": window, "stride": 2, "pad": 0}
    kernel = load_kernel(find_kernel("conv2d")[0], sizes, "conv2d_f32")
    found = [
        covering
        for covering in coverings(kernel, hw, [], may_reassociate=True)
        if covering.instruction == "fma_packed_f32" and rank_of(covering) == 0
        if dict(covering.binding)["j"] == ("o",)
    ]
    panels = [c.operand("A") for c in found if packs(c.operand("A"))]
    assert panels and not any(axis.is_window for plan in panels for axis in plan.axes)
    generator = random.Random(window)
    for covering in found:
        tiling = random_legal_tiling(covering, hw, generator, any_tile=True)
        assert tiling is not None
        assert_right(covering, tiling, hw)
