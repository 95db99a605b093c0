"""The functional mode in Python: each call through `interpret`, slowly.

In: a Bound program and the external memory's bytes, changed in place. Out: nothing, or
ProgramError.
Not its job: packing arrays (`run`), timing.
"""

from dataclasses import replace
from itertools import product

import numpy as np

from isamap.errors import KernelError
from isamap.ir import Kernel, Role, interpret, numpy_dtype

from .bind import Bound, Call, touched_shape
from .c_text import Fault
from .python_walk import Step, step_error, walk_steps
from .region import Dim, Region

Memories = dict[str, tuple[np.ndarray, np.ndarray]]  # bytes, and whether each was written


def interpret_functional(bound: Bound, image: np.ndarray) -> None:
    """Run every call on `image` ([external size] u8) and fresh other memories."""
    memories: Memories = {}
    for extent in bound.extents:
        data = np.zeros(extent.size_bytes, np.uint8)
        memories[extent.memory] = (data, np.zeros(extent.size_bytes, bool))
    written = memories[bound.hardware.external.name][1]
    memories[bound.hardware.external.name] = (image, written)
    for placement in bound.program.inputs:
        written[placement.address : placement.address + placement.layout.size_bytes] = True
    for step in walk_steps(bound):
        _execute(bound, memories, step)


def _execute(bound: Bound, memories: Memories, step: Step) -> None:
    """All repeats of one call, in order."""
    repeats = step.call.issue.repeats
    for digits in product(*(range(step.extents[repeat.name]) for repeat in repeats)):
        addresses = tuple(
            address + sum(d * repeat.strides_bytes[n] for d, repeat in zip(digits, repeats))
            for n, address in enumerate(step.addresses)
        )
        _execute_once(bound, memories, replace(step, addresses=addresses))


def _execute_once(bound: Bound, memories: Memories, step: Step) -> None:
    call = step.call
    extents = {name: step.extents[name] for name, _ in call.issue.extents}
    kernel = _partial_kernel(call, extents)
    arrays = {
        buffer.name: np.zeros(buffer.shape, numpy_dtype(buffer.dtype))
        for buffer in kernel.buffers
        if buffer.role is not Role.TEMP
    }
    names = [operand.name for operand in call.instruction.operands]
    for region in call.regions:
        if not region.is_read:
            continue
        data, written = memories[region.memory]
        where, elements = _places(step, region, arrays[names[region.operand]].shape)
        unwritten = np.flatnonzero(~written[where])
        if unwritten.size:
            address = int(where.flat[unwritten[0]])
            raise step_error(bound, step, Fault.UNWRITTEN, region.operand, address)
        flat = arrays[names[region.operand]].reshape(-1)
        flat[elements] = data[where].reshape(-1, region.item_bytes).view(flat.dtype)[:, 0]
    inputs = {b.name: arrays[b.name] for b in kernel.buffers if b.role in (Role.IN, Role.INOUT)}
    try:
        results = interpret(kernel, inputs, dict(call.issue.immediates))
    except KernelError as error:
        kind = 0 if "shift" in error.message else 1
        raise step_error(bound, step, Fault.ARITHMETIC, kind) from error
    for region in call.regions:
        if region.is_written:
            data, written = memories[region.memory]
            where, elements = _places(step, region, results[names[region.operand]].shape)
            values = results[names[region.operand]].reshape(-1)[elements]
            data[where] = np.ascontiguousarray(values).view(np.uint8).reshape(where.shape)
            written[where] = True


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
    """Byte addresses [elements, item_bytes] of one repeat of a region, and the elements' array
    positions."""
    steps = [1] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        steps[axis] = steps[axis + 1] * shape[axis + 1]
    start = step.addresses[region.operand] + region.start_bytes
    first = sum(origin * size for origin, size in zip(region.origin, steps))
    where = _lattice(start, [(dim, dim.stride_bytes) for dim in region.dims], step)
    elements = _lattice(first, [(dim, dim.step * steps[dim.axis]) for dim in region.dims], step)
    return where[:, None] + np.arange(region.item_bytes), elements


def _lattice(start: int, directions: list[tuple[Dim, int]], step: Step) -> np.ndarray:
    """start + every combination of positions times strides, in order of `directions`."""
    total = np.array([start], np.int64)
    for dim, stride in directions:
        steps = np.arange(dim.count(step.extents)) * stride
        total = (total[:, None] + steps).reshape(-1)
    return total
