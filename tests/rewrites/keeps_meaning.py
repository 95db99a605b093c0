"""What every rewrite owes: the same interface and, on random inputs, the same outputs.

In: a kernel and rewritten ones. Out: assertions. Not its job: saying where rewrites must fire.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from hypothesis import HealthCheck, settings

from isamap.ir import (
    Kernel,
    Role,
    interpret,
    is_float,
    parse_semantics,
    pretty,
    random_arrays,
    verify,
)
from isamap.rewrites import Rewrite

QUICK = settings(max_examples=100, suppress_health_check=list(HealthCheck))


def read(text: str) -> Kernel:
    """The kernel of a bare body."""
    return parse_semantics(text, "small")


def interface(kernel: Kernel) -> list[tuple[str, str, tuple[int, ...], Role]]:
    """Buffers that others see."""
    return [(b.name, b.dtype, b.shape, b.role) for b in kernel.buffers if b.role is not Role.TEMP]


def assert_same_meaning(
    rewritten: Kernel, kernel: Kernel, tolerance: float | None = None, seed: int = 0
) -> None:
    """Equal outputs on random inputs; with a `tolerance`, floats are only that close.

    `tolerance` is relative to the largest magnitude of the array.
    """
    assert interface(rewritten) == interface(kernel)
    verify(rewritten)
    arrays = random_arrays(kernel, seed)
    expected, found = interpret(kernel, arrays), interpret(rewritten, arrays)
    for name, array in expected.items():
        left, right = found[name].astype(np.float64), array.astype(np.float64)
        message = f"{name}\n{pretty(kernel)}\nbecame\n{pretty(rewritten)}"
        if tolerance is None or not is_float(kernel.buffer(name).dtype):
            np.testing.assert_array_equal(left, right, err_msg=message)
        else:
            limit = tolerance * float(np.max(np.abs(right), initial=1.0))
            np.testing.assert_allclose(left, right, rtol=0, atol=limit, err_msg=message)


def assert_all_sites_keep_meaning(
    rewrite: Rewrite,
    kernel: Kernel,
    tolerance: float | None = None,
    max_sites: int = 100,
    seed: int = 0,
) -> int:
    """Try a rewrite wherever it applies; returns the number of sites."""
    count = 0
    for _, rewritten in islice(rewrite.sites(kernel), max_sites):
        assert_same_meaning(rewritten, kernel, tolerance, seed)
        count += 1
    return count


def site_texts(rewrite: Rewrite, kernel: Kernel) -> list[str]:
    """Sites of a rewrite in a kernel."""
    return [site for site, _ in rewrite.sites(kernel)]


def results(rewrite: Rewrite, kernel: Kernel) -> Iterator[str]:
    """Rewritten kernels as text."""
    return (pretty(rewritten) for _, rewritten in rewrite.sites(kernel))
