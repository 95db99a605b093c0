"""Random inputs for a kernel.

In: a kernel and a seed. Out: arrays for its In and InOut buffers, on which it has a meaning. Not
its job: running it.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from .dtypes import integer_range, is_integer
from .kernel import Apply, Expr, Kernel, accesses
from .numpy_types import numpy_dtype
from .ops import SHIFTS


def random_arrays(kernel: Kernel, seed: int = 0) -> dict[str, np.ndarray]:
    """Arrays by buffer name: integers over their full range, but for `keep_lawful`, floats standard
    normal."""
    generator = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}
    for buffer in kernel.buffers:
        if not buffer.role.is_given:
            continue
        dtype = numpy_dtype(buffer.dtype)
        if is_integer(buffer.dtype):
            low, high = integer_range(buffer.dtype)
            whole = generator.integers(low, high, buffer.shape, np.int64, endpoint=True)
            arrays[buffer.name] = np.asarray(whole).astype(dtype)
        else:
            normal = generator.standard_normal(math.prod(buffer.shape))
            arrays[buffer.name] = normal.reshape(buffer.shape).astype(dtype)
    keep_lawful(kernel, arrays)
    return arrays


def keep_lawful(kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> None:
    """In place: small positive integers instead of others where divisors and shift counts are made
    of them, since nothing is divided by zero, or shifted by fewer than no bits."""
    for name in _decisive(kernel) & arrays.keys():
        array = arrays[name]
        if array.dtype.kind in "iu":
            array[...] = np.where(array > 0, array, (array & 3) + 1)


def _decisive(kernel: Kernel) -> set[str]:
    """Buffers of which divisors and shift counts are made, on their way through others too."""
    found = {name for s in kernel.statements for name in _on_the_right(s.value)}
    for statement in reversed(kernel.statements):
        if statement.target.buffer in found:
            found.update(access.buffer for access in statement.reads)
    return found


def _on_the_right(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Apply):
        if expr.op == "//" or expr.op in SHIFTS:
            yield from (access.buffer for access in accesses(expr.args[-1]))
        for arg in expr.args:
            yield from _on_the_right(arg)
