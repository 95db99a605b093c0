"""Bytes that begin on a cache line.

In: a number of bytes. Out: a NumPy array. Not its job: what is in it.
"""

import numpy as np

LINE_BYTES = 64  # vector loads that cross a line take twice as long


def aligned_bytes(size: int) -> np.ndarray:
    """`size` bytes, zeros: u8 [size], the first on a cache line."""
    memory = np.zeros(size + LINE_BYTES, np.uint8)
    skip = -memory.ctypes.data % LINE_BYTES
    return memory[skip : skip + size]
