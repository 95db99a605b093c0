"""Random inputs for a kernel.

In: a kernel and a seed. Out: arrays for its In and InOut buffers. Not its job: running it.
"""

import math

import numpy as np

from .dtypes import integer_range, is_integer
from .kernel import Kernel, Role
from .numpy_types import numpy_dtype


def random_arrays(kernel: Kernel, seed: int = 0) -> dict[str, np.ndarray]:
    """Arrays by buffer name: integers over their full range, floats standard normal."""
    generator = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}
    for buffer in kernel.buffers:
        if buffer.role not in (Role.IN, Role.INOUT):
            continue
        dtype = numpy_dtype(buffer.dtype)
        if is_integer(buffer.dtype):
            low, high = integer_range(buffer.dtype)
            whole = generator.integers(low, high, buffer.shape, np.int64, endpoint=True)
            arrays[buffer.name] = np.asarray(whole).astype(dtype)
        else:
            normal = generator.standard_normal(math.prod(buffer.shape))
            arrays[buffer.name] = normal.reshape(buffer.shape).astype(dtype)
    return arrays
