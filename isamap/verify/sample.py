"""Parts of a kernel's results that can be computed by themselves.

In: a kernel, how many iterations are cheap. Out: smaller kernels, each with where it lies in the
whole one. Not its job: running them, comparing.

A dimension of an output can be cut where its index is a loop alone, which walks over dimensions in
no other way: rows and columns of a product, channels and images of a convolution, but not the
hidden dimension of a recurrent layer. Corners are always among what is cut out; the rest is drawn
at random.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from isamap.ir import Affine, Buffer, Kernel, Loop, Statement, is_integer

FEW = 2  # the two ends
INTEGER = 1 / 16  # of the work of a float, which is rounded and whose errors are followed

Places = frozenset[tuple[str, int]]  # buffers' dimensions


@dataclass(frozen=True, slots=True)
class _Thread:
    """Dimensions and loops that only ever take the same index."""

    places: Places
    loops: frozenset[str]
    extent: int


@dataclass(frozen=True, slots=True)
class Pick:
    """The elements of a buffer at these indices of one dimension, and no others."""

    buffer: str
    dim: int
    indices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """A kernel on parts of the arrays; without picks it is the whole one."""

    kernel: Kernel
    picks: tuple[Pick, ...] = ()

    def take(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """These parts of the arrays, by name."""
        parts = dict(arrays)
        for pick in self.picks:
            if pick.buffer in parts:
                parts[pick.buffer] = parts[pick.buffer].take(pick.indices, pick.dim)
        return parts

    def of(self, other: Kernel) -> Kernel | None:
        """The same part of another form of the kernel, if it can be cut out there."""
        for pick in self.picks:
            if self.kernel.buffer(pick.buffer).role.is_returned:
                thread = _thread(other, pick.buffer, pick.dim)
                if thread is None:
                    return None
                if (pick.buffer, pick.dim) in thread.places:
                    other = _cut(other, thread, len(pick.indices))
        return other

    def place(self, buffer: str, index: Sequence[int]) -> tuple[int, ...]:
        """Where an element of the sample lies in the whole array."""
        found = list(index)
        for pick in self.picks:
            if pick.buffer == buffer:
                found[pick.dim] = pick.indices[found[pick.dim]]
        return tuple(found)


def samples(kernel: Kernel, iterations: float, seed: int) -> tuple[Sample, ...]:
    """The whole kernel if it has at most so many iterations; else for each dimension that can be
    cut a few of its indices, the others complete as far as that goes. Empty: nothing is so small.

    Args:
        iterations: that compute floats; of those that compute integers, `INTEGER` count as one.
    """
    if _iterations(kernel) <= iterations:
        return (Sample(kernel),)
    threads = list(_threads(kernel))
    generator = np.random.default_rng(seed)
    found = []
    for first in threads:
        others = sorted((t for t in threads if t is not first), key=lambda t: -t.extent)
        sample = _narrow(kernel, [first, *others], iterations / len(threads), generator)
        if sample is not None:
            found.append(sample)
    return tuple(found)


def _narrow(
    kernel: Kernel, threads: list[_Thread], iterations: float, generator: np.random.Generator
) -> Sample | None:
    """Cut one after the other until few iterations are left."""
    sample = Sample(kernel)
    for thread in threads:
        least = _cut(sample.kernel, thread, 1)
        fixed = _iterations(sample.kernel) - _iterations(least)
        each = fixed / max(1, thread.extent - 1)
        room = (iterations - _iterations(least)) / each + 1 if each else 1
        count = int(min(thread.extent, max(FEW, room)))
        indices = _draw(thread.extent, count, generator)
        picks = tuple(Pick(buffer, dim, indices) for buffer, dim in sorted(thread.places))
        sample = Sample(_cut(sample.kernel, thread, count), (*sample.picks, *picks))
        if _iterations(sample.kernel) <= iterations:
            return sample
    return None


def _draw(extent: int, count: int, generator: np.random.Generator) -> tuple[int, ...]:
    """Both ends and others, in order."""
    inner = generator.choice(np.arange(1, extent - 1), max(0, count - 2), replace=False)
    return tuple(sorted({0, extent - 1, *(int(index) for index in inner)}))


def _threads(kernel: Kernel) -> Iterator[_Thread]:
    """Of all outputs, each once; those too short to be cut are left out."""
    seen: set[tuple[str, int]] = set()
    for buffer in kernel.buffers:
        if not buffer.role.is_returned:
            continue
        for dim, extent in enumerate(buffer.shape):
            if (buffer.name, dim) in seen or extent <= FEW:
                continue
            thread = _thread(kernel, buffer.name, dim)
            if thread is not None:
                seen |= thread.places
                yield thread


def _thread(kernel: Kernel, buffer: str, dim: int) -> _Thread | None:
    """All that takes the index of this dimension, or None where something joins it with another
    index or sums over it."""
    places, loops = {(buffer, dim)}, set[str]()
    size = -1
    while size < len(places) + len(loops):
        size = len(places) + len(loops)
        for statement in kernel.statements:
            if not _follow(statement, places, loops):
                return None
    for statement in kernel.statements:
        own = [loop.name for loop in statement.loops if loop.name in loops]
        if len(own) > 1 or not all(map(statement.target.moves_with, own)):
            return None
    extents = {kernel.buffer(name).shape[axis] for name, axis in places}
    extents |= {x.extent for s in kernel.statements for x in s.loops if x.name in loops}
    if len(extents) > 1:
        return None
    return _Thread(frozenset(places), frozenset(loops), extents.pop())


def _follow(statement: Statement, places: set[tuple[str, int]], loops: set[str]) -> bool:
    """Join what takes a known index; False where an index is not a loop alone."""
    for access in statement.accesses:
        for dim, index in enumerate(access.indices):
            if (access.buffer, dim) not in places and loops.isdisjoint(index.names):
                continue
            if len(index.terms) != 1 or index != Affine.var(index.names[0]):
                return False
            places.add((access.buffer, dim))
            loops.add(index.names[0])
    return True


def _cut(kernel: Kernel, thread: _Thread, extent: int) -> Kernel:
    def shorter(loop: Loop) -> Loop:
        return Loop(loop.name, extent) if loop.name in thread.loops else loop

    def smaller(buffer: Buffer) -> Buffer:
        shape = (
            extent if (buffer.name, dim) in thread.places else size
            for dim, size in enumerate(buffer.shape)
        )
        return replace(buffer, shape=tuple(shape))

    statements = (replace(s, loops=tuple(map(shorter, s.loops))) for s in kernel.statements)
    return replace(
        kernel, buffers=tuple(map(smaller, kernel.buffers)), statements=tuple(statements)
    )


def _iterations(kernel: Kernel) -> float:
    return sum(
        prod(loop.extent for loop in s.loops)
        * (INTEGER if is_integer(kernel.buffer(s.target.buffer).dtype) else 1)
        for s in kernel.statements
    )
