"""A state that passes from one iteration of a loop to the next gets a temporary of its own.

In: a verified kernel, an array that the iterations write slice after slice. Out: an equal kernel,
bit by bit. Not its job: where the temporary lies (`keep_on_chip` finds it a place).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Buffer,
    Kernel,
    Loop,
    Role,
    Statement,
    accesses,
    covers,
    map_accesses,
    may_distribute,
)

from .edit import all_loops, fresh_names, rebuild
from .variant import Rewrite

Item = TypeVar("Item")


def carry(kernel: Kernel, buffer: str, loop: str) -> Kernel:
    """Keep the slice of `buffer` that the iterations of `loop` hand on in a temporary.

    `for t: h[t + 1] = f(h[t])` becomes `S = h[0]; for t: (S = f(S); h[t + 1] = S)`.

    Args:
        kernel: any verified kernel.
        buffer: one statement under `loop` assigns whole slices of it, one further in each
            iteration; all other statements under the loop only read the slice before, and none of
            them after it is written anew.
        loop: the outermost loop of all statements under it.

    Raises:
        KernelError: the array is not used like that.

    Source: scalar replacement of a carried array reference (Callahan, Carr and Kennedy, PLDI 1990);
    here for slices.
    """
    state = _State(kernel, buffer, loop)
    extents = state.others(kernel.buffer(buffer).shape)
    fresh = fresh_names(
        kernel, (f"{buffer}_state", *(f"{buffer}_{d}" for d in range(len(extents))))
    )
    name, loops = fresh[0], tuple(map(Loop, fresh[1:], extents))
    places = tuple(Affine.var(x.name) for x in loops)
    before = state.slice_at(Affine((), state.offset - 1), places)
    statements = list(kernel.statements)
    for number in state.numbers:
        statements[number] = state.on_temporary(kernel.statements[number], name)
    written = statements[state.writer]
    first, last = state.numbers[0], state.writer + 1
    statements.insert(last, replace(kernel.statements[state.writer], value=written.target))
    statements.insert(first, Statement(loops, Access(name, places), "=", before))
    for reader in statements[first + 1 : last]:
        inner = tuple(x.name for x in reader.loops if x in written.loops and x.name != loop)
        if not may_distribute(reader, written, inner, (loop,)):
            raise KernelError(f"{buffer!r} is read after it is written anew")
    temporary = Buffer(name, kernel.buffer(buffer).dtype, extents, Role.TEMP)
    return rebuild(kernel, statements, (temporary,))


class _State:
    """How a kernel uses an array under a loop: `dim` counts the iterations, from `offset` on."""

    def __init__(self, kernel: Kernel, buffer: str, loop: str) -> None:
        self.buffer = buffer
        self.loop = loop
        self.numbers = [
            n for n, s in enumerate(kernel.statements) if loop in [x.name for x in s.loops]
        ]
        writers = [n for n in self.numbers if kernel.statements[n].target.buffer == buffer]
        is_outermost = all(kernel.statements[n].loops[0].name == loop for n in self.numbers)
        if len(writers) != 1 or not is_outermost:
            raise KernelError(f"no single statement right under loop {loop!r} writes {buffer!r}")
        self.writer = writers[0]
        writer = kernel.statements[self.writer]
        self.dim, self.offset = _moving_dim(writer, loop)
        rest = replace(kernel.buffer(buffer), shape=self.others(kernel.buffer(buffer).shape))
        slices = replace(writer.target, indices=self.others(writer.target.indices))
        if writer.update != "=" or not covers(replace(writer, target=slices), rest):
            raise KernelError(f"no statement assigns whole slices of {buffer!r}")
        reads = [
            (number, read)
            for number in self.numbers
            for read in accesses(kernel.statements[number].value)
            if read.buffer == buffer
        ]
        if not reads:
            raise KernelError(f"nothing under loop {loop!r} reads {buffer!r}")
        for number, read in reads:
            self._check_read(read, number, writer)

    def _check_read(self, read: Access, number: int, writer: Statement) -> None:
        before = Affine.var(self.loop) + (self.offset - 1)
        others = self.others(read.indices)
        is_slice = read.indices[self.dim] == before and read.pad is None
        if not is_slice or any(self.loop in index.names for index in others):
            raise KernelError(f"{self.buffer!r} is read elsewhere than one iteration before")
        here = writer.target
        is_once = all(here.moves_with(x.name) for x in writer.loops)
        in_place = is_once and others == self.others(here.indices)
        if number > self.writer or (number == self.writer and not in_place):
            raise KernelError(f"{self.buffer!r} is read after it is written anew")

    def others(self, row: tuple[Item, ...]) -> tuple[Item, ...]:
        """A row with one item per dimension of the array, without that of `dim`."""
        return (*row[: self.dim], *row[self.dim + 1 :])

    def slice_at(self, position: Affine, places: tuple[Affine, ...]) -> Access:
        """An element of the array's slice at `position`."""
        return Access(self.buffer, (*places[: self.dim], position, *places[self.dim :]))

    def on_temporary(self, statement: Statement, name: str) -> Statement:
        """The statement with the array's slices in the temporary."""

        def change(access: Access) -> Access:
            is_slice = access.buffer == self.buffer
            return Access(name, self.others(access.indices)) if is_slice else access

        value = map_accesses(statement.value, change)
        return replace(statement, target=change(statement.target), value=value)


def _moving_dim(writer: Statement, loop: str) -> tuple[int, int]:
    """The dimension of the target that is the loop plus a constant, and the constant."""
    indices = writer.target.indices
    dims = [dim for dim, index in enumerate(indices) if loop in index.names]
    if len(dims) != 1 or indices[dims[0]].terms != ((loop, 1),):
        raise KernelError(f"{writer.target.buffer!r} has no dimension that loop {loop!r} counts")
    return dims[0], indices[dims[0]].constant


def carry_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every array and loop."""
    for buffer in kernel.buffers:
        for loop in all_loops(kernel):
            try:
                found = carry(kernel, buffer.name, loop.name)
            except KernelError:
                continue
            yield carry_site(buffer.name, loop.name), found


def carry_site(buffer: str, loop: str) -> str:
    """How the site of an application is called."""
    return f"{buffer} over {loop}"


CARRY = Rewrite(
    "carry", "for t: h[t+1] = f(h[t]) = S = h[0]; for t: (S = f(S); h[t+1] = S)", False, carry_sites
)
