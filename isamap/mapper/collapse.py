"""See neighbouring loops of a statement as one where all arrays lie so.

In: a kernel of one statement, what surrounds it. Out: the same with fewer loops over arrays with
fewer dimensions; its coverings, for arrays as they are declared. Not its job: on which machines
that is of use, covering it (`cover`).

Loops (a, b) over rows that lie end to end in every array that moves with them, `x[.., a, b, ..]`,
are one loop over `x[.., a * size + b, ..]`: tiles then end anywhere, not only with a row, and a
search has fewer loops to cut. The iterations come in the same order. (In MLIR, `linalg` calls it
collapsing of dimensions.)
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from isamap.ir import Access, Affine, Buffer, Kernel, Loop, Statement, accesses, map_accesses
from isamap.program import natural_layout
from isamap.rewrites import fresh_names

from .covering import Covering, External, OperandPlan
from .tasks import Ends, Setting

Dims = dict[str, int]  # per buffer the first of the two dimensions that become one


@dataclass(frozen=True, slots=True)
class Collapsed:
    """A kernel with fewer loops and what surrounds it; buffers keep their names.

    `parts`: the loops that are one now, outermost first, by its name.
    """

    kernel: Kernel
    setting: Setting
    parts: Mapping[str, tuple[str, ...]]

    def restore(self, found: Iterable[Covering], kernel: Kernel) -> Iterator[Covering]:
        """The coverings of this one or of the `kernel` as it was that are of use beside each other,
        with row-major arrays as that declares them.

        What is laid out by its own dimensions, or bound to an instruction by more of them, is
        covered as it was; all else with fewer loops.
        """
        for covering in found:
            is_natural = all(self._is_natural(plan, kernel) for plan in covering.operands)
            if covering.kernel is not kernel:
                if is_natural:
                    plans = tuple(self._as_declared(x, kernel) for x in covering.operands)
                    yield replace(covering, operands=plans)
            elif not is_natural or self._binds_apart(covering):
                yield covering

    def _is_reshaped(self, buffer: str, kernel: Kernel) -> bool:
        return self.kernel.buffer(buffer).shape != kernel.buffer(buffer).shape

    def _is_natural(self, plan: OperandPlan, kernel: Kernel) -> bool:
        """Does it lie row-major where dimensions are seen as one?"""
        rows = ((name, end.layout) for _, name, end in plan.ends)
        return all(x.is_natural for name, x in rows if self._is_reshaped(name, kernel))

    def _binds_apart(self, covering: Covering) -> bool:
        """Do several loops of the instruction run over what is one loop here?"""
        groups = [set(group) for _, group in covering.binding]
        return any(sum(not g.isdisjoint(p) for g in groups) > 1 for p in self.parts.values())

    def _as_declared(self, plan: OperandPlan, kernel: Kernel) -> OperandPlan:
        def declared(name: str, end: External | None) -> External | None:
            if end is None or not self._is_reshaped(name, kernel):
                return end
            shape = kernel.buffer(name).shape
            return replace(end, layout=natural_layout(end.layout.dtype, shape))

        inlet = declared(plan.inlet_buffer, plan.inlet)
        return replace(plan, inlet=inlet, outlet=declared(plan.buffer, plan.outlet))


def is_collapsed(covering: Covering, kernel: Kernel) -> bool:
    """Does the covering of the kernel see some of its loops as one?"""
    return covering.kernel.statements != kernel.statements


def collapse_loops(kernel: Kernel, setting: Setting) -> Collapsed | None:
    """All loops in one that may be; None where there are none."""
    seen = Collapsed(kernel, setting, {})
    while (more := _collapse_two(seen)) is not None:
        seen = more
    return seen if seen.parts else None


def _collapse_two(seen: Collapsed) -> Collapsed | None:
    kernel, ends = seen.kernel, seen.setting.ends
    (statement,) = kernel.statements
    for outer, inner in pairwise(statement.loops):
        if outer.name in seen.setting.held or inner.name in seen.setting.held:
            continue
        dims = _collapsed_dims(kernel, ends, outer, inner)
        if dims:
            (name,) = fresh_names(kernel, [f"{outer.name}_{inner.name}"])
            return _with_one(seen, (outer, inner), Loop(name, outer.extent * inner.extent), dims)
    return None


def _collapsed_dims(kernel: Kernel, ends: Ends | None, outer: Loop, inner: Loop) -> Dims | None:
    """Where the two loops move over whole rows side by side; None where some access does not."""
    dims: dict[str, int | None] = {}
    for access in _all_accesses(kernel.statements[0], ends):
        moving = [d for d, index in enumerate(access.indices) if _moves(index, outer, inner)]
        first = moving[0] if moving else None
        if first is not None and not _is_row(access, first, outer, inner, kernel):
            return None
        if dims.setdefault(access.buffer, first) != first or len(moving) not in (0, 2):
            return None
    return {buffer: dim for buffer, dim in dims.items() if dim is not None}


def _moves(index: Affine, *loops: Loop) -> bool:
    return any(index.coefficient(loop.name) for loop in loops)


def _is_row(access: Access, dim: int, outer: Loop, inner: Loop, kernel: Kernel) -> bool:
    """Does the inner loop run over all of dimension `dim + 1`, and the outer one over such rows?"""
    ends = tuple(Affine.var(loop.name) for loop in (outer, inner))
    shape = kernel.buffer(access.buffer).shape
    return (
        access.pad is None
        and access.indices[dim : dim + 2] == ends
        and shape[dim + 1] == inner.extent
    )


def _all_accesses(statement: Statement, ends: Ends | None) -> Iterator[Access]:
    yield from statement.accesses
    if ends is not None:
        yield from (access for access in (ends.inlet, ends.outlet) if access is not None)
        yield from accesses(ends.value) if ends.value is not None else ()


def _with_one(seen: Collapsed, loops: tuple[Loop, Loop], whole: Loop, dims: Dims) -> Collapsed:
    """One loop in place of two."""

    def change(access: Access) -> Access:
        dim = dims.get(access.buffer)
        if dim is None:
            return access
        before, after = access.indices[:dim], access.indices[dim + 2 :]
        return replace(access, indices=(*before, Affine.var(whole.name), *after))

    (statement,) = seen.kernel.statements
    statement = replace(
        statement,
        loops=tuple(_replaced(statement.loops, loops, whole)),
        target=change(statement.target),
        value=map_accesses(statement.value, change),
    )
    buffers = tuple(_reshaped(buffer, dims.get(buffer.name)) for buffer in seen.kernel.buffers)
    if (ends := seen.setting.ends) is not None:
        ends = Ends(
            ends.inlet and change(ends.inlet),
            ends.outlet and change(ends.outlet),
            ends.value and map_accesses(ends.value, change),
        )
    parts = {
        name: names for name, names in seen.parts.items() if name not in {x.name for x in loops}
    }
    parts[whole.name] = tuple(n for x in loops for n in seen.parts.get(x.name, (x.name,)))
    kernel = replace(seen.kernel, buffers=buffers, statements=(statement,))
    return Collapsed(kernel, replace(seen.setting, ends=ends), parts)


def _replaced(loops: Iterable[Loop], gone: tuple[Loop, Loop], whole: Loop) -> Iterator[Loop]:
    for loop in loops:
        if loop == gone[0]:
            yield whole
        elif loop != gone[1]:
            yield loop


def _reshaped(buffer: Buffer, dim: int | None) -> Buffer:
    """The buffer with dimension `dim` and the next one as one."""
    if dim is None:
        return buffer
    shape = buffer.shape
    return replace(buffer, shape=(*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]))
