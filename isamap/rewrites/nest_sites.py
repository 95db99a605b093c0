"""Places where all statements under a loop follow a range that one of them runs over.

In: a kernel, how a rewrite names its counts. Out: places, and names of them that can be found
again. Not its job: the rewrites (`split_nest`, `strip_nest`).
"""

import re
from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.ir import Kernel, Loop

from .edit import all_loops
from .fission import positions_under

Place = tuple[str, int, str, int]  # loop around, position of a statement, its loop, a count


def nest_ranges(kernel: Kernel) -> Iterator[tuple[str, int, Loop]]:
    """Every loop of every statement under every loop: the latter, the position, the former."""
    for around in all_loops(kernel):
        for position in positions_under(kernel, around.name):
            for loop in kernel.statements[position].loops:
                yield around.name, position, loop


def name_place(kernel: Kernel, place: Place, sign: str) -> str:
    """How a place is called; `sign` stands before its count."""
    around, position, loop, count = place
    target = kernel.statements[position].target.buffer
    return f"{target} ({position}) under {around}: {loop} {sign} {count}"


def find_place(kernel: Kernel, site: str, sign: str) -> Place:
    """The place of that name; KernelError where the kernel has none."""
    parts = re.fullmatch(rf"\w+ \((\d+)\) under (\w+): (\w+) {sign} (\d+)", site)
    if parts is None:
        raise KernelError(f"{site!r} is no place in a nest, '.. (position) under ..: .. {sign} ..'")
    place = parts[2], int(parts[1]), parts[3], int(parts[4])
    if place[1] >= len(kernel.statements) or name_place(kernel, place, sign) != site:
        raise KernelError(f"{kernel.name!r} has no nest {site!r}")
    return place
