"""What rewriting speaks of: one application, an equal kernel with its history, a row of the table.

In: nothing but these values. Out: frozen data. Not its job: rewriting (one file each), searching
(`search`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from isamap.ir import Kernel


@dataclass(frozen=True, slots=True)
class Step:
    """One application of a rewrite, for people: `Step("factor", "y: c out of u, v")`."""

    rewrite: str
    site: str

    def __str__(self) -> str:
        return f"{self.rewrite} {self.site}"


@dataclass(frozen=True, slots=True)
class Variant:
    """A kernel equal to the one that the steps started from, and how it came about."""

    kernel: Kernel
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One row of the table.

    `law` is one line, such as "sum_k a*b(k) = a * sum_k b(k)". `reassociates`: floats may be
    summed in another order or rounded elsewhere, so a kernel with floats needs permission.
    `sites` gives every application: the site for people, and the new verified kernel. `at` gives
    that of one site (or raises KernelError) where there are too many to list.
    """

    name: str
    law: str
    reassociates: bool
    sites: Callable[[Kernel], Iterator[tuple[str, Kernel]]]
    at: Callable[[Kernel, str], Kernel] | None = None
