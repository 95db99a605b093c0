"""The machines whose weights stay on chip: published figures, and a recurrent cell.

In: trainium.yaml, tpu_v1.yaml. Out: verdicts. Not its job: the other kernels (`mapped`).
"""

import pytest

import isamap
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import coverings
from isamap.resources import find_hardware, find_kernel


def issue(hw: Hardware, name: str, **values: int) -> int:
    """Cycles that a call keeps its unit busy."""
    return hw.instruction(name).issue_cycles.evaluate(values)


def test_tpu_figures() -> None:
    hw = load_hardware(find_hardware("tpu_v1"))
    sizes = {memory.name: memory.size_bytes for memory in hw.memories}
    assert sizes["unified_buffer"] + sizes["accumulators"] == 28 << 20, "28 MiB on chip"
    assert sizes["accumulators"] // (4 * 256) == 4096
    assert sizes["weight_fifo"] == 4 * 65536
    assert issue(hw, "matrix_multiply", i=200, j=256, k=256) == 200, "a row per cycle"
    assert issue(hw, "shift_weights", k=256, j=256) == 256
    assert 92e12 * 0.99 < 2 * 256 * 256 * hw.clock_hz < 92e12 * 1.01, "92 TOPS"
    assert 256 * 256 / issue(hw, "read_weights", k=256, j=256) * hw.clock_hz < 34e9
    assert issue(hw, "read_host_memory", r=200, c=256) == 200 * 256 // 20, "14 GB/s"


def test_trainium_figures() -> None:
    hw = load_hardware(find_hardware("trainium"))
    partitions = {m.name: m.size_bytes // 128 for m in hw.memories}
    assert (partitions["sbuf"], partitions["psum"]) == (192 << 10, 16 << 10)
    assert hw.memory("psum").size_bytes // hw.memory("psum").granule_bytes == 8, "banks"
    cycles = issue(hw, "matmul", m=128, n=512, k=128)
    assert 91e12 < 2 * 128 * 512 * 128 / cycles * hw.clock_hz < 93e12, "92 TFLOPS"
    assert issue(hw, "matmul_f32", m=128, n=512, k=128) == 4 * cycles
    assert issue(hw, "matmul", m=128, n=1, k=128) == 32, "64 columns at least, at 2.8 GHz"
    assert issue(hw, "add", p=128, f=512) == 2 * issue(hw, "add_number", p=128, f=512)


def test_partitions_lie_innermost_whatever_their_place_among_the_dimensions() -> None:
    kernel = load_kernel(find_kernel("gemm")[0], {"m": 5, "n": 3, "k": 7}, "gemm_bf16")
    hw = load_hardware(find_hardware("trainium"))
    found = coverings(kernel, hw, [], may_reassociate=True)
    bound = [dict(c.binding) for c in found if c.instruction == "matmul"]
    assert {"m": ("i",), "n": ("j",), "k": ("p",)} in bound
    assert {"m": ("j",), "n": ("i",), "k": ("p",)} in bound


def test_sums_pass_the_scratchpad_both_ways() -> None:
    sizes = {"m": 130, "n": 5, "k": 129}
    found = isamap.map(
        "gemm:gemm_bf16", "trainium", sizes=sizes, verify="full", may_reassociate=True
    )
    assert found.verification.is_verified, found.verification
    assert isinstance(found, isamap.Result)
    assert found.timing is not None
    calls = dict(found.timing.calls)
    assert calls["load_f32"] == calls["copy_to_psum"] == calls["copy_from_psum"]
    assert calls["copy_from_psum"] == calls["store_f32"]


@pytest.mark.parametrize(
    ("machine", "name"), [("trainium", "gru:gru_skip_bf16"), ("tpu_v1", "gru:gru_skip_i8")]
)
def test_a_gated_cell_runs_with_its_product_on_the_array(machine: str, name: str) -> None:
    sizes = {"steps": 2, "batch": 3, "hidden": 33}
    found = isamap.map(name, machine, sizes=sizes, verify="full", may_reassociate=True, effort=0.1)
    assert found.verification.is_verified, found.verification
    assert isinstance(found, isamap.PlanResult)
    products = {task.answer.best.covering.instruction for task in found.plan.tasks if task.answer}
    assert products & {"matmul", "matrix_multiply"}
