"""AIE-ML: published figures and cycles, and kernels on one tile.

In: aie_ml.yaml. Out: verdicts. Not its job: the other kernels (`mapped`), the closed form.
"""

from dataclasses import replace
from fractions import Fraction
from math import prod
from pathlib import Path

import pytest

import isamap
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import parse_semantics
from isamap.resources import find_hardware

HW = load_hardware(find_hardware("aie_ml"))
PRODUCT = """
A, B, C, T = In(i8, 64, 64), In(i8, 64, 64), Out(i8, 64, 64), Temp(i32, 64, 64)
for i, j, k in grid(64, 64, 64):
  T[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid(64, 64):
  C[i, j] = sat_i8(rshift_round(T[i, j], 9))
"""

STATES = """
x, h, y = In(i8, 2, 3), InOut(i8, 3, 3), Out(i8, 2, 3)
for t in range(2):
  for j in range(3):
    y[t, j] = h[t, j] + x[t, j]
  for j in range(3):
    h[t + 1, j] = y[t, 2 - j] >> 1
"""


def issue(name: str, **values: int) -> int:
    """Cycles that a call keeps its unit busy."""
    return HW.instruction(name).issue_cycles.evaluate(values)


@pytest.mark.parametrize(
    ("name", "products"), [("vmac_i8", 256), ("vmac_i16", 64), ("vmac_bf16", 128)]
)
def test_so_many_products_are_summed_per_cycle(name: str, products: int) -> None:
    extents = {loop: rule.maximum for loop, rule in HW.instruction(name).extents}
    assert prod(extents.values()) == products * issue(name, **extents), "AM020, summary"


def test_registers_and_streams() -> None:
    sizes = {memory.name: memory.size_bytes for memory in HW.memories}
    assert sizes["vectors"] == 24 * 32
    assert sizes["accumulators"] == 9 * 128
    assert issue("dma_in_i8", r=4, c=8) == issue("dma_out_i8", r=4, c=8) == 8, "a word per cycle"
    assert issue("dma_in_i8", r=4, c=3) == 8, "filled with zeros"
    assert issue("dma_out_i8", r=4, c=4) == 4
    assert issue("vlda_i32", r=4, c=8) == issue("vst_i32", r=4, c=8) == 4, "32 bytes per cycle"


def without_streams(tmp_path: Path) -> Hardware:
    """The core alone: what its DMA brings is there at once."""
    path = tmp_path / "core.yaml"
    path.write_text(
        "{base: aie_ml, name: core, source: what if, parameters: {stream: 4096, dma_latency: 1}}"
    )
    return load_hardware(path)


def test_the_core_takes_as_long_as_the_maker_says(tmp_path: Path) -> None:
    """XD100, performance analysis of 64 x 64 x 64: 1121 cycles where results are narrower than
    sums."""
    kernel = parse_semantics(PRODUCT, "product")
    found = isamap.map(kernel, without_streams(tmp_path), verify="full", effort=0.1)
    assert found.verification.is_verified, found.verification
    assert found.timing is not None
    assert abs(found.timing.cycles - 1121) <= 0.05 * 1121


@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        ("gemm", {"m": 7, "n": 5, "k": 6}),
        ("gemm:gemm_nt", {"m": 5, "n": 18, "k": 17}),
        ("gemm:gemm_tn", {"m": 5, "n": 20, "k": 17}),
        ("gemm:gemm_bf16", {"m": 13, "n": 11, "k": 19}),
        ("pooling:max_pool_onto", {"h": 5, "w": 6, "c": 20}),
    ],
)
def test_rows_that_are_no_whole_words_have_borders(kernel: str, sizes: dict[str, int]) -> None:
    found = isamap.map(kernel, HW, sizes=sizes, verify="full", may_reassociate=True, effort=0.1)
    assert found.verification.is_verified, found.verification


@pytest.mark.parametrize(
    ("kernel", "ways"),
    [
        ("gemm_epilogue", {"vst_srs_relu_i8"}),
        ("quantised:gemm_quantised", {"scale_add", "vst_srs_zero_i8"}),
        ("gemm:gemm_i8", {"vst_i8"}),
    ],
)
def test_sums_are_narrowed_on_their_way_out(kernel: str, ways: set[str]) -> None:
    hw = replace(HW, host=HW.host and replace(HW.host, start_cycles=Fraction(1 << 20)))
    found = isamap.map(kernel, hw, verify="full", effort=0.1)
    assert found.verification.is_verified, found.verification
    assert found.timing is not None
    calls = dict(found.timing.calls)
    assert ways <= set(calls)
    assert found.timing.cycles < 1 << 20, "nothing runs on the host"


def test_the_host_finds_states_that_begin_between_words() -> None:
    found = isamap.map(parse_semantics(STATES, "states"), HW, verify="full", effort=0.1)
    assert found.verification.is_verified, found.verification
    assert found.program.host_calls, "else nothing is tested"
