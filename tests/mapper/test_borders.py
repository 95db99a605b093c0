"""What loops that run past the kernel's extents write around arrays, and who counts on zeros there.

In: small kernels on vta, whose calls take 16 of everything. Out: failures. Not its job: handing
arrays on.
"""

from pathlib import Path

from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel
from isamap.mapper import Covering, coverings, fills_border, needs_zeros

ROOT = Path(__file__).resolve().parent.parent.parent
HEAD = "from isamap.lang import *\n\n\n@kernel\ndef subject():\n"


def first(text: str, folder: Path) -> Covering:
    """The first covering on vta that runs past some extent."""
    file = folder / "subject.py"
    file.write_text(HEAD + text)
    kernel = load_kernel(file, {}, "subject")
    found = coverings(kernel, load_hardware(ROOT / "hw_specs" / "vta.yaml"), [])
    return next(c for c in found if any(loop.extent > loop.kernel_extent for loop in c.loops))


def test_numbers_are_written_around_an_array_and_sums_of_zeros_are_not(tmp_path: Path) -> None:
    ones = "    U = Out(i8, 4, 3)\n    for i, j in grid(4, 3):\n        U[i, j] = 1\n"
    assert fills_border(first(ones, tmp_path), "U")
    product = (
        "    A, B, C = In(i8, 4, 16), In(i8, 16, 3), Out(i32, 4, 3)\n"
        "    for i, j, k in grid(4, 3, 16):\n"
        "        C[i, j] += i32(A[i, k]) * i32(B[k, j])\n"
    )
    assert not fills_border(first(product, tmp_path), "C")


def test_sums_past_their_end_count_on_the_one_factor_that_is_zero_there(tmp_path: Path) -> None:
    window = (
        "    x, U, y = In(i8, 32), In(i8, 3, 16), InOut(i32, 16, 16)\n"
        "    for i, j, k in grid(16, 16, 3):\n"
        "        y[i, j] += i32(x[i + k]) * i32(U[k, j])\n"
    )
    covering = first(window, tmp_path)
    assert needs_zeros(covering, {"U"})
    assert not needs_zeros(covering, {"x"})
    both = first(window.replace("x[i + k]", "x.at(i + k + 16, pad=0)"), tmp_path)
    assert needs_zeros(both, {"x"}), "elements outside are read by name"
    assert needs_zeros(both, {"U", "x"})
