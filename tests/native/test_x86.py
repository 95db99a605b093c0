"""The bundled x86 machines on a processor that has their instructions: exact on whole numbers."""

from pathlib import Path

import pytest

import isamap
from isamap.codegen import missing_features
from isamap.resources import find_hardware

KERNELS = Path(__file__).parent.parent / "codegen" / "c_kernels.py"
SIZES = (
    (1, 1, 1), (1, 17, 3), (2, 15, 1), (3, 16, 2), (5, 7, 3), (7, 31, 5), (13, 33, 17),
    (16, 16, 16), (31, 48, 9), (37, 70, 19), (64, 64, 64), (67, 13, 101),
)  # fmt: skip


def skip_unless_native(machine: str) -> None:
    """Skip, naming the features that this processor lacks."""
    rule = isamap.load_hardware(find_hardware(machine)).compiler
    assert rule is not None
    missing = missing_features(rule)
    if missing:
        pytest.skip(f"this processor lacks {', '.join(missing)}")


@pytest.mark.parametrize("m, n, k", SIZES)
def test_float_products_on_avx512_are_exact(m: int, n: int, k: int) -> None:
    skip_unless_native("x86_avx512")
    done = isamap.run_on(
        f"{KERNELS}:sgemm", "x86_avx512", sizes={"m": m, "n": n, "k": k}, time_limit_s=1,
        may_reassociate=True, flags=("-Wall", "-Wextra", "-Werror"),
    )  # fmt: skip
    assert done.mismatch is None
