"""All statements under a loop run for a part of a range first, then for the rest.

In: a verified kernel, neighbours under a loop that hand elements on, a place to cut. Out: an equal
kernel. Not its job: where to cut (the planner), cutting one statement (`split_range`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from isamap.errors import KernelError
from isamap.ir import Affine, Kernel, Statement, may_swap

from .edit import rebuild
from .fission import fission, positions_under
from .nest_sites import find_place, name_place, nest_ranges
from .split_range import split_range
from .variant import Rewrite

SIGN = "<"  # in names of sites
BEFORE, AFTER = -1, 2  # sides of what runs before and after both parts


def split_nest(kernel: Kernel, around: str, position: int, loop: str, count: int) -> Kernel:
    """Run all statements under `around` for the first `count` iterations of `loop`, then for the
    others.

    `for t: (for i in 9: T[i] = f(h[t], i)); (for j in 9: h[t + 1, j] = g(T[j]))` becomes `for t:
    T[i] = ..; h[t + 1, j] = ..` for 4 of i and j, then for the 5 others. Statements follow the
    range along the dimension that `loop` counts of the target, and along those of other buffers
    that are written in step with it; parts that were cut before each go to their side. Statements
    before the one at `position` are cut too, but stay before it: what sums begin from does not wait
    for parts of what becomes of them.

    Args:
        kernel: any verified kernel.
        around: a loop; what statements under it share further in is torn apart (`fission`).
        position: of a statement under it.
        loop: one of its loops further in, which alone counts a dimension of its target.
        count: at least 1, less than the loop's extent.

    Raises:
        KernelError: no such loops or count, or a dependence between what would change places or be
            torn apart.

    Source: index-set splitting of every statement (Wolfe, High Performance Compilers, section 9.2),
    then statement reordering (Allen and Kennedy, section 2.3); derived here.
    """
    numbers, depth = find_range(kernel, around, position, loop)
    names = [x.name for x in kernel.statements[position].loops]
    fixed = tuple(names[:depth])
    kernel = tear_apart(kernel, numbers, depth)
    loop = kernel.statements[position].loops[names.index(loop)].name
    spans = follow_range([kernel.statements[n] for n in numbers], position - numbers[0], loop)
    own = spans[position - numbers[0]]
    if own is None or not 1 <= count <= own.last - own.first:
        raise KernelError(f"statement {position} cannot be cut after {count} of {loop!r}")
    place = own.first + count
    sides: list[int] = []
    for number, span in reversed(list(zip(numbers, spans, strict=True))):
        if span is not None and span.first < place <= span.last:
            kernel = split_range(kernel, number, span.loop, place - span.first)
            found = [0, 1]
        else:
            found = [AFTER if span is None else int(span.first >= place)]
        sides[:0] = [BEFORE] * len(found) if number < position else found
    return _in_order(kernel, numbers[0], sides, fixed)


def find_range(kernel: Kernel, around: str, position: int, loop: str) -> tuple[list[int], int]:
    """The statements under `around`, and how many loops they share down to it.

    Raises:
        KernelError: the statement at `position` is not one of them, or has no such loop further in.
    """
    numbers = positions_under(kernel, around)
    if position not in numbers:
        raise KernelError(f"statement {position} is not under loop {around!r}")
    names = [x.name for x in kernel.statements[position].loops]
    depth = names.index(around) + 1
    if loop not in names[depth:]:
        raise KernelError(f"statement {position} has no loop {loop!r} inside of {around!r}")
    return numbers, depth


@dataclass(frozen=True, slots=True)
class RangeSpan:
    """The positions of the cut dimension that a statement's loop runs over."""

    loop: str
    first: int
    last: int


def tear_apart(kernel: Kernel, numbers: list[int], depth: int) -> Kernel:
    """Loops from `depth` on for every statement alone."""
    for before, number in zip(numbers, numbers[1:], strict=False):
        nests = [kernel.statements[n].loops[depth : depth + 1] for n in (before, number)]
        if nests[0] and nests[0] == nests[1]:
            kernel = fission(kernel, nests[0][0].name, number)
    return kernel


def follow_range(statements: list[Statement], seed: int, loop: str) -> list[RangeSpan | None]:
    """What each statement runs over of the dimension that `loop` counts of the seed's target; None:
    it does not move with it."""
    target = statements[seed].target
    dims: dict[str, int] = {}
    for dim, index in enumerate(target.indices):
        if loop in index.names:
            dims[target.buffer] = dim
    spans = []
    for statement in statements:
        own = statement.target
        if own.buffer in dims:
            found = {_span(statement, own.indices[dims[own.buffer]])}
        else:
            reads = [read for read in statement.reads if read.buffer in dims]
            found = {_span(statement, read.indices[dims[read.buffer]]) for read in reads}
        span = found.pop() if len(found) == 1 else None
        spans.append(span)
        place = Affine.var(span.loop) + span.first if span is not None else None
        if place in own.indices:
            dims[own.buffer] = own.indices.index(place)
    return spans


def _span(statement: Statement, index: Affine) -> RangeSpan | None:
    """The range of an index that one loop alone counts."""
    if [step for _, step in index.terms] != [1]:
        return None
    name = index.names[0]
    return RangeSpan(name, index.constant, index.constant + statement.extent(name) - 1)


def _in_order(kernel: Kernel, first: int, sides: list[int], fixed: tuple[str, ...]) -> Kernel:
    """The statements from `first` on sorted by their sides, as far as dependences allow."""
    rows = list(enumerate(sides, first))
    for number, side in rows:
        for other, earlier in rows[number - first + 1 :]:
            pair = kernel.statements[number], kernel.statements[other]
            if side > earlier and not may_swap(*pair, may_reassociate=False, fixed=fixed):
                names = " and ".join(repr(statement.target.buffer) for statement in pair)
                raise KernelError(f"parts of {names} depend on each other")
    order = [number for number, _ in sorted(rows, key=lambda row: row[1])]
    before, after = kernel.statements[:first], kernel.statements[first + len(rows) :]
    return rebuild(kernel, (*before, *(kernel.statements[n] for n in order), *after))


def split_nest_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every loop of every statement under every loop, cut anywhere."""
    for around, position, loop in nest_ranges(kernel):
        for count in range(1, loop.extent):
            try:
                found = split_nest(kernel, around, position, loop.name, count)
            except KernelError:
                break
            yield nest_site(kernel, around, position, loop.name, count), found


def nest_site(kernel: Kernel, around: str, position: int, loop: str, count: int) -> str:
    """How the site of an application is called."""
    return name_place(kernel, (around, position, loop, count), SIGN)


def split_nest_at(kernel: Kernel, site: str) -> Kernel:
    """The application of that name; KernelError as `split_nest`, or where it is none."""
    return split_nest(kernel, *find_place(kernel, site, SIGN))


SPLIT_NEST = Rewrite(
    "split_nest",
    "for n in N: s(n); for n in N: u(n) = s(n), u(n) for n < a; s(n), u(n) for n >= a",
    False,
    split_nest_sites,
    split_nest_at,
)
