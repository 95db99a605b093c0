"""Intel's tiles: every product on odd sizes, exact on whole numbers."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import isamap
from isamap.codegen import generate_c
from isamap.compile import load_machine
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import interpret
from isamap.native import execute_c, whole_arrays
from isamap.native.mapped import map_program
from isamap.program import issues
from isamap.scheduler import Wishes
from tests.native.products import (
    KERNELS,
    Sizes,
    assert_exact,
    map_product,
    skip_unless_native,
)

MACHINE = "x86_golden_cove_amx"
SIZES: tuple[Sizes, ...] = ((1, 1, 1), (5, 7, 3), (16, 16, 64), (33, 18, 131), (70, 37, 66))
PACKED_SIZES = SIZES[::2]
CASES = (
    ("bgemm", "tdpbf16ps"),
    ("bgemm_tn", "tdpbf16ps"),
    ("gemm", "tdpbssd"),
    ("gemm_nt", "tdpbssd"),
    ("gemm_iu", "tdpbsud"),
    ("ugemm", "tdpbusd"),
    ("ugemm_tn", "tdpbusd"),
)


@cache
def machine_with(computing: str) -> Hardware:
    """The machine with no other instruction that multiplies."""
    hw = load_machine(MACHINE)
    kept = tuple(i for i in hw.instructions if i.name == computing or not _adds_up(i))
    return replace(hw, instructions=kept, host=None)


def _adds_up(instruction: Instruction) -> bool:
    return any(s.update == "+=" for s in instruction.semantics.statements)


@pytest.mark.parametrize("kernel, instruction", CASES)
def test_every_element_is_right(kernel: str, instruction: str) -> None:
    """Also where weights are packed ahead, in groups along a sum that was cut in two: calls load
    them without a copy."""
    skip_unless_native(MACHINE)
    hw = machine_with(instruction)
    plain = [map_product(kernel, hw, sizes) for sizes in SIZES]
    for found in plain:
        assert any(call.instruction == instruction for call in issues(found.program.body))
    ahead = [map_product(kernel, hw, sizes, ahead=("B",)) for sizes in PACKED_SIZES]
    assert_exact([*plain, *ahead])


@pytest.mark.parametrize("kernel, instruction", CASES)
def test_emulated_programs_are_right(kernel: str, instruction: str) -> None:
    found = isamap.map(
        f"{KERNELS}:{kernel}",
        machine_with(instruction),
        sizes={"m": 33, "n": 18, "k": 131},
        time_limit_s=1,
        may_reassociate=True,
        verify="full",
    )
    assert found.verification.is_verified


def program_text(kernel: str, sizes: dict[str, int]) -> tuple[set[str], str]:
    """The instructions of a product's program on the whole machine, and its C."""
    wishes = Wishes(time_limit_s=2, may_reassociate=True)
    found = map_program(f"{KERNELS}:{kernel}", MACHINE, wishes, sizes=sizes)
    used = {issue.instruction for issue in issues(found.program.body)}
    return used, generate_c(found.program, found.hardware, found.given).text


def test_pairs_of_bf16_fill_tiles() -> None:
    """The sum is cut in two: one call takes 32 products per element, not 16 and zeros."""
    sizes = {"m": 64, "n": 64, "k": 512}
    found = isamap.map(f"{KERNELS}:bgemm", MACHINE, sizes=sizes, may_reassociate=True, verify="off")
    calls = [call for call in issues(found.program.body) if call.instruction == "tdpbf16ps"]
    assert calls
    assert all(dict(call.extents)["q"].limit == 2 for call in calls)


def test_tiles_are_set_up_where_they_are_used_only() -> None:
    used, text = program_text("bgemm", {"m": 64, "n": 64, "k": 512})
    assert "tdpbf16ps" in used
    assert text.count("tiles_begin();") == 1 and text.count("tilerelease") == 1
    used, text = program_text("sgemm", {"m": 16, "n": 32, "k": 8})
    assert not any("tile" in name for name in used)
    assert "tiles_begin" not in text and "tilerelease" not in text


def test_each_thread_sets_up_tiles_of_its_own() -> None:
    skip_unless_native(MACHINE)
    sizes = {"m": 64, "n": 256, "k": 512}
    built = isamap.build(
        f"{KERNELS}:bgemm", MACHINE, sizes=sizes, threads=2, may_reassociate=True, verify="full"
    )
    text = built.files.source.read_text()
    region = text[text.index("#pragma omp parallel") :]
    assert "tdpbf16ps" in text
    assert "tiles_begin();" in region and "tilerelease" in region
    assert built.verification is not None and built.verification.is_verified


def test_tiles_are_set_up_again_behind_the_work_of_threads() -> None:
    """The function's own thread has released its tiles there, with what all threads share out; what
    one thread does alone uses tiles, too."""
    sizes = {"n": 9, "c": 7, "first": 24, "second": 7, "k": 7}
    found = map_program("mlp:mlp_scaled", MACHINE, Wishes().within(0.0), sizes=sizes, threads=3)
    text = generate_c(found.program, found.hardware, found.given).text
    first = text.index("#pragma omp parallel")
    alone = text[text.index("\n  }\n", first) : text.index("#pragma omp parallel", first + 1)]
    assert "tdpb" in alone, "a task that is not shared out"
    assert 0 < alone.index("tiles_begin();") < alone.index("tileload")
    skip_unless_native(MACHINE)
    arrays = whole_arrays(found.kernel, 1)
    expected = interpret(found.kernel, arrays)["y"]
    np.testing.assert_array_equal(execute_c(found.program, found.hardware, arrays)["y"], expected)


def test_tiles_of_what_is_packed_ahead_are_not_copied() -> None:
    wishes = Wishes(time_limit_s=2, may_reassociate=True)
    sizes = {"m": 64, "n": 256, "k": 512}
    found = map_program(f"{KERNELS}:bgemm", MACHINE, wishes, sizes=sizes, ahead=("B",))
    used = {issue.instruction for issue in issues(found.program.body)}
    assert used == {"zero_tile_f32", "load_tile_bf16", "tdpbf16ps", "store_tile_f32"}
