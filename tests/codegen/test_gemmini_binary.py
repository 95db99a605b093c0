"""Gemmini's command streams on an independent simulator of the machine, bit-exact against NumPy."""

import struct
import subprocess
from shutil import which

import pytest

from isamap.codegen import assemble, run_bytes, write_c
from tests.codegen.gemmini_machine import Gemmini
from tests.codegen.run_binary import check_kernel, map_program

BASES = (0x8000_0000, 0x40)
KERNELS = {
    "gemm square": ("gemm", {"m": 32, "n": 48, "k": 64}),
    "gemm odd": ("gemm", {"m": 21, "n": 33, "k": 19}),
    "gemm of one row": ("gemm", {"m": 1, "n": 17, "k": 40}),
    "gemm transposed A": ("gemm:gemm_tn", {"m": 20, "n": 18, "k": 35}),
    "gemm transposed B": ("gemm:gemm_nt", {"m": 20, "n": 18, "k": 35}),
    "conv2d 3x3 padded": ("conv2d", {"h": 7, "w": 9}),
    "conv2d stride 2": ("conv2d", {"h": 9, "w": 9, "stride": 2}),
    "depthwise": ("depthwise_conv", {"h": 6, "w": 6}),
    "depthwise-separable": ("wrapped:separable_conv_wrapped", {"h": 6, "w": 6}),
    "bias, scale": ("gemm_epilogue:gemm_requantise_scaled", {"m": 20, "n": 17, "k": 33}),
    "conv2d with bias, relu, scale": ("conv2d_epilogue:conv2d_requantise_scaled", {"h": 7, "w": 7}),
    "three layers": ("mlp:mlp_scaled", {"n": 5}),
}


def run_gemmini(image, records, base):
    """One run on a machine that was just switched on."""
    Gemmini(image, base).run(records)


@pytest.mark.parametrize(("kernel", "sizes"), KERNELS.values(), ids=KERNELS)
def test_binaries_compute_what_numpy_computes(kernel, sizes, tmp_path):
    check_kernel(kernel, "gemmini", tmp_path, run_gemmini, sizes, BASES, effort=0.05)


OUTPUT_STATIONARY = (
    "gemm odd",
    "gemm transposed A",
    "conv2d 3x3 padded",
    "depthwise-separable",
    "bias, scale",
)


@pytest.mark.parametrize("name", OUTPUT_STATIONARY)
def test_the_output_stationary_flow_computes_the_same(name, tmp_path):
    kernel, sizes = KERNELS[name]
    program = check_kernel(
        kernel, "gemmini_os", tmp_path, run_gemmini, sizes, BASES, time_limit_s=1
    )
    assert not program.host_calls or name == "depthwise-separable"  # it wraps, mvout saturates


def run_watched(kernel, hw, sizes, folder, **options):
    """The machine that a binary ran on, once it has been found right."""
    machines = []

    def run(image, records, base):
        machines.append(Gemmini(image, base))
        machines[-1].run(records)

    check_kernel(kernel, hw, folder, run, sizes, **options)
    (machine,) = machines
    return machine


def test_registers_are_set_once_not_per_call(tmp_path):
    machine = run_watched("gemm", "gemmini", {"m": 64, "n": 80, "k": 48}, tmp_path)
    assert machine.num_configs == 5  # strides of A, B and C in, the array, C out


def test_sums_stay_in_the_array_until_their_tile_is_done(tmp_path):
    sizes = {"m": 1, "n": 16, "k": 40}  # one tile of C, whatever the order of the loops
    machine = run_watched("gemm", "gemmini_os", sizes, tmp_path)
    assert (machine.num_products, machine.num_results) == (3, 1)


HOST = """
#include <stdio.h>
#define GEMMINI(funct, rs1, rs2) \\
  printf("%x %llx %llx\\n", funct, (unsigned long long)(rs1), (unsigned long long)(rs2))
#include "gemm.c"
static _Alignas(64) uint8_t image[GEMM_IMAGE_BYTES];
int main(void) {
  printf("%llx\\n", (unsigned long long)(uintptr_t)image);
  gemm_prepare(image);
  gemm_run(image);
}
"""


@pytest.fixture(scope="module")
def mapped():
    """Kernel, program, machine of one product."""
    return map_program("gemm", "gemmini", {"m": 21, "n": 33, "k": 19})


def test_the_c_form_issues_the_same_commands_wherever_its_image_lies(mapped, tmp_path):
    kernel, program, hw = mapped
    write_c(program, kernel, hw, tmp_path)
    (tmp_path / "host.c").write_text(HOST)
    subprocess.run(["gcc", "-O0", "host.c", "-o", "host"], cwd=tmp_path, check=True)
    first, *lines = subprocess.run([tmp_path / "host"], stdout=-1, text=True).stdout.splitlines()
    commands = [tuple(int(word, 16) for word in line.split()) for line in lines]
    records = run_bytes(assemble(program, hw, base=int(first, 16)).runs[0], hw)
    assert commands == list(struct.iter_unpack("<QQQ", records))


@pytest.mark.skipif(not which("riscv64-linux-gnu-gcc"), reason="needs gcc-riscv64-linux-gnu")
def test_the_c_form_compiles_to_custom_3_instructions(mapped, tmp_path):
    kernel, program, hw = mapped
    write_c(program, kernel, hw, tmp_path)
    arguments = ["-O1", "-ffreestanding", "-c", "gemm.c", "-o", "gemm.o"]
    subprocess.run(["riscv64-linux-gnu-gcc", *arguments], cwd=tmp_path, check=True)
    dump = ["riscv64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", "gemm.o", "text"]
    subprocess.run(dump, cwd=tmp_path, check=True)
    code = (tmp_path / "text").read_bytes()
    found = 0
    position = 0
    while position < len(code):
        is_long = code[position] & 3 == 3  # the others are compressed, 2 bytes
        word = int.from_bytes(code[position : position + 4], "little")
        if is_long and word & 0x7F == 0x7B:
            assert (word >> 12) & 7 == 3 and (word >> 7) & 31 == 0  # both sources, no destination
            found += 1
        position += 4 if is_long else 2
    assert found == (tmp_path / "gemm.c").read_text().count("  GEMMINI(")
