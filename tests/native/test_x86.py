"""The bundled x86 machines on a processor that has their instructions: exact on whole numbers."""

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.codegen import missing_features
from isamap.ir import interpret
from isamap.native import RemoteRun, execute_c, execute_together, whole_arrays
from isamap.native.mapped import map_program
from isamap.program import issues, listing
from isamap.resources import find_hardware
from isamap.scheduler import Wishes

KERNELS = Path(__file__).parent.parent / "codegen" / "c_kernels.py"
SIZES = ((1, 1, 1), (2, 15, 1), (5, 7, 3), (16, 16, 16), (37, 70, 19))
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


def skip_unless_native(machine: str) -> None:
    """Skip, naming the features that this processor lacks."""
    rule = isamap.load_hardware(find_hardware(machine)).compiler
    assert rule is not None
    missing = missing_features(rule)
    if missing:
        pytest.skip(f"this processor lacks {', '.join(missing)}")


@pytest.mark.parametrize(
    "machine, kernel, sizes",
    [
        pytest.param(machine, kernel, sizes, id=f"{machine}-{kernel}-{sizes}")
        for machine, kernel in CASES
        for sizes in (SIZES if machine in ("x86_avx512", "x86_avx2") else SIZES[2::2])  # variants
    ],
)
def test_products_are_exact(machine: str, kernel: str, sizes: tuple[int, int, int]) -> None:
    skip_unless_native(machine)
    done = isamap.run_on(
        f"{KERNELS}:{kernel}",
        machine,
        sizes=dict(zip("mnk", sizes, strict=True)),
        time_limit_s=1,
        may_reassociate=True,
        flags=("-Wall", "-Wextra", "-Werror"),
    )
    assert done.mismatch is None


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
        flags=("-Wall", "-Wextra", "-Werror"),
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


MACHINES = ("x86_avx512", "x86_avx2")
FEW = (
    *product(MACHINES, ((1, 203, 310), (21, 1, 4099), (4, 203, 310), (13, 2, 57))),
    ("x86_avx512", (3, 21, 4099)),
    ("x86_avx2", (2, 21, 4099)),  # of three it takes two at once
)


@pytest.mark.parametrize("machine, sizes", FEW, ids=str)
def test_rows_times_a_few_vectors_are_summed_along_the_rows(
    machine: str, sizes: tuple[int, int, int]
) -> None:
    """Sizes that end within a block in every direction."""
    skip_unless_native(machine)
    wishes = Wishes(may_reassociate=True)
    given = dict(zip("mnk", sizes, strict=True))
    found = map_program(f"{KERNELS}:sgemm_nt", machine, wishes, sizes=given)
    assert "dot_block_f32" in listing(found.program)
    done = isamap.run_on(
        f"{KERNELS}:sgemm_nt", machine, sizes=given, time_limit_s=1, may_reassociate=True,
        flags=("-Wall", "-Wextra", "-Werror"),
    )  # fmt: skip
    assert done.mismatch is None


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
