"""Packing against the sentence in Layout's docstring, element by element."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import ProgramError
from isamap.ir import DTYPES, interpret, parse_semantics, random_arrays
from isamap.program import Axis, Layout, natural_layout, pack, unpack


def oracle(array: np.ndarray, layout: Layout) -> np.ndarray:
    """Every position of every axis, one at a time."""
    data = np.zeros(layout.size_bytes, np.uint8)
    for digits in product(*(range(axis.size) for axis in layout.axes)):
        place, index = 0, [-border for border in layout.border]
        for digit, axis in zip(digits, layout.axes):
            place += digit * axis.stride_bytes
            index[axis.dim] += digit * axis.step
        if all(0 <= at < size for at, size in zip(index, array.shape)):
            element = np.frombuffer(array[tuple(index)].tobytes(), np.uint8)
            gap = layout.plane_bytes or 1
            data[place : place + gap * len(element) : gap] = element
    return data


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Blocked, padded, bordered, sometimes replicated layouts of two-dimensional i32 arrays."""
    shape = (draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    border = (draw(st.integers(0, 2)), draw(st.integers(0, 2)))
    parts = []
    for dim in range(2):
        block = draw(st.integers(1, 4))
        step = draw(st.sampled_from([block, max(1, block - 1)]))  # smaller steps replicate
        count = -(-(shape[dim] + 2 * border[dim]) // step)
        parts += [(dim, step, count), (dim, 1, block)]
    order = draw(st.permutations(parts))
    planes = draw(st.booleans())
    stride = 1 if planes else 4
    axes = []
    for dim, step, size in order:
        axes.append(Axis(dim, step, size, stride))
        stride *= size
    size_bytes = stride * 4 if planes else stride
    return Layout("i32", shape, tuple(axes), border, size_bytes, stride if planes else None)


@given(layouts(), st.integers(0, 99))
def test_pack_places_every_element_and_unpack_finds_it(layout: Layout, seed: int) -> None:
    array = np.random.default_rng(seed).integers(-(2**31), 2**31, layout.shape).astype(np.int32)
    data = pack(array, layout)
    assert np.array_equal(data, oracle(array, layout))
    assert np.array_equal(unpack(data, layout), array)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4)])
def test_natural_layout_is_the_array_itself(shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape, dtype=int), dtype=np.int16).reshape(shape)
    layout = natural_layout("i16", shape)
    assert pack(array, layout).tobytes() == array.tobytes()
    assert np.array_equal(unpack(pack(array.T.copy().T, layout), layout), array)
    assert layout.size_bytes == array.nbytes


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_is_packed_and_read_with_steps(dtype: str) -> None:
    text = (
        f"x, y = In({dtype}, 4, 6), Out({dtype}, 6, 2)\n"
        "for i, j in grid(6, 2):\n    y[i, j] = x[2 * j + 1, i]\n"
    )
    kernel = parse_semantics(text, "columns")
    inputs = random_arrays(kernel, seed=2)
    rows = inputs["x"][1::2]
    assert np.array_equal(interpret(kernel, inputs)["y"].view(np.uint8), rows.T.copy().view("u1"))
    size = rows.dtype.itemsize
    axes = (Axis(1, 1, 6, 2 * size), Axis(0, 1, 2, size))
    layout = Layout(dtype, (2, 6), axes, (0, 0), 12 * size)
    data = pack(rows.copy(), layout)
    assert data.tobytes() == rows.T.copy().tobytes()
    assert unpack(data, layout).tobytes() == rows.tobytes()


def test_an_array_of_another_type_or_shape_is_refused() -> None:
    layout = natural_layout("i8", (2, 3))
    message = r"array float64\[2, 3\] given, layout holds i8\[2, 3\]"
    with pytest.raises(ProgramError, match=message):
        pack(np.zeros((2, 3)), layout)
    with pytest.raises(ProgramError, match=r"array int8\[3, 2\] given"):
        pack(np.zeros((3, 2), np.int8), layout)


@given(layouts(), st.integers(1, 5))
def test_dimensions_may_be_seen_as_one(layout: Layout, size: int) -> None:
    """Rows of the layout are planes of the array, cut into as many rows as divide them."""
    rows, columns = layout.shape
    size = size if columns % size == 0 else 1
    array = np.arange(rows * columns, dtype=np.int32).reshape(rows, size, columns // size)
    assert np.array_equal(pack(array, layout), pack(array.reshape(rows, columns), layout))


@pytest.mark.parametrize("shape", [(3, 4), (4, 6), (2, 3, 5), (4, 3, 2), (24,), ()])
def test_other_shapes_with_as_many_elements_are_refused(shape: tuple[int, ...]) -> None:
    layout = natural_layout("i8", (6, 4))
    with pytest.raises(ProgramError, match="layout holds"):
        pack(np.zeros(shape, np.int8), layout)
    assert pack(np.zeros((2, 3, 4), np.int8), layout).size == 24
