"""Statements run by the machine's host, as they stand.

In: tasks, where their arrays lie. Out: the semantics of the call, and the call. Not its job:
deciding what the host runs, in which calls (`join_calls`), its cost (`hwdesc.host`), other layouts
(`repack`).
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace

from isamap.errors import MappingError
from isamap.hwdesc import HostLoops, HostRule
from isamap.ir import (
    Access,
    Affine,
    Buffer,
    Kernel,
    Loop,
    Role,
    Statement,
    index_range,
    leaving_dims,
    map_accesses,
    pretty_statement,
    size_bytes,
)
from isamap.mapper import Task
from isamap.program import Address, Issue, Layout, Operand, Span
from isamap.rewrites import rename_loops
from isamap.scheduler import tile_name

from .share_loops import share_loops


@dataclass(frozen=True, slots=True)
class Home:
    """Where an array lies in the external memory, and how."""

    address: int
    layout: Layout


@dataclass(frozen=True, slots=True)
class HostCall:
    """What the host runs, and the call of it."""

    semantics: Kernel
    issue: Issue


def is_simple(layout: Layout) -> bool:
    """Is it row-major in whole elements, perhaps with a border? A host call takes that as it is."""
    dims = tuple(axis.dim for axis in layout.axes)
    has_steps = any(axis.step != 1 for axis in layout.axes)
    in_order = dims == tuple(range(len(layout.border)))
    return in_order and not has_steps and layout.plane_bytes is None


def may_run_on_host(task: Task) -> bool:
    """Does no index that leaves its buffer move with a held loop?"""
    statement = task.statement
    extents = statement.extents
    held = {name for name, extent in extents.items() if name in task.held and extent > 1}
    return not any(
        name in held
        for access in statement.accesses
        for dim in leaving_dims(access, task.kernel.buffer(access.buffer), extents)
        for name in access.indices[dim].names
    )


def call_statements(
    tasks: Sequence[Task], name: str, memory: str, home_of: Callable[[str], Home], rule: HostRule
) -> HostCall:
    """Run the tasks' statements one after the other, or row by row, all but their held loops, on
    arrays in simple layouts in `memory`.

    What an earlier statement writes is the operand of a later one on the same place.

    Raises:
        MappingError: an index that leaves its buffer moves with a held loop.
    """
    bodies = _row_by_row(_apart([_may_call(task) for task in tasks], tasks), tasks, home_of, rule)
    inner = [x.name for body, task in zip(bodies, tasks, strict=True) for x in _free(body, task)]
    views: list[_View] = []
    roles: dict[str, Role] = {}
    statements: list[Statement] = []
    for body, task in zip(bodies, tasks, strict=True):
        written = [view for view in views if roles[view.name] is not Role.IN]
        names: dict[Access, Access] = {}
        for access, view in views_of(body, task, home_of).items():
            known = next((v for v in written if v.is_same(view)), None)
            if known is None:
                known = replace(view, name=_fresh(f"x{len(views)}", inner))
                views.append(known)
                roles[known.name] = Role.IN
            names[access] = replace(view.access, buffer=known.name)
        target = names[body.target].buffer
        if roles[target] is Role.IN:
            roles[target] = Role.INOUT if body.reads_target else Role.OUT
        value = map_accesses(body.value, names.__getitem__)
        statements.append(Statement(_free(body, task), names[body.target], body.update, value))
    buffers = tuple(Buffer(view.name, view.dtype, view.shape, roles[view.name]) for view in views)
    operands = tuple(
        Operand(view.name, memory, Address(view.address), view.strides_bytes) for view in views
    )
    called = dict.fromkeys(loop for body in statements for loop in body.loops)
    extents = tuple((loop.name, Span(loop.extent)) for loop in called)
    return HostCall(Kernel(name, buffers, tuple(statements)), Issue(name, operands, extents))


def _row_by_row(
    bodies: Sequence[Statement], tasks: Sequence[Task], home_of: Callable[[str], Home],
    rule: HostRule,
) -> tuple[Statement, ...]:  # fmt: skip
    """The statements, neighbours of which share loops where that keeps rows in the cache."""
    kernel = tasks[0].kernel
    buffers = {b.name: b for task in tasks for b in task.kernel.buffers}
    sizes = {buffer.name: size_bytes(buffer.dtype) for buffer in buffers.values()}
    strides = {}
    for name in sorted({name for body in bodies for name in body.touched}):
        axes = home_of(name).layout.axes[: len(buffers[name].shape)]  # others have one element
        strides[name] = [axis.stride_bytes // sizes[name] for axis in axes]
    loops = HostLoops(replace(kernel, buffers=tuple(buffers.values())), rule, strides)
    return share_loops(bodies, tasks[0].held, loops)


def _may_call(task: Task) -> Statement:
    statement = task.statement
    if not may_run_on_host(task):
        raise MappingError(
            f"the host cannot run\n{pretty_statement(statement)}",
            loc=statement.loc,
            hint="indices that leave a buffer and move with a held loop are not supported there",
        )
    return statement


def _apart(statements: Sequence[Statement], tasks: Sequence[Task]) -> list[Statement]:
    """The statements, no two of which share a loop of theirs: each runs wholly before the next."""
    taken: set[str] = set()
    found = []
    for statement, task in zip(statements, tasks, strict=True):
        names = {}
        for loop in _free(statement, task):
            names[loop.name] = _fresh(loop.name, taken)
            taken.add(names[loop.name])
        found.append(rename_loops(statement, names))
    return found


def _free(statement: Statement, task: Task) -> tuple[Loop, ...]:
    """The loops that a call runs."""
    return tuple(loop for loop in statement.loops if loop.name not in task.held)


def views_of(
    statement: Statement, task: Task, home_of: Callable[[str], Home]
) -> dict[Access, "_View"]:
    """The part of an array that each access moves over in one call, the target's first."""
    inner = {loop.name: loop.extent for loop in _free(statement, task)}
    trips = {loop.name: loop.extent for loop in statement.loops if loop.name in task.held}
    return {
        access: _view(
            access, task.kernel.buffer(access.buffer), home_of(access.buffer), inner, trips
        )
        for access in dict.fromkeys(statement.accesses)
    }


@dataclass(frozen=True, slots=True)
class _View:
    """An operand of a host call: the part of an array that one access moves over."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    access: Access
    address: Affine
    strides_bytes: tuple[int, ...]

    def is_same(self, other: "_View") -> bool:
        """Are both the same elements of the same array?"""
        places = [(v.access.buffer, v.shape, v.address, v.strides_bytes) for v in (self, other)]
        return places[0] == places[1]


def _view(
    access: Access, buffer: Buffer, home: Home, inner: dict[str, int], trips: dict[str, int]
) -> _View:
    """Constants and held loops go into the address, dimensions that do not move are dropped; an
    index that falls counts from its lowest value. Dimensions that are left stay whole."""
    address = Affine((), home.address)
    shape, indices, strides = [], [], []
    leaving = leaving_dims(access, buffer, {**inner, **trips})
    for dim, index in enumerate(access.indices):
        stride = home.layout.axes[dim].stride_bytes
        border = home.layout.border[dim]
        moving = Affine(tuple((n, c) for n, c in index.terms if n in inner))
        held = Affine.of((tile_name(n), c) for n, c in index.terms if n in trips and trips[n] > 1)
        if dim in leaving:
            address = address + border * stride
            shape.append(buffer.shape[dim])
            indices.append(moving + index.constant)
            strides.append(stride)
            continue
        address = address + (held + (index.constant + border)).scaled(stride)
        if moving.terms or (dim == len(access.indices) - 1 and not indices):
            low, high = index_range(moving, inner)
            address = address + low * stride
            shape.append(1 + high - low)
            indices.append(moving + -low)
            strides.append(stride)
    local = Access(access.buffer, tuple(indices), access.pad if leaving else None)
    return _View("", buffer.dtype, tuple(shape), local, address, tuple(strides))


def _fresh(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name
