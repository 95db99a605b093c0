"""A host call by its text alone, as docs/binary.md says: the text is Python once its words mean
something.

In: the text of a kernel in a manifest, arrays. Out: the same arrays, written. Shares nothing with
isamap. Not its job: where the arrays lie (`loader`).
"""

import itertools
import re

import numpy as np

DTYPES = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
          "f32": np.float32, "f64": np.float64}  # fmt: skip
BUFFER = re.compile(r"^(\w+) = (?:In|Out|InOut)\(", re.MULTILINE)


class Array:
    """An array that may be read outside: `x.at(i, j, pad=0)`."""

    def __init__(self, values):
        self.values = values

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        assert all(0 <= i < size for i, size in zip(index, self.values.shape)), "outside"
        return self.values[index]

    def __setitem__(self, index, value):
        self.values[index] = to_type(self.values.dtype, value)

    def at(self, *index, pad):
        inside = all(0 <= i < size for i, size in zip(index, self.values.shape))
        return self.values[index] if inside else self.values.dtype.type(pad)


def to_type(dtype, value):
    """Conversion: integers wrap around."""
    if np.issubdtype(dtype, np.integer):
        bits = np.iinfo(dtype).bits
        value = int(value) & ((1 << bits) - 1)
        signed = np.issubdtype(dtype, np.signedinteger)
        return dtype.type(value - (1 << bits) if signed and value >> (bits - 1) else value)
    return dtype.type(value)


def saturate(dtype, value):
    """Conversion to the nearest number that the type has."""
    limits = np.iinfo(dtype)
    return dtype.type(min(max(int(value), limits.min), limits.max))


def grid(*sizes):
    """Positions in row-major order."""
    return itertools.product(*map(range, sizes)) if len(sizes) > 1 else range(*sizes)


def run_host_kernel(text, arrays):
    """Execute the text on arrays by name; what it writes is written into them."""
    names = iter(BUFFER.findall(text))

    def buffer(*_):
        return Array(arrays[next(names)])

    words = {
        "In": buffer, "Out": buffer, "InOut": buffer,
        "grid": grid,
        "round_even": np.rint,
        "relu": lambda value: max(value, type(value)(0)),
        "rshift_round": lambda value, by: (int(value) + (1 << int(by) >> 1)) >> int(by),
    }  # fmt: skip
    for name, kind in DTYPES.items():
        words[name] = lambda value, kind=kind: to_type(np.dtype(kind), value)
        words[f"sat_{name}"] = lambda value, kind=kind: saturate(np.dtype(kind), value)
    with np.errstate(over="ignore"):
        exec(text, words)
