"""Sizes at which a kernel is tried: all 1, small odd ones, primes, below and above instructions.

In: a kernel's file and name. Out: dicts of sizes for which the kernel exists. Not its job: mapping.
"""

from collections.abc import Iterator
from math import prod
from random import Random

from isamap.errors import IsamapError
from isamap.ir import Kernel, load_kernels
from isamap.resources import find_kernel

MAX_ITERATIONS = 60_000  # of all statements together, for the interpreter
LARGE = (1, 7, 5, 6, 2, 3, 13, 4, 8, 17, 11, 9, 16, 19, 31, 33, 23, 37, 64, 67)  # extents in turn
SMALL = (1, 3, 2)  # filters, strides, borders, steps, groups
FROM = 5  # defaults from here on are extents, below they are small
TRIES = 400

Sizes = dict[str, int]


def choose_sizes(file: str, name: str, count: int) -> list[Sizes]:
    """The first `count` different sizes at which the kernel is small enough to be interpreted.

    The same extent everywhere comes first, then extents that differ, drawn by the kernel's name.
    """
    source = load_kernels(find_kernel(file)[0])[name]
    chosen: dict[tuple[tuple[str, int], ...], Sizes] = {}
    for sizes in _candidates(source.sizes, Random(name)):
        try:
            kernel = source.build(sizes)
        except IsamapError:
            continue  # a filter that is larger than what it slides over
        if num_iterations(kernel) <= MAX_ITERATIONS:
            chosen.setdefault(tuple(sizes.items()), sizes)
        if len(chosen) == count:
            break
    return list(chosen.values())


def num_iterations(kernel: Kernel) -> int:
    """Of all statements."""
    return sum(prod(loop.extent for loop in s.loops) for s in kernel.statements)


def _candidates(defaults: tuple[tuple[str, int], ...], random: Random) -> Iterator[Sizes]:
    large = [name for name, value in defaults if value >= FROM]
    small = [name for name, value in defaults if value < FROM]
    fixed = {name: value for name, value in defaults if name in small}
    yield {name: min(value, 1) for name, value in defaults}
    yield {**fixed, **{name: LARGE[1 + n % 3] for n, name in enumerate(large)}}
    for number in range(TRIES):
        first = LARGE[number % len(LARGE)]
        sizes = {name: random.choice(LARGE[: 1 + number]) for name in large}
        if large:
            sizes[random.choice(large)] = first
        sizes |= {name: _near(fixed[name], random) for name in small}
        yield {name: sizes[name] for name, _ in defaults}


def _near(value: int, random: Random) -> int:
    """A small number; 0 only where it is the default or one less."""
    return random.choice((*SMALL, value, max(value - 1, 0)) if value < 2 else SMALL)
