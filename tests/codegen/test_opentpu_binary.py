"""OpenTPU's programs, timed by themselves, on a simulator that interlocks nothing."""

import pytest
from opentpu_machine import OpenTpu
from run_binary import check_kernel

KERNELS = {
    "gemm square": ("gemm:gemm_i8", {"m": 32, "n": 32, "k": 32}),
    "gemm odd": ("gemm:gemm_i8", {"m": 19, "n": 33, "k": 40}),
    "gemm of one row": ("gemm:gemm_i8", {"m": 1, "n": 20, "k": 50}),
    "gemm tall": ("gemm:gemm_i8", {"m": 300, "n": 16, "k": 48}),
}


def run_opentpu(image, records):
    """One program on a machine that was just switched on."""
    OpenTpu(image).run(records)


@pytest.mark.parametrize(("kernel", "sizes"), KERNELS.values(), ids=KERNELS)
def test_programs_keep_every_distance_and_compute_what_numpy_computes(kernel, sizes, tmp_path):
    check_kernel(kernel, "opentpu", tmp_path, run_opentpu, sizes, time_limit_s=3)
