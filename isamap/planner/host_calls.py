"""A statement run by the machine's host, as it stands.

In: a task, where its arrays lie. Out: the semantics of the call, and the call. Not its job:
deciding what the host runs, its cost (`hwdesc.host`), other layouts (`repack`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from isamap.errors import MappingError
from isamap.ir import (
    Access,
    Affine,
    Buffer,
    Kernel,
    LoopKind,
    Role,
    Statement,
    accesses,
    is_float,
    loop_kinds,
    pretty_statement,
)
from isamap.mapper import Task
from isamap.program import Address, Issue, Layout, Operand, Span
from isamap.rewrites import map_accesses, substitute_access
from isamap.scheduler import tile_name


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
    """Do indices never fall, and do none that are padded move with a held loop?"""
    statement = _rising(task)
    held = {loop.name for loop in statement.loops if loop.name in task.held and loop.extent > 1}
    return not any(
        coefficient < 0 or (access.pad is not None and name in held)
        for access in (statement.target, *accesses(statement.value))
        for index in access.indices
        for name, coefficient in index.terms
    )


def call_statement(task: Task, name: str, memory: str, home_of: Callable[[str], Home]) -> HostCall:
    """Run a task's statement, all but its held loops, on arrays in simple layouts in `memory`.

    Raises:
        MappingError: a padded access moves with a held loop, or an index falls with a loop.
    """
    statement = _rising(task)
    if not may_run_on_host(task):
        raise MappingError(
            f"the host cannot run\n{pretty_statement(statement)}",
            loc=statement.loc,
            hint="indices that fall, or padded ones that move with a held loop, are not supported"
            " there",
        )
    loops = tuple(loop for loop in statement.loops if loop.name not in task.held)
    inner = {loop.name: loop.extent for loop in loops}
    trips = {loop.name: loop.extent for loop in statement.loops if loop.name in task.held}
    views: dict[Access, _View] = {}
    for access in (statement.target, *accesses(statement.value)):
        if access not in views:
            buffer = task.kernel.buffer(access.buffer)
            view = _view(access, buffer, home_of(access.buffer), inner, trips)
            views[access] = replace(view, name=_fresh(f"x{len(views)}", inner))
    names = {access: replace(view.access, buffer=view.name) for access, view in views.items()}
    body = Statement(
        loops,
        names[statement.target],
        statement.update,
        map_accesses(statement.value, names.__getitem__),
    )
    roles = dict.fromkeys(views, Role.IN)
    is_read = statement.update != "=" or statement.target in accesses(statement.value)
    roles[statement.target] = Role.INOUT if is_read else Role.OUT
    buffers = tuple(
        Buffer(view.name, view.dtype, view.shape, roles[access]) for access, view in views.items()
    )
    operands = tuple(
        Operand(view.name, memory, Address(view.address), view.strides_bytes)
        for view in views.values()
    )
    extents = tuple((loop.name, Span(loop.extent)) for loop in loops)
    return HostCall(Kernel(name, buffers, (body,)), Issue(name, operands, extents))


def _rising(task: Task) -> Statement:
    """The statement with those loops run backwards that only ever make indices fall.

    Not in float sums, whose order is their meaning. Loops of one iteration move nothing.
    """
    statement = task.statement
    kinds = loop_kinds(statement, task.held)
    rounds = is_float(task.kernel.buffer(statement.target.buffer).dtype)
    backwards: dict[str, Affine] = {}
    for loop in statement.loops:
        free = kinds.get(loop.name) is LoopKind.PARALLEL or (
            kinds.get(loop.name) is LoopKind.REDUCTION and not rounds
        )
        every = (statement.target, *accesses(statement.value))
        steps = [index.coefficient(loop.name) for access in every for index in access.indices]
        falls = min(steps, default=0) < 0
        if falls and loop.extent == 1:
            backwards[loop.name] = Affine.of([])
        elif falls and free and max(steps) <= 0:
            backwards[loop.name] = Affine.of([(loop.name, -1)], loop.extent - 1)
    return replace(
        statement,
        target=substitute_access(statement.target, backwards),
        value=map_accesses(statement.value, lambda access: substitute_access(access, backwards)),
    )


@dataclass(frozen=True, slots=True)
class _View:
    """An operand of a host call: the part of an array that one access moves over."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    access: Access
    address: Affine
    strides_bytes: tuple[int, ...]


def _view(
    access: Access, buffer: Buffer, home: Home, inner: dict[str, int], trips: dict[str, int]
) -> _View:
    """Constants and held loops go into the address, dimensions that do not move are dropped."""
    address = Affine((), home.address)
    shape, indices, strides = [], [], []
    for dim, index in enumerate(access.indices):
        stride = home.layout.axes[dim].stride_bytes
        border = home.layout.border[dim]
        moving = Affine(tuple((n, c) for n, c in index.terms if n in inner))
        held = Affine.of((tile_name(n), c) for n, c in index.terms if n in trips and trips[n] > 1)
        if access.pad is not None:
            address = address + border * stride
            shape.append(buffer.shape[dim])
            indices.append(moving + index.constant)
            strides.append(stride)
            continue
        address = address + (held + (index.constant + border)).scaled(stride)
        if moving.terms or (dim == len(access.indices) - 1 and not indices):
            shape.append(1 + sum(c * (inner[n] - 1) for n, c in moving.terms))
            indices.append(moving)
            strides.append(stride)
    local = Access(access.buffer, tuple(indices), access.pad)
    return _View("", buffer.dtype, tuple(shape), local, address, tuple(strides))


def _fresh(name: str, taken: dict[str, int]) -> str:
    while name in taken:
        name += "_"
    return name
