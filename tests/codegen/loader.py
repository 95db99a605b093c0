"""A stranger's loader: everything it knows about a binary is in the manifest (docs/binary.md).

Only what the host computes between two runs is executed by isamap, from the text in the manifest.
"""

import itertools
import json
from pathlib import Path

import ml_dtypes  # noqa: F401  (its types by name)
import numpy as np

TYPES = {"i8": "i1", "u8": "u1", "i16": "i2", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}


class Loader:
    """A binary's folder, with the image in memory."""

    def __init__(self, folder):
        folder = Path(folder)
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.program = (folder / self.manifest["program"]["file"]).read_bytes()
        self.image = bytearray((folder / self.manifest["image"]["file"]).read_bytes())
        assert len(self.image) == self.manifest["image"]["bytes"]

    def put(self, arrays):
        """Every input where and as the manifest says."""
        zeros = [(place, np.zeros(place["shape"])) for place in self.manifest["cleared"]]
        given = [(place, arrays[place["buffer"]]) for place in self.manifest["inputs"]]
        for place, array in (*zeros, *given):
            array = array.reshape(place["shape"]).astype(TYPES[place["type"]])
            for lies_at, index in self.positions(place):
                value = array.dtype.type(place["padding"]) if index is None else array[index]
                raw = value.tobytes()
                for number, byte in enumerate(raw):
                    self.image[lies_at + number * (place["plane_bytes"] or 1)] = byte

    def get(self):
        """Every output, by name."""
        found = {}
        for place in self.manifest["outputs"]:
            array = np.zeros(place["shape"], TYPES[place["type"]])
            for lies_at, index in self.positions(place):
                if index is not None:
                    step = place["plane_bytes"] or 1
                    raw = bytes(self.image[lies_at + n * step] for n in range(array.itemsize))
                    array[index] = np.frombuffer(raw, array.dtype)[0]
            found[place["buffer"]] = array.reshape(place["array_shape"])
        return found

    def positions(self, place):
        """(byte in the image, index in the array or None for padding) of every position."""
        shape = [*place["shape"], *[1] * (len(place["border"]) - len(place["shape"]))]
        for digits in itertools.product(*(range(axis["size"]) for axis in place["axes"])):
            index = [-border for border in place["border"]]
            lies_at = place["offset"]
            for digit, axis in zip(digits, place["axes"]):
                index[axis["dim"]] += digit * axis["step"]
                lies_at += digit * axis["stride_bytes"]
            is_inside = all(0 <= i < size for i, size in zip(index, shape))
            yield lies_at, tuple(index[: len(place["shape"])]) if is_inside else None

    def run(self, machine, host):
        """The parts in order: `machine(image, records)` or `host(image, text, operands)`."""
        for part in self.manifest["program"]["parts"]:
            if "run" in part:
                first, size = part["run"]["offset"], part["run"]["bytes"]
                machine(self.image, self.program[first : first + size])
            else:
                step = part["host"]
                text = self.manifest["host_calls"][step["call"]]
                host(self.image, text, step["operands"])
