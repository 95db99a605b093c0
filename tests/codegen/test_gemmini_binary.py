"""Gemmini's command streams on an independent simulator of the machine, bit-exact against NumPy."""

import pytest
from gemmini_machine import Gemmini
from run_binary import check_kernel

BASE = 0x8000_0000
KERNELS = {
    "gemm square": ("gemm", {"m": 32, "n": 48, "k": 64}),
    "gemm odd": ("gemm", {"m": 21, "n": 33, "k": 19}),
    "gemm of one row": ("gemm", {"m": 1, "n": 17, "k": 40}),
    "gemm transposed A": ("gemm:gemm_tn", {"m": 20, "n": 18, "k": 35}),
    "gemm transposed B": ("gemm:gemm_nt", {"m": 20, "n": 18, "k": 35}),
    "conv2d 3x3 padded": ("conv2d", {"h": 7, "w": 9}),
    "conv2d stride 2": ("conv2d", {"h": 9, "w": 9, "stride": 2}),
    "depthwise": ("depthwise_conv", {"h": 6, "w": 6}),
    "depthwise-separable": ("separable_conv", {"h": 6, "w": 6}),
    "bias, scale": ("gemm_epilogue:gemm_requantise_scaled", {"m": 20, "n": 17, "k": 33}),
    "conv2d with bias, relu, scale": ("conv2d_epilogue:conv2d_requantise_scaled", {"h": 7, "w": 7}),
    "three layers": ("mlp:mlp_scaled", {"n": 5}),
}


def run_gemmini(image, records):
    """One run on a machine that was just switched on."""
    Gemmini(image, BASE).run(records)


@pytest.mark.parametrize(("kernel", "sizes"), KERNELS.values(), ids=KERNELS)
def test_binaries_compute_what_numpy_computes(kernel, sizes, tmp_path):
    check_kernel(kernel, "gemmini", tmp_path, run_gemmini, sizes, time_limit_s=3)
