"""Memories that are arrays of a generated function: as large as what its calls reach."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isamap.codegen import find_toolchain, generate_c, missing_features
from isamap.codegen.c.arrays import ALIGN_BYTES, LARGE_BYTES
from isamap.emulator import run
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import interpret
from isamap.mapper import Covering
from isamap.native import execute_c, whole_arrays
from isamap.native.mapped import map_program
from isamap.program import Program
from isamap.resources import bundled, find_hardware
from isamap.scheduler import Wishes, is_legal, lower
from tests.native.test_packed_stays import CASES, machine, packing, packs, tilings
from tests.scheduler.tilings import packed_once

VECTOR_BYTES = 64


def with_panel(hw: Hardware, count: int) -> Hardware:
    """The machine with so many bytes for packed operands."""
    sized = (replace(m, size_bytes=count) if m.within else m for m in hw.memories)
    return replace(hw, memories=tuple(sized))


def panel_bytes(text: str) -> int:
    """Of the array in a C file."""
    found = re.search(r"static _Thread_local \S+ uint8_t panel_array\[(\d+)\];", text)
    assert found is not None
    return int(found.group(1))


@pytest.mark.parametrize("name, sizes, tiles", CASES, ids=str)
def test_arrays_hold_what_calls_reach_and_little_more(
    name: str, sizes: tuple[int, int, int], tiles: tuple[int, int, int]
) -> None:
    """The emulator finds every byte inside them, and some outside of arrays that are smaller."""
    roomy = with_panel(machine(), 1 << 20)
    for covering in packing(roomy, sizes, name)[:3]:
        for tiling in tilings(covering, roomy, tiles)[-2:]:
            program = lower(covering, tiling, roomy)
            assert program is not None
            count = panel_bytes(generate_c(program, roomy).text)
            emulate(program, covering, with_panel(roomy, count))
            smaller = count - ALIGN_BYTES - VECTOR_BYTES
            if smaller > 0:
                with pytest.raises(IsamapError):
                    emulate(program, covering, with_panel(roomy, smaller))


def emulate(program: Program, covering: Covering, hw: Hardware) -> None:
    arrays = whole_arrays(covering.kernel, 1)
    shaped = {p.buffer: arrays[p.buffer].reshape(p.layout.shape) for p in program.inputs}
    run(program, hw, shaped, compiled=False)


def test_a_large_array_is_put_on_large_pages_and_computes_the_same() -> None:
    hw = with_panel(machine(), 2 * LARGE_BYTES)
    if missing := missing_features(hw.compiler):
        pytest.skip(f"this processor lacks {', '.join(missing)}")
    for covering in packing(hw, (2, 1104, 1000), "sgemm"):
        if packs(covering.operand("B")):
            tiling = packed_once(covering, 3)
            break
    else:
        raise AssertionError("B may be packed")
    assert is_legal(covering, tiling, hw)
    program = lower(covering, tiling, hw)
    assert program is not None
    text = generate_c(program, hw).text
    assert panel_bytes(text) == 4 * 1104 * 1000
    assert text.count(f"isamap_large_pages(panel, {4 * 1104 * 1000})") == 1
    arrays = whole_arrays(covering.kernel, 1)
    expected = interpret(covering.kernel, arrays)["C"]
    np.testing.assert_array_equal(execute_c(program, hw, arrays)["C"], expected)


def test_a_thread_asks_for_its_array_once(tmp_path: Path) -> None:
    """Not in loops, where each call of the C library costs all vector registers."""
    hw = load_hardware(find_hardware("x86_avx512"))
    if find_toolchain(hw).run or missing_features(hw.compiler):
        pytest.skip("this processor runs no AVX-512")
    sizes = {"m": 512, "n": 350, "k": 512}  # without a pointer GCC 12 has eight such calls
    wishes = Wishes(may_reassociate=True).within(1.0)
    path = bundled("kernels", ".py")["gemm"]
    mapped = map_program(path, hw, wishes, sizes=sizes, name="gemm_f32")
    source = generate_c(mapped.program, mapped.hardware, mapped.given)
    text, assembly = tmp_path / "gemm_f32.c", tmp_path / "gemm_f32.s"
    text.write_text(source.text)
    text.with_suffix(".h").write_text(source.header)
    find_toolchain(hw).compile_shared(text, assembly, (*source.flags, "-S"))
    assert "panel" in source.text
    assert len(re.findall(r"call\s+__tls_get_addr", assembly.read_text())) <= 1
