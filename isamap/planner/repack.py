"""Arrays moved between layouts by the machine's host.

In: where an array lies and where it shall lie. Out: host calls. Not its job: deciding that an array
must move.
"""

from dataclasses import dataclass, replace
from itertools import product

from isamap.ir import Access, Affine, Buffer, Kernel, Loop, Role, Statement, size_bytes
from isamap.program import Address, Axis, Issue, Layout, Operand, Span

from .host_calls import Home, HostCall, is_simple

BYTE = "byte"  # the loop over the bytes of an element, where a layout stores them in planes


@dataclass(frozen=True, slots=True)
class _End:
    """One side of a copy: index per operand dimension, with its size and stride; first byte."""

    indices: tuple[Affine, ...]
    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    address: Affine
    plane_bytes: int | None


@dataclass(frozen=True, slots=True)
class Range:
    """Some neighbouring positions of a dimension."""

    first: int
    count: int


Slices = tuple[Affine | Range | None, ...]  # per dimension what to move: one position, some, all


def repack(
    name: str, source: Home, target: Home, slices: Slices, memory: str
) -> tuple[HostCall, ...] | None:
    """Move an array, or a slice of it, from a simple layout to any, or from any to a simple one.

    `slices`: positions are affine in the program's loops. None: neither layout is simple, or the
    other one cuts a dimension in a way that is not understood.
    """
    start, end = _sliced(source, slices), _sliced(target, slices)
    if start is None or end is None:
        return None
    if is_simple(source.layout):
        return (_spread(name, start, end, memory),)
    if is_simple(target.layout):
        return _gather(name, start, end, memory)
    return None


@dataclass(frozen=True, slots=True)
class _Place:
    """A home, cut down to a slice: its dimensions of one position begin at the address."""

    address: Affine
    layout: Layout


def _sliced(home: Home, slices: Slices) -> _Place | None:
    """The slice as an array of its own; None where a sliced dimension is cut into blocks, unless
    the blocks begin where the slice does."""
    address, layout = Affine((), home.address), home.layout
    axes, shape, border = list(layout.axes), list(_shape(layout)), list(layout.border)
    for dim, position in enumerate(slices):
        if position is None:
            continue
        own = [axis for axis in axes if axis.dim == dim]
        if isinstance(position, Range):
            shape[dim] = position.count
            if border[dim] == -position.first:
                border[dim] = 0
            elif len(own) == 1 and own[0].step == 1:
                address = address + (position.first + border[dim]) * own[0].stride_bytes
                axes[axes.index(own[0])] = replace(own[0], size=position.count)
                border[dim] = 0
            else:
                return None
            continue
        if len(own) != 1 or own[0].step != 1:
            return None
        address = address + (position + border[dim]).scaled(own[0].stride_bytes)
        axes[axes.index(own[0])] = replace(own[0], size=1)
        shape[dim], border[dim] = 1, 0
    cut = replace(
        layout,
        shape=tuple(shape),
        axes=tuple(axes),
        border=tuple(border),
        is_natural=False,
    )
    return _Place(address, cut)


def _spread(name: str, source: _Place, target: _Place, memory: str) -> HostCall:
    """Every position of the target takes its element, or the layout's padding outside the array."""
    axes = target.layout.axes
    loops = tuple(Loop(f"d{n}", axis.size) for n, axis in enumerate(axes))
    positions = tuple(
        Affine.of(((f"d{n}", axis.step) for n, axis in enumerate(axes) if axis.dim == dim), -before)
        for dim, before in enumerate(target.layout.border)
    )
    written = _End(
        tuple(Affine.var(loop.name) for loop in loops),
        tuple(axis.size for axis in axes),
        tuple(axis.stride_bytes for axis in axes),
        target.address,
        target.layout.plane_bytes,
    )
    pad = target.layout.padding
    assert not (pad and target.layout.plane_bytes), "only outputs lie in byte planes"
    return _copy(name, loops, _simple_end(source, positions), written, source.layout, memory, pad)


def _simple_end(home: _Place, positions: tuple[Affine, ...]) -> _End:
    """The array itself, without the border around it; either side may have further unit dims."""
    strides = tuple(axis.stride_bytes for axis in home.layout.axes)
    first = sum(b * stride for b, stride in zip(home.layout.border, strides, strict=True))
    shape = _shape(home.layout)
    units = len(positions) - len(shape)
    return _End(
        (*positions, *(Affine((), 0) for _ in range(-units))),
        (*shape, *(1 for _ in range(units))),
        (*strides, *(size_bytes(home.layout.dtype) for _ in range(units))),
        home.address + first,
        None,
    )


def _shape(layout: Layout) -> tuple[int, ...]:
    return layout.shape + (1,) * (len(layout.border) - len(layout.shape))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A range of a dimension as digits of its axes: (axis, first, count) each."""

    digits: tuple[tuple[Axis, int, int], ...]


def _gather(name: str, source: _Place, target: _Place, memory: str) -> tuple[HostCall, ...] | None:
    """Every element of the target is taken from one of its positions."""
    per_dim = [_pieces(source.layout, dim) for dim in range(len(source.layout.border))]
    calls = []
    for number, chosen in enumerate(product(*per_dim)):
        digits = [digit for piece in chosen for digit in piece.digits]
        loops = tuple(Loop(f"d{n}", count) for n, (_, _, count) in enumerate(digits))
        names = {axis: f"d{n}" for n, (axis, _, _) in enumerate(digits)}
        positions = tuple(
            Affine.of(
                ((names[axis], axis.step) for axis, _, _ in piece.digits),
                sum(axis.step * first for axis, first, _ in piece.digits) - before,
            )
            for piece, before in zip(chosen, source.layout.border, strict=True)
        )
        read = _End(
            tuple(Affine.var(loop.name) for loop in loops),
            tuple(loop.extent for loop in loops),
            tuple(axis.stride_bytes for axis, _, _ in digits),
            source.address + sum(axis.stride_bytes * first for axis, first, _ in digits),
            source.layout.plane_bytes,
        )
        end = _simple_end(target, positions)
        calls.append(_copy(f"{name}_{number}", loops, read, end, source.layout, memory, None))
    return tuple(calls) if calls else None


def _pieces(layout: Layout, dim: int) -> tuple[_Piece, ...]:
    """Ranges of digits that cover a dimension once; none when its axes are no mixed radix."""
    axes = sorted((a for a in layout.axes if a.dim == dim), key=lambda a: -a.step)
    size, before = _shape(layout)[dim], layout.border[dim]
    if not axes and size == 1:
        return (_Piece(()),)
    if len(axes) == 1 and axes[0].step == 1:
        return (_Piece(((axes[0], before, size),)),)
    if len(axes) != 2 or axes[1].step != 1 or axes[0].step != axes[1].size or before:
        return ()
    outer, inner = axes
    whole, rest = divmod(size, inner.size)
    pieces = [_Piece(((outer, 0, whole), (inner, 0, inner.size)))] if whole else []
    if rest:
        pieces.append(_Piece(((outer, whole, 1), (inner, 0, rest))))
    return tuple(pieces)


def _copy(
    name: str,
    loops: tuple[Loop, ...],
    source: _End,
    target: _End,
    layout: Layout,
    memory: str,
    pad: int | None,
) -> HostCall:
    """One call that copies elements, or bytes where one side stores them in planes."""
    is_planar = source.plane_bytes is not None or target.plane_bytes is not None
    dtype = "i8" if is_planar else layout.dtype
    ends = (source, target)
    if is_planar:
        count = size_bytes(layout.dtype)
        loops = (*loops, Loop(BYTE, count))
        ends = (_by_bytes(source, count), _by_bytes(target, count))
    reads, writes = ends
    semantics = Kernel(
        name,
        (
            Buffer("x", dtype, reads.shape, Role.IN),
            Buffer("y", dtype, writes.shape, Role.OUT),
        ),
        (Statement(loops, Access("y", writes.indices), "=", Access("x", reads.indices, pad)),),
    )
    operands = tuple(
        Operand(operand, memory, Address(end.address), end.strides_bytes)
        for operand, end in (("x", reads), ("y", writes))
    )
    extents = tuple((loop.name, Span(loop.extent)) for loop in loops)
    return HostCall(semantics, Issue(name, operands, extents))


def _by_bytes(end: _End, count: int) -> _End:
    step = end.plane_bytes or 1
    return _End(
        (*end.indices, Affine.var(BYTE)),
        (*end.shape, count),
        (*end.strides_bytes, step),
        end.address,
        None,
    )
