"""All statements under a loop run for one strip of a range after the other.

In: a verified kernel, neighbours under a loop that hand elements on, a size. Out: an equal kernel.
Not its job: how wide strips are (`keep_parts`), two parts of different sizes (`split_nest`).
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
    LoopKind,
    Role,
    Statement,
    covers,
    loop_kinds,
    map_accesses,
    may_distribute,
)

from .edit import fresh_names, rebuild, substitute_loops
from .nest_sites import find_place, name_place, nest_ranges
from .split_nest import find_range, follow_range, tear_apart
from .variant import Rewrite

SIGN = "by"  # in names of sites

Item = TypeVar("Item")


def strip_nest(kernel: Kernel, around: str, position: int, loop: str, size: int) -> Kernel:
    """Run all statements under `around` for one strip of `size` iterations of `loop` after the
    other.

    `for t: (for i in 9: T[i] = f(h[t], i)); (for j in 9: h[t + 1, j] = g(T[j]))` becomes, in strips
    of 3, `for t, s in 3: (for i in 3: T[i] = f(h[t], 3*s + i)); (for j in 3: h[t + 1, 3*s + j] =
    g(T[j]))`. Statements follow the range as in `split_nest`. A temporary of which each strip needs
    only what it has written itself holds no more than that. What comes after the one at `position`
    and meets earlier ones of other strips, as a state that they read does, runs whole after all
    strips, with all that follows.

    Args:
        kernel: any verified kernel.
        around: a loop; what statements under it share further in is torn apart (`fission`).
        position: of a statement under it.
        loop: one of its loops further in, which alone counts a dimension of its target.
        size: divides the loop's extent.

    Raises:
        KernelError: no such loops or size, a statement does not move with the range, or strips up
            to that of the statement at `position` depend on each other.

    Source: loop fusion and array contraction (Gao, Olsen, Sarkar and Thekkath, LCPC 1992); derived
    here.
    """
    numbers, depth = find_range(kernel, around, position, loop)
    names = [x.name for x in kernel.statements[position].loops]
    kernel = tear_apart(kernel, numbers, depth)
    loop = kernel.statements[position].loops[names.index(loop)].name
    old = [kernel.statements[n] for n in numbers]
    spans = follow_range(old, position - numbers[0], loop)
    extent = old[position - numbers[0]].extent(loop)
    if not 1 < size < extent or extent % size:
        raise KernelError(f"strips of {size} do not divide the {extent} iterations of {loop!r}")
    (name,) = fresh_names(kernel, (f"{loop}_strip",))
    strip = Loop(name, extent // size)
    fixed = tuple(x.name for x in old[0].loops[:depth])
    new: list[Statement] = []
    for number, statement, span in zip(numbers, old, spans, strict=True):
        if span is None or (span.first, span.last) != (0, extent - 1):
            raise KernelError(f"statement {number} does not move with {loop!r}")
        found = _in_strips(statement, span.loop, strip, size, fixed)
        tied = next((one for one in new if not may_distribute(one, found, (name,), fixed)), None)
        if tied is not None:
            if number > position:
                break
            pair = " and ".join(repr(s.target.buffer) for s in (tied, found))
            raise KernelError(f"strips of {pair} depend on each other")
        new.append(found)
    before, after = kernel.statements[: numbers[0]], kernel.statements[numbers[0] + len(new) :]
    for buffer in kernel.buffers:
        outside = (s for s in (*before, *after) if buffer.name in s.touched)
        if buffer.role is Role.TEMP and not any(outside):
            contracted = _contracted(buffer, new, strip, size)
            if contracted is not None:
                new, shrunk = contracted
                buffers = tuple(shrunk if b is buffer else b for b in kernel.buffers)
                kernel = replace(kernel, buffers=buffers)
    return rebuild(kernel, (*before, *new, *after))


def _in_strips(
    statement: Statement, loop: str, strip: Loop, size: int, fixed: tuple[str, ...]
) -> Statement:
    """The statement under a loop over strips, right inside of the fixed ones."""
    if loop_kinds(statement, fixed)[loop] is not LoopKind.PARALLEL:
        raise KernelError(f"the iterations of {loop!r} depend on each other")
    inner = (Loop(x.name, size) if x.name == loop else x for x in statement.loops[len(fixed) :])
    loops = (*statement.loops[: len(fixed)], strip, *inner)
    value = Affine.of([(strip.name, size), (loop, 1)])
    return substitute_loops(statement, loops, {loop: value})


def _contracted(
    buffer: Buffer, statements: list[Statement], strip: Loop, size: int
) -> tuple[list[Statement], Buffer] | None:
    """The statements with a temporary that holds one strip; None where some strip needs more than
    it has written itself."""
    users = [s for s in statements if buffer.name in s.touched]
    used = [a for s in users for a in s.accesses if a.buffer == buffer.name]
    dims = {d for a in used for d, i in enumerate(a.indices) if i.coefficient(strip.name)}
    if len(dims) != 1:
        return None
    (dim,) = dims
    small = replace(buffer, shape=_with(buffer.shape, dim, size))
    moved = Affine.of([(strip.name, -size)])

    def change(access: Access) -> Access:
        if access.buffer != buffer.name:
            return access
        return replace(access, indices=_with(access.indices, dim, access.indices[dim] + moved))

    new = [
        replace(s, target=change(s.target), value=map_accesses(s.value, change)) for s in statements
    ]
    first = new[statements.index(users[0])]
    is_read = any(a.buffer == buffer.name for a in first.accesses[1:])
    is_inside = all(
        i.coefficient(strip.name) == size and _reach(i, s, strip) == (0, size - 1)
        for s in users
        for a in s.accesses
        if a.buffer == buffer.name
        for i in (a.indices[dim],)
    )
    if not is_inside or is_read or first.update != "=" or not covers(first, small):
        return None
    return new, small


def _reach(index: Affine, statement: Statement, strip: Loop) -> tuple[int, int]:
    """Least and largest value in the first strip."""
    terms = [(step, statement.extent(name)) for name, step in index.terms if name != strip.name]
    ends = [step * (extent - 1) for step, extent in terms]
    low, high = sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)
    return index.constant + low, index.constant + high


def _with(row: tuple[Item, ...], dim: int, item: Item) -> tuple[Item, ...]:
    return (*row[:dim], item, *row[dim + 1 :])


def strip_nest_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every loop of every statement under every loop, in strips of every size."""
    for around, position, loop in nest_ranges(kernel):
        for size in range(2, loop.extent):
            try:
                found = strip_nest(kernel, around, position, loop.name, size)
            except KernelError:
                continue
            yield strip_site(kernel, around, position, loop.name, size), found


def strip_site(kernel: Kernel, around: str, position: int, loop: str, size: int) -> str:
    """How the site of an application is called."""
    return name_place(kernel, (around, position, loop, size), SIGN)


def strip_nest_at(kernel: Kernel, site: str) -> Kernel:
    """The application of that name; KernelError as `strip_nest`, or where it is none."""
    return strip_nest(kernel, *find_place(kernel, site, SIGN))


STRIP_NEST = Rewrite(
    "strip_nest",
    "for n in N: s(n); for n in N: u(n) = for o in N/f: (for n in f: s(f*o + n)); u alike",
    False,
    strip_nest_sites,
    strip_nest_at,
)
