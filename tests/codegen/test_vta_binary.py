"""VTA's binaries on an independent simulator of the machine, bit-exact against NumPy."""

import pytest

from tests.codegen.run_binary import check_kernel
from tests.codegen.vta_machine import Vta

KERNELS = {
    "gemm square": ("gemm", {"m": 32, "n": 48, "k": 64}),
    "gemm odd": ("gemm", {"m": 5, "n": 33, "k": 19}),
    "gemm of one row": ("gemm", {"m": 1, "n": 17, "k": 40}),
    "conv2d 3x3 padded": ("conv2d", {"h": 7, "w": 9}),
    "conv2d stride 2": ("conv2d", {"h": 9, "w": 9, "stride": 2}),
    "depthwise": ("depthwise_conv", {"h": 14, "w": 14}),
    "depthwise-separable": ("wrapped:separable_conv_wrapped", {"h": 14, "w": 14}),
    "bias, relu, shift, clip": ("gemm_epilogue", {"m": 16, "n": 32, "k": 32}),
    "bias first": ("gemm_epilogue:gemm_requantise_bias_first", {"m": 9, "n": 16, "k": 16}),
    "conv2d with epilogue": ("conv2d_epilogue", {"h": 7, "w": 7}),
}


BASES = (0, 256 * 77)  # elements of WGT are the largest


def run_vta(image, records, base):
    """One run, with garbage in the memories and queues that overtake each other at random."""
    Vta(image, base, seed=len(records) + base).run(records)


@pytest.mark.parametrize(("kernel", "sizes"), KERNELS.values(), ids=KERNELS)
def test_binaries_compute_what_numpy_computes(kernel, sizes, tmp_path):
    check_kernel(kernel, "vta", tmp_path, run_vta, sizes, BASES, effort=0.05)


@pytest.mark.parametrize("sizes", [{"h": 9, "w": 11, "pad": 0}, {"h": 7, "w": 6, "c": 19}], ids=str)
def test_max_pooling_runs_on_the_alu_alone(sizes, tmp_path):
    program = check_kernel("pooling", "vta", tmp_path, run_vta, sizes)
    assert not program.host_calls
