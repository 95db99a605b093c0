"""Random coverings spread over the cores of random grids.

In: a seed. Out: a kernel, a spread covering, a machine. Not its job: tilings, what to conclude.
"""

import random
from dataclasses import dataclass, replace
from itertools import islice

from isamap.hwdesc import Cores, Hardware
from isamap.ir import Kernel
from isamap.mapper import Covering, coverings, spread
from tests.scheduler.cases import KERNELS, kernel, machine
from tests.scheduler.tilings import draw_until_found, with_any_memory

MORE = (
    ("gemm", "gemm", (("m", 129), ("n", 81), ("k", 21))),  # 9 and 6 units
    ("gemm", "gemm_tn", (("m", 75), ("n", 3), ("k", 5))),
    ("pointwise_conv", "pointwise_conv", (("h", 7), ("w", 5), ("c", 18), ("k", 39))),
    ("depthwise_conv", "depthwise_conv", (("h", 7), ("w", 5), ("c", 35))),
    (
        "conv2d",
        "conv2d",
        (("h", 9), ("w", 7), ("c", 3), ("k", 35), ("r", 3), ("s", 2), ("stride", 1)),
    ),
)
MACHINES = ("mesh", "mesh", "wormhole")
GRIDS = ((2, 2), (4, 1), (1, 3), (3, 2), (5, 1))


@dataclass(frozen=True, slots=True)
class CoreCase:
    """A covering spread over cores and its machine; `text` says which, for people."""

    kernel: Kernel
    covering: Covering
    hw: Hardware
    text: str


def grid_of(rows: int, columns: int, name: str = "mesh") -> Hardware:
    """A machine of `hw_specs/` with another number of cores."""
    hw = machine(name)
    assert hw.cores is not None
    cores = replace(hw.cores, axes=(("row", rows), ("column", columns)))
    assert isinstance(cores, Cores)
    return replace(hw, cores=cores)


def random_core_case(seed: int) -> CoreCase:
    """One of the first coverings of a random kernel on a random grid, spread in a random way."""
    generator = random.Random(seed)

    def draw() -> CoreCase | None:
        file, name, sizes = generator.choice((*KERNELS[:-1], *MORE))
        rows, columns = generator.choice(GRIDS)
        hw = grid_of(rows, columns, generator.choice(MACHINES))
        found = list(islice(coverings(kernel(file, name, sizes), hw, []), 3))
        spreads = list(spread(generator.choice(found), hw)) if found else []
        if not spreads:
            return None
        covering = generator.choice(spreads)
        hw = with_any_memory(hw, covering, generator)
        shares = [(s.loop, s.axis, s.count, s.step) for s in covering.shares]
        text = f"{seed}: {name} {sizes} on {hw.name} {rows} x {columns}: {shares}"
        return CoreCase(kernel(file, name, sizes), covering, hw, text)

    return draw_until_found(draw)
