"""Packing in C against packing in NumPy, layout by layout."""

import ctypes
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.codegen.c.pack_loops import fill_lines, pack_function
from isamap.codegen.c.parameters import Parameter
from isamap.codegen.c.toolchain import FLAGS
from isamap.program import Axis, Layout, pack
from tests.program.test_pack import layouts

COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "")
pytestmark = pytest.mark.skipif(not COMPILER, reason="no C compiler: install gcc")
HEAD = "#include <stdint.h>\n#include <string.h>\n"
# pairs of one element and a zero, with a border; quadruples from four rows, the last ones missing
PAIRS = Layout(
    "i8", (5, 16), (Axis(0, 1, 7, 32), Axis(1, 1, 16, 2), Axis(1, 16, 2, 1)), (1, 0), 224
)
ROWS = Layout("i8", (6, 32), (Axis(0, 4, 2, 128), Axis(1, 1, 32, 4), Axis(0, 1, 4, 1)), (0, 0), 256)


def in_c(layout: Layout, array: np.ndarray | None, folder: Path) -> np.ndarray:
    """What C packs of the array, or fills the layout with."""
    parameter = Parameter("A", "A", layout, 0, is_read=True, is_written=False)
    if array is None:
        lines = fill_lines(parameter)
        assert lines is not None
        lines = ["void f(const void *from, void *A) {", "(void)from;", *lines, "}"]
    else:
        lines = pack_function("f", parameter)
        assert lines is not None
    source, library = folder / "f.c", folder / f"f{len(list(folder.iterdir()))}.so"
    source.write_text(HEAD + "\n".join(lines))
    command = [COMPILER, "-O2", *FLAGS, "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, "-o", library, source], check=True)
    data = np.full(layout.size_bytes, 99, np.uint8)
    given_array = np.ascontiguousarray(array if array is not None else 0)
    ctypes.CDLL(str(library)).f(
        ctypes.c_void_p(given_array.ctypes.data), ctypes.c_void_p(data.ctypes.data)
    )
    return data


@settings(max_examples=30, deadline=None)
@given(layouts(), st.integers(0, 99), st.sampled_from([0, -7]))
def test_every_element_and_the_padding_are_in_their_places(
    tmp_path_factory: pytest.TempPathFactory, layout: Layout, seed: int, padding: int
) -> None:
    layout = replace(layout, plane_bytes=None, padding=padding)
    if any(axis.stride_bytes % 4 for axis in layout.axes):  # those in planes lie a byte apart
        axes = tuple(replace(axis, stride_bytes=4 * axis.stride_bytes) for axis in layout.axes)
        layout = replace(layout, axes=axes)
    array = np.random.default_rng(seed).integers(-(2**31), 2**31, layout.shape).astype(np.int32)
    data = in_c(layout, array, tmp_path_factory.mktemp("pack"))
    assert np.array_equal(data, pack(array, layout))


@pytest.mark.parametrize("layout", [PAIRS, ROWS])
@pytest.mark.parametrize("padding", [0, 3])
def test_positions_side_by_side_are_written_in_one_iteration(
    layout: Layout, padding: int, tmp_path: Path
) -> None:
    layout = replace(layout, padding=padding)
    array = np.random.default_rng(0).integers(-128, 128, layout.shape).astype(np.int8)
    assert np.array_equal(in_c(layout, array, tmp_path), pack(array, layout))
    parameter = Parameter("A", "A", layout, 0, is_read=True, is_written=False)
    lines = pack_function("f", parameter) or []
    assert not any("d2 <" in line for line in lines)
    assert any("= x[" in line and "?" not in line for line in lines)


def test_what_begins_as_zeros_has_its_padding(tmp_path: Path) -> None:
    layout = replace(PAIRS, padding=3)
    zeros = np.zeros(layout.shape, np.int8)
    assert np.array_equal(in_c(layout, None, tmp_path), pack(zeros, layout))
