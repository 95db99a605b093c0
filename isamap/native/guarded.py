"""Arrays whose surroundings are watched.

In: a buffer, what it holds, where it begins. Out: an array, and whether anything was written around
it. Not its job: calls.
"""

from math import prod

import numpy as np

from isamap.ir import Buffer, numpy_dtype

from .aligned import LINE_BYTES, aligned_bytes

GARBAGE = 0xA5


class Guarded:
    """An array with garbage before and after it, and in it unless something is `given`; its first
    byte is `offset` elements after the beginning of a cache line."""

    def __init__(self, buffer: Buffer, given: np.ndarray | None, offset: int) -> None:
        dtype = np.dtype(numpy_dtype(buffer.dtype))
        size = prod(buffer.shape) * dtype.itemsize
        begin = LINE_BYTES + offset * dtype.itemsize
        memory = aligned_bytes(begin + size + LINE_BYTES)
        memory[:begin] = memory[begin + size :] = GARBAGE
        self.array = memory[begin : begin + size].view(dtype).reshape(buffer.shape)
        if given is None:
            memory[begin : begin + size] = GARBAGE
        else:
            self.array[...] = given
        self.around = (memory[:begin], memory[begin + size :])

    def is_changed(self, given: np.ndarray) -> bool:
        """Does it hold other bytes than what was given?"""
        own, other = (array.reshape(-1).view(np.uint8) for array in (self.array, given))
        return not np.array_equal(own, other)

    @property
    def is_overrun(self) -> bool:
        """Did the garbage around it change?"""
        return any(bool((part != GARBAGE).any()) for part in self.around)
