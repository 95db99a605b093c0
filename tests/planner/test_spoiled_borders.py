"""What a task writes around an array is not handed on to a task that counts on zeros there.

In: sums of windows on vta, by products with ones that an instruction writes 16 at a time. Out:
programs that agree with the kernel. Not its job: what is written, and what is counted on.
"""

import isamap

WINDOWS = """
from isamap.lang import In, InOut, grid, i8, i32, kernel

@kernel
def windows(w=40):
    x, y = In(i8, w), InOut(i32, w - 2)
    for p, v in grid(w - 2, 3):
        y[p] += i32(x[p + v])
"""


def test_ones_around_an_array_are_not_read_as_zeros(tmp_path):
    file = tmp_path / "windows.py"
    file.write_text(WINDOWS)
    assert isamap.map(str(file), "vta", verify="full").verification.is_verified
