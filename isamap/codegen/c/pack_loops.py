"""C that brings an array into a layout, and C that fills a layout with zeros.

In: a layout. Out: loops; None for layouts in byte planes. Not its job: choosing layouts, reading
arrays back (`program.unpack`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from isamap.ir import Affine, numpy_dtype, size_bytes
from isamap.program import Axis, Layout

from .parameters import Parameter
from .text import affine_text

GROUP = 8  # positions side by side that are written in one iteration, at most


def fill_lines(parameter: Parameter) -> list[str] | None:
    """Statements that make the parameter hold zeros, with the layout's padding around them."""
    layout = parameter.layout
    if layout.padding == 0:
        return [f"memset({parameter.name}, 0, {layout.size_bytes});"]
    return _loops(layout, "0", f"(({_bits_type(layout)} *){parameter.name})")


def pack_function(name: str, parameter: Parameter) -> list[str] | None:
    """`void <name>(from, to)`: `to` gets the row-major array `from` in the parameter's layout."""
    layout = parameter.layout
    loops = _loops(layout, "x", "y")
    if loops is None:
        return None
    positions = prod(axis.size for axis in layout.axes)
    has_gaps = positions * size_bytes(layout.dtype) != layout.size_bytes
    clear = [f"memset(to, 0, {layout.size_bytes});"] if has_gaps else []
    kind = _bits_type(layout)
    lines = [*clear, f"const {kind} *const x = from;", f"{kind} *const y = to;", *loops]
    return [f"{pack_signature(name)} {{", *(f"  {line}" for line in lines), "}", ""]


def pack_signature(name: str) -> str:
    """The head of the function."""
    return f"void {name}(const void *restrict from, void *restrict to)"


def _bits_type(layout: Layout) -> str:
    """Elements are moved as bits, so that machines without C for their floats pack as well."""
    return f"uint{8 * size_bytes(layout.dtype)}_t"


@dataclass(frozen=True, slots=True)
class _Copy:
    """What the innermost loop writes at `place`: an element of the source, or the padding where
    one of the indices is outside of 0 .. size - 1; None: the padding wherever that is."""

    place: Affine
    element: Affine | None
    indices: tuple[tuple[Affine, int], ...]


@dataclass(frozen=True, slots=True)
class _Nest:
    """Loops, by name and size, and the C of what is copied in them."""

    loops: tuple[tuple[str, int], ...]
    source: str
    target: str
    padding: int

    def lines(
        self, copies: tuple[_Copy, ...], depth: int = 0, *, is_edge: bool = False
    ) -> list[str]:
        """The loops from `depth` on. Where a loop decides that an index is inside, what is in it
        is written once more without the test; `is_edge`: it is not."""
        if depth == len(self.loops):
            return [self._statement(copy) for copy in copies]
        name, size = self.loops[depth]
        known = {name for name, _ in self.loops[: depth + 1]}
        tests = [t for copy in copies for t in self._tests(copy) if known.issuperset(t[0].names)]
        if is_edge or not tests or depth + 1 == len(self.loops):
            body = self.lines(copies, depth + 1, is_edge=is_edge)
        else:
            rest = tuple(
                replace(
                    copy, indices=tuple(i for i in copy.indices if not known.issuperset(i[0].names))
                )
                for copy in copies
            )
            body = [
                f"if ({' || '.join(dict.fromkeys(text for _, text in tests))}) {{",
                *(f"  {line}" for line in self.lines(copies, depth + 1, is_edge=True)),
                "} else {",
                *(f"  {line}" for line in self.lines(rest, depth + 1)),
                "}",
            ]
        head = f"for (int64_t {name} = 0; {name} < {size}; ++{name}) {{"
        return [head, *(f"  {line}" for line in body), "}"]

    def _statement(self, copy: _Copy) -> str:
        value = str(self.padding)
        if copy.element is not None:
            value = "0" if self.source == "0" else f"{self.source}[{affine_text(copy.element)}]"
        tests = [text for _, text in self._tests(copy)]
        if tests:
            value = f"{' || '.join(tests)} ? {self.padding} : {value}"
        return f"{self.target}[{affine_text(copy.place)}] = {value};"

    def _tests(self, copy: _Copy) -> list[tuple[Affine, str]]:
        """C tests for positions before the array and beyond it, where there are any."""
        found = []
        ranges = {name: (0, size - 1) for name, size in self.loops}
        for index, size in copy.indices:
            low, high = index.interval(ranges)
            found += [(index, f"{affine_text(index)} < 0")] * (low < 0)
            found += [(index, f"{affine_text(index)} >= {size}")] * (high >= size)
        return found


def _loops(layout: Layout, source: str, target: str) -> list[str] | None:
    """Every position takes its element of `source` ("0": zero) or the padding; addresses rise.

    Few positions side by side whose neighbours along the next axis lie side by side in the source
    too are written one after the other in its loop: compilers interleave them in vectors.
    """
    size = size_bytes(layout.dtype)
    is_whole = all(axis.stride_bytes % size == 0 for axis in layout.axes)
    if layout.plane_bytes is not None or not is_whole:
        return None
    axes = sorted(layout.axes, key=lambda axis: -axis.stride_bytes)
    names = {axis: f"d{number}" for number, axis in enumerate(axes)}
    place = Affine.of((names[axis], axis.stride_bytes // size) for axis in axes)
    shape = (*layout.shape, *(1,) * (len(layout.border) - len(layout.shape)))
    indices = [(_index(layout, dim, names), extent) for dim, extent in enumerate(shape)]
    element, step = Affine(), 1
    for index, extent in reversed(indices):
        element, step = element + index.scaled(step), step * extent
    group: list[dict[str, Affine]] = [{}]
    if len(axes) > 1 and axes[-1].size <= GROUP and element.coefficient(names[axes[-2]]) == 1:
        last = axes.pop()
        group = [{names[last]: Affine((), value)} for value in range(last.size)]
    nest = _Nest(
        tuple((names[axis], axis.size) for axis in axes), source, target, _padding_bits(layout)
    )
    copies = tuple(_put(_Copy(place, element, tuple(indices)), fixed) for fixed in group)
    return nest.lines(copies)


def _put(copy: _Copy, fixed: Mapping[str, Affine]) -> _Copy:
    """The copy at these values of some loops."""
    assert copy.element is not None
    place, element = copy.place.substitute(fixed), copy.element.substitute(fixed)
    indices = tuple((index.substitute(fixed), size) for index, size in copy.indices)
    if any(not index.terms and not 0 <= index.constant < size for index, size in indices):
        return _Copy(place, None, ())
    return _Copy(place, element, indices)


def _padding_bits(layout: Layout) -> int:
    own = np.asarray(layout.padding).astype(numpy_dtype(layout.dtype))
    return int.from_bytes(own.tobytes(), "little")


def _index(layout: Layout, dim: int, names: dict[Axis, str]) -> Affine:
    """Where positions lie along a dimension of the array."""
    terms = ((names[axis], axis.step) for axis in layout.axes if axis.dim == dim)
    return Affine.of(terms, -layout.border[dim])
