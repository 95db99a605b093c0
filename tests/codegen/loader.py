"""A stranger's loader: everything it knows about a binary is in the manifest (docs/binary.md).

It shares nothing with isamap.
"""

import json
from pathlib import Path

import ml_dtypes  # noqa: F401  (its types by name)
import numpy as np
from numpy.lib.stride_tricks import as_strided

from tests.codegen.host_kernel import run_host_kernel

TYPES = {"i8": "i1", "u8": "u1", "i16": "i2", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}


class Loader:
    """A binary's folder, with the image in memory."""

    def __init__(self, folder):
        folder = Path(folder)
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.program = (folder / self.manifest["program"]["file"]).read_bytes()
        self.image = bytearray((folder / self.manifest["image"]["file"]).read_bytes())
        assert len(self.image) == self.manifest["image"]["bytes"]

    @property
    def base(self):
        """Where the image lies in the machine's memory."""
        return self.manifest["image"]["base"]

    def put(self, arrays):
        """Every input where and as the manifest says."""
        zeros = [(place, np.zeros(place["shape"])) for place in self.manifest["cleared"]]
        given = [(place, arrays[place["buffer"]]) for place in self.manifest["inputs"]]
        for place, array in (*zeros, *given):
            array = np.asarray(array).reshape(place["shape"]).astype(TYPES[place["type"]])
            lies_at, index, is_inside = self.positions(place)
            values = np.full(len(lies_at), place["padding"], array.dtype)
            values[is_inside] = array[tuple(digit[is_inside] for digit in index)]
            memory = np.frombuffer(self.image, np.uint8)
            for number, where in enumerate(self.byte_places(place, lies_at, array.itemsize)):
                memory[where] = values.view(np.uint8).reshape(-1, array.itemsize)[:, number]

    def get(self):
        """Every output, by name."""
        found = {}
        memory = np.frombuffer(self.image, np.uint8)
        for place in self.manifest["outputs"]:
            array = np.zeros(place["shape"], TYPES[place["type"]])
            lies_at, index, is_inside = self.positions(place)
            places = self.byte_places(place, lies_at[is_inside], array.itemsize)
            raw = np.stack([memory[where] for where in places], axis=1)
            array[tuple(digit[is_inside] for digit in index)] = raw.view(array.dtype)[:, 0]
            found[place["buffer"]] = array.reshape(place["array_shape"])
        return found

    def byte_places(self, place, lies_at, size):
        """Where each byte of the elements at some places lies, from the lowest."""
        step = place["plane_bytes"] or 1
        return [lies_at + number * step for number in range(size)]

    def positions(self, place):
        """Of every position its byte in the image, its index in the array, and whether it is
        inside (else it is padding)."""
        sizes = [axis["size"] for axis in place["axes"]]
        digits = np.indices(sizes).reshape(len(sizes), -1)
        lies_at = np.full(digits.shape[1], place["offset"])
        index = [np.full(digits.shape[1], -border) for border in place["border"]]
        for digit, axis in zip(digits, place["axes"]):
            index[axis["dim"]] += digit * axis["step"]
            lies_at += digit * axis["stride_bytes"]
        shape = [*place["shape"], *[1] * (len(place["border"]) - len(place["shape"]))]
        is_inside = np.ones(digits.shape[1], bool)
        for along, size in zip(index, shape):
            is_inside &= (along >= 0) & (along < size)
        return lies_at, index[: len(place["shape"])], is_inside

    def run(self, machine):
        """The parts in order: `machine(image, records, base)`, or what the host does."""
        for part in self.manifest["program"]["parts"]:
            if "run" in part:
                first, size = part["run"]["offset"], part["run"]["bytes"]
                machine(self.image, self.program[first : first + size], self.base)
            else:
                self.run_on_host(part["host"])

    def run_on_host(self, step):
        """A host call on arrays in the image."""
        call = self.manifest["host_calls"][step["call"]]
        memory = np.frombuffer(self.image, np.uint8)
        views = {}
        for name, operand in call["operands"].items():
            place = step["operands"][name]
            first = np.ndarray((), TYPES[operand["type"]], memory, place["offset"])
            views[name] = as_strided(first, operand["shape"], place["strides_bytes"])
        run_host_kernel(call["text"], views)
