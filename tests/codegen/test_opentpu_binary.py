"""OpenTPU's programs, timed by themselves, on a simulator that interlocks nothing."""

import pytest

from tests.codegen.opentpu_machine import OpenTpu
from tests.codegen.run_binary import check_kernel

KERNELS = {
    "gemm square": ("gemm:gemm_i8", {"m": 32, "n": 32, "k": 32}),
    "gemm odd": ("gemm:gemm_i8", {"m": 19, "n": 33, "k": 40}),
    "gemm of one row": ("gemm:gemm_i8", {"m": 1, "n": 20, "k": 50}),
    "gemm tall": ("gemm:gemm_i8", {"m": 300, "n": 16, "k": 48}),
    "gemm with relu": ("wrapped:gemm_relu_wrapped", {"m": 21, "n": 33, "k": 19}),
    "conv2d 3x3 padded": ("wrapped:conv2d_wrapped", {"h": 13, "w": 15}),
    "conv2d stride 2": ("wrapped:conv2d_wrapped", {"h": 17, "w": 17, "stride": 2, "c": 35}),
    "depthwise-separable": ("wrapped:separable_conv_wrapped", {"h": 12, "w": 12}),
}


BASES = (0, 256 * 9)


def run_opentpu(image, records, base):
    """One program on a machine that was just switched on."""
    OpenTpu(image, base).run(records)


@pytest.mark.parametrize(("kernel", "sizes"), KERNELS.values(), ids=KERNELS)
def test_programs_keep_every_distance_and_compute_what_numpy_computes(kernel, sizes, tmp_path):
    check_kernel(kernel, "opentpu", tmp_path, run_opentpu, sizes, BASES, effort=0.05)
