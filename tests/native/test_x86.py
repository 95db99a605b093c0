"""The bundled x86 machines on a processor that has their instructions: exact on whole numbers."""

import sys
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.ir import interpret
from isamap.native import RemoteRun, execute_c, execute_together, whole_arrays
from isamap.native.mapped import map_program
from isamap.program import issues, listing
from isamap.resources import find_hardware
from isamap.scheduler import Wishes
from tests.native.products import (
    KERNELS,
    STRICT,
    assert_exact,
    map_product,
    skip_unless_native,
)

SIZES = ((1, 1, 1), (2, 15, 3), (16, 16, 16), (37, 70, 19))  # fewer than lanes, as many, more
CASES = (
    ("x86_avx512", "sgemm"),
    ("x86_avx512", "sgemm_adds"),
    ("x86_avx512", "dgemm"),
    ("x86_avx512", "bgemm"),
    ("x86_avx512", "ugemm"),
    ("x86_golden_cove", "sgemm"),
    ("x86_golden_cove", "bgemm"),
    ("x86_ice_lake", "bgemm"),
    ("x86_ice_lake", "ugemm"),
    ("x86_avx2", "sgemm"),
    ("x86_avx2", "dgemm"),
    ("x86_avx2", "bgemm"),
    ("x86_avx2", "sgemm_nt"),
    ("x86_avx2", "ugemm"),
    ("x86_golden_cove_avx2", "sgemm"),
    ("x86_golden_cove_avx2", "ugemm"),
    ("x86_avx512", "sgemm_bias_relu"),
    ("x86_avx2", "sgemm_relu"),
)


@pytest.mark.parametrize("machine, kernel", CASES, ids=str)
def test_products_are_exact(machine: str, kernel: str) -> None:
    skip_unless_native(machine)
    is_variant = machine not in ("x86_avx512", "x86_avx2")
    every = SIZES[1::2] if is_variant else SIZES
    assert_exact([map_product(kernel, machine, sizes) for sizes in every])


def test_what_a_processor_need_not_have_is_not_emitted() -> None:
    rule = isamap.load_hardware(find_hardware("x86_ice_lake")).compiler
    assert rule is not None and "avx512_bf16" not in rule.features
    texts = [
        str([instruction.c_form for instruction in isamap.load_hardware(path).instructions])
        for path in map(find_hardware, ("x86_golden_cove", "x86_ice_lake"))
    ]
    assert ["vdpbf16ps" in text for text in texts] == [True, False]
    assert ["__m512bh" in text for text in texts] == [True, False]


def test_sums_of_a_state_are_right_within_what_verify_tolerates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A state that went through tanh is not whole: no order of its sums is exact."""
    skip_unless_native("x86_avx512")
    sizes = {"steps": 2, "batch": 3, "hidden": 37}

    def run() -> RemoteRun:
        name = "gru:gru_skip_bf16"
        return isamap.run_on(name, "x86_avx512", sizes=sizes, time_limit_s=2, may_reassociate=True)

    done = run()
    assert done.mismatch is None
    assert 0 < done.tolerance < 0.5, "a state lies between -1 and 1"
    module = sys.modules["isamap.native.run_on"]

    def execute_wrongly(*arguments: object) -> list[dict[str, np.ndarray]]:
        (outputs,) = execute_together(*arguments)  # type: ignore[arg-type]
        outputs["h"].reshape(-1)[-1] += 2 * done.tolerance
        return [outputs]

    monkeypatch.setattr(module, "map_program", lambda *_, **__: done.mapped)
    monkeypatch.setattr(module, "execute_together", execute_wrongly)
    wrong = run().mismatch
    assert wrong is not None and wrong.num_wrong == 1


@pytest.mark.parametrize("kernel", ["conv2d:conv2d_bf16", "separable_conv:separable_conv_f32"])
def test_convolutions_of_odd_sizes_are_exact(kernel: str) -> None:
    """Through the mapper's own variants: paddings of zeros, channels fewer than lanes."""
    skip_unless_native("x86_avx512")
    done = isamap.run_on(
        kernel,
        "x86_avx512",
        sizes={"h": 7, "w": 5, "c": 3, "k": 19},
        time_limit_s=0.5,
        may_reassociate=True,
        flags=STRICT,
    )
    assert done.mismatch is None


def test_what_is_packed_ahead_is_not_copied_again() -> None:
    """Without `ahead` B is copied into the panel: vectors along its rows, which lie apart."""
    for ahead, panels in (((), {"panel"}), (("B",), set())):
        found = map_program(
            f"{KERNELS}:sgemm_nt",
            "x86_avx512",
            Wishes(time_limit_s=1, may_reassociate=True),
            sizes={"m": 48, "n": 64, "k": 100},
            ahead=ahead,
        )
        assert {m for m in ("panel",) if f"{m}[" in listing(found.program)} == panels


@pytest.mark.parametrize("sizes", [(5, 37, 9), (16, 64, 40)], ids=str)
def test_what_is_packed_ahead_lies_as_its_vectors_want(sizes: tuple[int, int, int]) -> None:
    """Vectors along the rows of B, whose elements lie k apart."""
    skip_unless_native("x86_avx512")
    wishes = Wishes(time_limit_s=1, may_reassociate=True)
    found = map_program(
        f"{KERNELS}:sgemm_nt", "x86_avx512", wishes,
        sizes=dict(zip("mnk", sizes, strict=True)), ahead=("B",),
    )  # fmt: skip
    used = {issue.instruction for issue in issues(found.program.body)}
    assert used == {"zero_f32", "load_f32", "fma_scalar_f32", "store_f32"}
    arrays = whole_arrays(found.kernel, 1)
    got = execute_c(found.program, found.hardware, arrays)["C"]
    np.testing.assert_array_equal(got, interpret(found.kernel, arrays)["C"])


def test_what_is_packed_ahead_may_be_widened_into_a_panel() -> None:
    """Each of 80 rows of A comes again for every 16 columns of B, of which a register holds few."""
    skip_unless_native("x86_golden_cove")
    wishes = Wishes(time_limit_s=1, may_reassociate=True)
    found = map_program(
        f"{KERNELS}:bgemm", "x86_golden_cove", wishes,
        sizes={"m": 80, "n": 129, "k": 33}, ahead=("A", "B"),
    )  # fmt: skip
    used = {issue.instruction for issue in issues(found.program.body)}
    assert any(name.startswith("pack_") and name.endswith("bf16_f32") for name in used)
    arrays = whole_arrays(found.kernel, 1)
    got = execute_c(found.program, found.hardware, arrays)["C"]
    np.testing.assert_array_equal(got, interpret(found.kernel, arrays)["C"])


def test_an_element_that_several_vectors_need_is_broadcast_once() -> None:
    """64 columns are four vectors: that many reads of each element of A in place keep the nearest
    cache from being refilled."""
    skip_unless_native("x86_golden_cove")
    wishes = Wishes(time_limit_s=5, may_reassociate=True)
    found = map_program(
        f"{KERNELS}:sgemm", "x86_golden_cove", wishes, sizes={"m": 90, "n": 64, "k": 1024},
        ahead=("B",),
    )  # fmt: skip
    used = {issue.instruction for issue in issues(found.program.body)}
    assert {"broadcast_f32", "fma_f32"} <= used
    arrays = whole_arrays(found.kernel, 1)
    got = execute_c(found.program, found.hardware, arrays)["C"]
    np.testing.assert_array_equal(got, interpret(found.kernel, arrays)["C"])


FEW = ((1, 203, 310), (21, 1, 4099), (4, 203, 310), (13, 2, 57))
THREE = {"x86_avx512": 3, "x86_avx2": 2}  # of three vectors the latter takes two at once


@pytest.mark.parametrize("machine", THREE)
def test_rows_times_a_few_vectors_are_summed_along_the_rows(machine: str) -> None:
    """Sizes that end within a block in every direction."""
    skip_unless_native(machine)
    every = (*FEW, (THREE[machine], 21, 4099))
    found = [map_product("sgemm_nt", machine, sizes, time_limit_s=10) for sizes in every]
    for one in found:
        assert "dot_block_f32" in listing(one.program)
    assert_exact(found)


def test_arrays_that_lie_badly_are_not_repacked_in_every_run() -> None:
    """B would be read faster transposed, by more than a quarter, if that cost nothing."""
    wishes = Wishes(time_limit_s=1, may_reassociate=True)
    sizes = {"m": 2, "n": 8192, "k": 2048}
    found = map_program(f"{KERNELS}:sgemm", "x86_avx512", wishes, sizes=sizes)
    assert all("row-major" in line for line in listing(found.program).splitlines()[1:4])


def test_sums_that_the_host_adds_to_an_array_begin_at_zero(tmp_path: Path) -> None:
    skip_unless_native("x86_avx2")
    sizes = {"m": 1, "n": 1, "k": 3}
    built = isamap.build(f"{KERNELS}:sgemm", "x86_avx2", sizes=sizes, out=tmp_path)
    assert built.program.host_calls
    arrays = whole_arrays(built.kernel, 0)
    expected = interpret(built.kernel, arrays)["C"]
    assert np.array_equal(built(**arrays, C=np.full((1, 1), 9, np.float32)), expected)
