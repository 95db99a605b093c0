"""The functional mode in Python: each call as `interpret` runs kernels, slowly.

In: a Bound program and the external memory's bytes, changed in place. Out: nothing, or
ProgramError.
Not its job: packing arrays (`run`), timing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from isamap.errors import KernelError, ProgramError
from isamap.ir import Kernel, Ready, make_ready, numpy_dtype, run_ready

from .bind import Bound, Call, may_race, touched_shape, writer_number
from .c_text import Fault
from .cores import touched_copies
from .marks import Mark, least_mark, mark_of
from .python_walk import Step, step_error, walk_steps
from .region import Dim, Region


@dataclass(frozen=True, slots=True)
class _Bytes:
    """A memory, all cores' copies one after the other: bytes, their `Mark`s, and who wrote
    those that nobody has read since (number of call and core; 0: read, or of no matter)."""

    data: np.ndarray
    written: np.ndarray
    writer: np.ndarray


Memories = dict[str, _Bytes]


@dataclass(frozen=True, slots=True)
class _Part:
    """One region of a call: the operand's name, byte addresses [elements, item_bytes] from its
    address on, and the elements' positions in its array."""

    region: Region
    name: str
    offsets: np.ndarray
    elements: np.ndarray


@dataclass(frozen=True, slots=True)
class _Form:
    """What a call's executions with the same extents share, in both directions of data; `inputs`:
    names, shapes and types of the arrays that are given."""

    ready: Ready
    inputs: tuple[tuple[str, tuple[int, ...], np.dtype], ...]
    reads: tuple[_Part, ...]
    writes: tuple[_Part, ...]
    immediates: Mapping[str, int | float]


Forms = dict[tuple[int, tuple[int, ...]], _Form]  # by number of call and extents


def interpret_functional(bound: Bound, image: np.ndarray) -> None:
    """Run every call on `image` ([external size] u8) and fresh other memories."""
    memories: Memories = {}
    for extent in bound.extents:
        size = extent.size_bytes * bound.hardware.num_copies(extent.memory)
        data = image if extent.memory == bound.hardware.external.name else np.zeros(size, np.uint8)
        memories[extent.memory] = _Bytes(data, np.zeros(size, np.uint8), np.zeros(size, np.int32))
    written = memories[bound.hardware.external.name].written
    for placement in bound.program.inputs:
        written[placement.address : placement.end] = Mark.COPIED
    forms: Forms = {}
    for step in walk_steps(bound):
        extents = [step.extents[name] for name, _ in step.call.issue.extents]
        key = step.call.number, tuple(extents)
        if key not in forms:
            try:
                forms[key] = _form(step)
            except KernelError as error:  # it reads of its own results more than it writes
                raise _kernel_fault(bound, step, error) from error
        _execute(bound, memories, forms[key], step)


def _form(step: Step) -> _Form:
    call = step.call
    kernel = _partial_kernel(call, {name: step.extents[name] for name, _ in call.issue.extents})
    names = [operand.name for operand in call.instruction.operands]
    parts = []
    for region in call.regions:
        name = names[region.operand]
        parts.append(_Part(region, name, *_places(step, region, kernel.buffer(name).shape)))
    return _Form(
        make_ready(kernel),
        tuple((b.name, b.shape, numpy_dtype(b.dtype)) for b in kernel.buffers if b.role.is_given),
        tuple(part for part in parts if part.region.is_read),
        tuple(part for part in parts if part.region.is_written),
        dict(call.issue.immediates),
    )


def _execute(bound: Bound, memories: Memories, form: _Form, step: Step) -> None:
    """All repeats of one call, in order."""
    repeats = step.call.issue.repeats
    if not repeats:
        _execute_once(bound, memories, form, step)
        return
    for digits in product(*(range(step.extents[repeat.name]) for repeat in repeats)):
        addresses = tuple(
            address + sum(d * repeat.strides_bytes[n] for d, repeat in zip(digits, repeats))
            for n, address in enumerate(step.addresses)
        )
        _execute_once(bound, memories, form, replace(step, addresses=addresses))


def _execute_once(bound: Bound, memories: Memories, form: _Form, step: Step) -> None:
    arrays = {name: np.zeros(shape, dtype) for name, shape, dtype in form.inputs}
    least = least_mark(step.call.instruction)
    for part in form.reads:
        region, memory = part.region, memories[part.region.memory]
        where = part.offsets + (step.addresses[region.operand] + _bases(bound, step, region)[0])
        marks = memory.written[where].reshape(-1)
        missing = np.flatnonzero(marks < least)
        if missing.size:
            fault = Fault.COPIED if marks[missing[0]] else Fault.UNWRITTEN
            raise step_error(bound, step, fault, region.operand, int(where.flat[missing[0]]))
        memory.writer[where] = 0
        flat = arrays[part.name].reshape(-1)
        raw = memory.data[where].reshape(-1, region.item_bytes)
        flat[part.elements] = raw.view(flat.dtype)[:, 0]
    try:
        results = run_ready(form.ready, arrays, form.immediates)
    except KernelError as error:
        raise _kernel_fault(bound, step, error) from error
    for part in form.writes:
        where = part.offsets + step.addresses[part.region.operand]
        values = results[part.name].reshape(-1)[part.elements]
        raw = np.ascontiguousarray(values).view(np.uint8).reshape(where.shape)
        _write(bound, memories[part.region.memory], step, part.region, where, raw)


def _kernel_fault(bound: Bound, step: Step, error: KernelError) -> ProgramError:
    return step_error(bound, step, Fault.ARITHMETIC, 0 if "shift" in error.message else 1)


def _write(
    bound: Bound, memory: _Bytes, step: Step, region: Region, where: np.ndarray, raw: np.ndarray
) -> None:
    """Write `raw` at the addresses `where` of every copy of the memory that the call acts on."""
    me = writer_number(bound, step.call, step.core) if may_race(bound, step.call, region) else 0
    for base in _bases(bound, step, region):
        there = where + base
        others = memory.writer[there]
        is_lost = others != me
        is_lost &= others // bound.hardware.num_cores == me // bound.hardware.num_cores
        if me and is_lost.any():
            address = int(there.flat[np.flatnonzero(is_lost)[0]])
            core = int(others.flat[np.flatnonzero(is_lost)[0]]) % bound.hardware.num_cores
            raise step_error(bound, step, Fault.RACE, region.operand, address, core)
        memory.data[there] = raw
        memory.written[there] = mark_of(step.call.instruction)
        memory.writer[there] = me


def _bases(bound: Bound, step: Step, region: Region) -> list[int]:
    """Where the copies of the region's memory begin that the call acts on."""
    size = bound.extent(region.memory).size_bytes
    copies = touched_copies(bound.hardware, region.memory, step.core, step.call.site.reach)
    return [copy * size for copy in copies]


def _partial_kernel(call: Call, extents: dict[str, int]) -> Kernel:
    """The semantics with the call's extents, over arrays no larger than they reach."""
    kernel = call.instruction.semantics
    statements = tuple(
        replace(s, loops=tuple(replace(loop, extent=extents[loop.name]) for loop in s.loops))
        for s in kernel.statements
    )
    buffers = tuple(
        replace(buffer, shape=touched_shape(call, buffer.name, extents))
        for buffer in kernel.buffers
    )
    return replace(kernel, statements=statements, buffers=buffers)


def _places(step: Step, region: Region, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Byte addresses [elements, item_bytes] of one repeat of a region from the operand's address
    on, and the elements' array positions."""
    steps = [1] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        steps[axis] = steps[axis + 1] * shape[axis + 1]
    first = sum(origin * size for origin, size in zip(region.origin, steps))
    strides = [(dim, dim.stride_bytes) for dim in region.dims]
    offsets = _lattice(region.start_bytes, strides, step)
    elements = _lattice(first, [(dim, dim.step * steps[dim.axis]) for dim in region.dims], step)
    return offsets[:, None] + np.arange(region.item_bytes), elements


def _lattice(start: int, directions: list[tuple[Dim, int]], step: Step) -> np.ndarray:
    """start + every combination of positions times strides, in order of `directions`."""
    total = np.array([start], np.int64)
    for dim, stride in directions:
        steps = np.arange(dim.count(step.extents)) * stride
        total = (total[:, None] + steps).reshape(-1)
    return total
