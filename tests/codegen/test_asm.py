"""Assembly text: PTX that a warp executes and ptxas takes; what the text of a call may name."""

import json
import subprocess
from shutil import which

import numpy as np
import pytest

from isamap.codegen import write_asm
from isamap.errors import ProgramError
from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, random_arrays
from isamap.program import Program
from tests.codegen.loader import Loader
from tests.codegen.ptx_machine import Warp
from tests.codegen.run_binary import map_program, reference_of
from tests.codegen.test_bits import at, load
from tests.hwdesc.coded_spec import CODED

SIZES = {"m": 21, "n": 13, "k": 40}  # smaller and larger than 16 x 8 x 32, and no multiples


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A product on tensor cores: kernel, folder, the PTX file."""
    kernel, program, hw = map_program("gemm:gemm_nt", "nvidia_hopper_mma", SIZES)
    folder = tmp_path_factory.mktemp("ptx")
    assert not program.host_calls
    return kernel, folder, write_asm(program, kernel, hw, folder)


def test_a_warp_that_executes_the_ptx_computes_the_product(written):
    kernel, folder, file = written
    loader = Loader(folder)
    arrays = random_arrays(kernel, 3)
    loader.put(arrays)
    Warp(loader.image).run(file.read_text())
    wanted = reference_of("gemm", kernel.name, SIZES)(**arrays)
    np.testing.assert_array_equal(loader.get()["C"], wanted["C"])


@pytest.mark.skipif(not which("ptxas"), reason="needs ptxas (NVIDIA CUDA toolkit)")
def test_ptxas_assembles_it(written):
    _, folder, file = written
    subprocess.run(["ptxas", "-arch=sm_90", file, "-o", folder / "cubin"], check=True)


ASM = """assembly:
  extension: asm
  comment: ";"
  registers: {sram: "s{number}"}
  begin: "{name}: ; of {dim}"
  source: invented
"""


def coded(tmp_path, *changes):
    """The invented machine with assembly text."""
    text = CODED + ASM
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file = tmp_path / "coded.yaml"
    file.write_text(text)
    return load_hardware(file)


def test_holes_name_registers_addresses_and_numbers(tmp_path):
    text = '      asm: "take {D} <- [{S}] x {r} by {S_stride0 / 4}"'
    hw = coded(tmp_path, ("    emit:\n      bits", f"    emit:\n{text}\n      bits"))
    body = (load(at(64), at(32), 1, 20, pushes=("filled",)),)
    file = write_asm(Program("hand", "coded", (), (), body), Kernel("hand", (), ()), hw, tmp_path)
    assert file.name == "hand.asm"
    lines = file.read_text().splitlines()
    assert lines[1] == "hand: ; of 4"
    assert lines[2] == "    take s8, s9, s10, s11 <- [64] x 1 by 5"
    assert json.loads((tmp_path / "manifest.json").read_text())["program"]["file"] == "hand.asm"


def test_an_instruction_without_text_is_named(tmp_path):
    with pytest.raises(ProgramError, match="'load' of coded has no assembly text") as caught:
        program = Program("hand", "coded", (), (), (load(at(0), at(0), 1, 16),))
        write_asm(program, Kernel("hand", (), ()), coded(tmp_path), tmp_path)
    assert "emit: {asm: ..}" in caught.value.hint
