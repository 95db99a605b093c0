"""A strided convolution becomes an unstrided one over phases.

In: a verified kernel, a statement, the loops of the output's position and of the window. Out: an
equal kernel. Not its job: choosing the loops; whether the copies pay.
"""

import math
from dataclasses import dataclass, replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Buffer,
    Expr,
    Kernel,
    Loop,
    Role,
    Statement,
    index_range,
    map_accesses,
)

from .copies import drop_pad
from .edit import (
    fresh_names,
    make_temporary,
    pick_loops,
    replace_statement,
    substitute_loops,
    used_loops,
)
from .fresh_loops import fresh_loops
from .variant import Rewrite
from .window import Window, find_window, window_sites


@dataclass(frozen=True, slots=True)
class Phases:
    """The new shape of a window: taps u = phases*U + f, positions P = p + dilation*U.

    Element [P, f] of the new image is element stride*P + step*f + constant of the old one.
    """

    found: Window
    position: Loop
    window: Loop
    outer: Loop  # U
    phase: Loop  # f
    stride: int
    step: int
    dilation: int

    @property
    def num_positions(self) -> int:
        """Extent of P."""
        return self.position.extent + self.dilation * (self.outer.extent - 1)


def space_to_depth(kernel: Kernel, statement: int, position: str, window: str) -> Kernel:
    """Write `y[p] += x[s*p + d*u] * w[u]` as `y[p] += x2[p + D*U, f] * w2[U, f]`, stride 1.

    With g = gcd(s, d) and u = (s/g)*U + f: s*p + d*u = s*(p + D*U) + d*f, D = d/g. New TEMPs:
    `x2[P, f] = x[s*P + d*f]` has x's other dimensions too, `w2[U, f] = w[(s/g)*U + f]` those
    loops that move w; w2 is zero for taps that w does not have. A window of at most s/g taps has
    U = 0 only and as many phases as taps.

    Returns:
        A kernel equal on all integers. Floats: products with the zeros of w2 are added, so the
        result is the same to the bit (but for the sign of zeros) if x is finite.

    Raises:
        KernelError: the statement has no such window (see `find_window`), or s < 2, or d < 1.

    Source: the polyphase decomposition (Vaidyanathan, Multirate Systems and Filter Banks, 1993,
    section 4.3), known as space-to-depth; derived here for dilations.
    """
    found = find_window(kernel, statement, position, window)
    stride, step = found.index.coefficient(position), found.index.coefficient(window)
    if stride < 2 or step < 1:
        raise KernelError(
            f"{found.image.buffer!r} is read with stride {stride} along {position!r} and "
            f"{step} along {window!r}; this needs at least 2 and 1",
            loc=found.statement.loc,
        )
    taps = found.statement.extent(window)
    common = math.gcd(stride, step)
    num_phases = min(stride // common, taps)
    old = (found.image.buffer, found.filter.buffer)
    bases = (f"{window}_o", f"{window}_f", *(f"{name}_phases" for name in old))
    names = fresh_names(kernel, bases)
    phases = Phases(
        found,
        Loop(position, found.statement.extent(position)),
        Loop(window, taps),
        Loop(names[0], -(-taps // num_phases)),
        Loop(names[1], num_phases),
        stride,
        step,
        step // common,
    )
    image, image_fill = split_image(kernel, phases, names[2])
    new_taps, taps_fills = split_taps(kernel, phases, names[3])
    fills = fresh_loops(kernel, (image_fill, *taps_fills), names)
    product = multiply_phases(phases, image, new_taps.name)
    return replace_statement(kernel, statement, (*fills, product), (image, new_taps))


def split_image(kernel: Kernel, phases: Phases, name: str) -> tuple[Buffer, Statement]:
    """The new image and the statement that fills it, under loops of any names."""
    found = phases.found
    old = kernel.buffer(found.image.buffer)
    loops: list[Loop] = []
    read: list[Affine] = []
    for dim, size in enumerate(old.shape):
        if dim == found.dim:
            loops += [Loop("P", phases.num_positions), Loop("f", phases.phase.extent)]
            pairs = [("P", phases.stride), ("f", phases.step)]
            read.append(Affine.of(pairs, found.index.constant))
        else:
            loops.append(Loop(f"d{dim}", size))
            read.append(Affine.var(f"d{dim}"))
    low, high = index_range(read[found.dim], {loop.name: loop.extent for loop in loops})
    is_inside = low >= 0 and high < old.shape[found.dim]
    pad = None if is_inside else found.image.pad if found.image.pad is not None else 0
    buffer, target = make_temporary(name, old.dtype, loops)
    value = Access(old.name, tuple(read), pad)
    return buffer, Statement(tuple(loops), target, "=", value, found.statement.loc)


def split_taps(kernel: Kernel, phases: Phases, name: str) -> tuple[Buffer, tuple[Statement, ...]]:
    """The new filter and the statements that fill it: whole groups of taps, then the rest."""
    found = phases.found
    old = kernel.buffer(found.filter.buffer)
    used = used_loops(found.filter) - {phases.window.name}
    kept = pick_loops(found.statement.loops, used)
    columns = tuple(Affine.var(loop.name) for loop in kept)
    count = phases.phase.extent
    whole, rest = divmod(phases.window.extent, count)
    tap = Affine.of([(phases.outer.name, count), (phases.phase.name, 1)])
    copy = Statement((), Access(name, columns), "=", found.filter, found.statement.loc)
    outer, phase = Affine.var(phases.outer.name), Affine.var(phases.phase.name)
    fills = [
        substitute_loops(
            replace(copy, target=Access(name, (outer, phase, *columns))),
            (Loop(phases.outer.name, whole), phases.phase, *kept),
            {phases.window.name: tap},
        )
    ]
    if rest:
        fills.append(
            substitute_loops(
                replace(copy, target=Access(name, (Affine((), whole), phase, *columns))),
                (Loop(phases.phase.name, rest), *kept),
                {phases.window.name: phase + whole * count},
            )
        )
    shape = (phases.outer.extent, count, *(loop.extent for loop in kept))
    return Buffer(name, old.dtype, shape, Role.TEMP), tuple(fills)


def multiply_phases(phases: Phases, image: Buffer, taps: str) -> Statement:
    """The statement over the new image and filter, (U, f) in the place of the window's loop."""
    found = phases.found
    pair = (phases.outer, phases.phase)
    loops = tuple(
        new
        for loop in found.statement.loops
        for new in (pair if loop.name == phases.window.name else (loop,))
    )
    place = Affine.of([(phases.position.name, 1), (phases.outer.name, phases.dilation)])
    phase = Affine.var(phases.phase.name)
    old = found.image.indices
    moved = (*old[: found.dim], place, phase, *old[found.dim + 1 :])
    used = used_loops(found.filter) - {phases.window.name}
    columns = tuple(Affine.var(loop.name) for loop in pick_loops(found.statement.loops, used))
    new_taps = Access(taps, (Affine.var(phases.outer.name), phase, *columns))
    new_image = drop_pad(Access(image.name, moved, found.image.pad), loops, image.shape)
    swaps = {found.image: new_image, found.filter: new_taps}

    def change(access: Access) -> Expr:
        return swaps.get(access, access)

    value = map_accesses(found.statement.value, change)
    return replace(found.statement, loops=loops, value=value)


SPACE_TO_DEPTH = Rewrite(
    "space_to_depth",
    "y[p] += x[s*p + u] * w[u]  =  y[p] += x2[p + U, f] * w2[U, f],  u = s*U + f",
    True,
    partial(window_sites, space_to_depth),
)
