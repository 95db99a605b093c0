"""What a kernel means: the oracle of every test.

In: a kernel and arrays for its In and InOut buffers. Out: arrays of its Out and InOut buffers;
inputs are not changed. Not its job: speed of any machine. `interp_slow` says the same in the
plainest way.

Statements run in iteration order. Integers wrap, floats round after every operation and are summed
in loop order.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isamap.errors import KernelError, closest

from .evaluate import Machine
from .kernel import Buffer, Kernel, Role
from .numpy_types import numpy_dtype
from .plan_blocks import Node, plan_blocks
from .run_block import run_block, steps
from .verify import locate, verify

STORED_AS = {"i4": np.dtype(np.int8), "u4": np.dtype(np.uint8)}


@dataclass(frozen=True, slots=True)
class Ready:
    """A kernel that obeys all rules, and how it runs."""

    kernel: Kernel
    nodes: tuple[Node, ...]


def interpret(
    kernel: Kernel,
    arrays: Mapping[str, np.ndarray],
    immediates: Mapping[str, int | float] | None = None,
) -> dict[str, np.ndarray]:
    """Run a kernel.

    Args:
        arrays: by name, one per In and InOut buffer, of the buffer's shape and `numpy_dtype`.
        immediates: by name, one number per immediate of the kernel.

    Returns:
        New arrays by name, for Out and InOut buffers.

    Raises:
        KernelError: a rule of the IR is broken; an array is missing, unknown or does not fit; a
            division by zero; a negative shift count.
    """
    return run_ready(make_ready(kernel), arrays, immediates)


def make_ready(kernel: Kernel) -> Ready:
    """Check the rules and plan the run, once for all that follow; raises KernelError."""
    verify(kernel)
    return Ready(kernel, plan_blocks(kernel))


def run_ready(
    ready: Ready,
    arrays: Mapping[str, np.ndarray],
    immediates: Mapping[str, int | float] | None = None,
) -> dict[str, np.ndarray]:
    """As `interpret`, without what was done already."""
    kernel = ready.kernel
    check_names(kernel, arrays, immediates or {})
    memory = {buffer.name: start_array(buffer, arrays) for buffer in kernel.buffers}
    machine = Machine(kernel, memory, immediates or {})
    with np.errstate(all="ignore"):
        for block, box in steps(ready.nodes):
            try:
                run_block(block, machine, box)
            except KernelError as error:
                raise locate(error, block.statement) from error
    return {
        buffer.name: memory[buffer.name].astype(numpy_dtype(buffer.dtype))
        for buffer in kernel.buffers
        if buffer.role.is_returned
    }


def check_names(
    kernel: Kernel, arrays: Mapping[str, np.ndarray], immediates: Mapping[str, int | float]
) -> None:
    """KernelError when an array or immediate is missing or unknown."""
    inputs = [b.name for b in kernel.buffers if b.role.is_given]
    for what, given, wanted in (
        ("array", list(arrays), inputs),
        ("immediate", list(immediates), list(kernel.immediates)),
    ):
        for name in given:
            if name not in wanted:
                hint = closest(name, wanted)
                raise KernelError(f"kernel {kernel.name!r} takes no {what} {name!r}", hint=hint)
        for name in wanted:
            if name not in given:
                raise KernelError(f"kernel {kernel.name!r} needs the {what} {name!r}")


def start_array(buffer: Buffer, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The buffer's contents at the start, C-contiguous; inputs that change are copied."""
    dtype = numpy_dtype(buffer.dtype)
    stored = STORED_AS.get(buffer.dtype, dtype)
    if not buffer.role.is_given:
        return np.zeros(buffer.shape, stored)
    array = np.asarray(arrays[buffer.name])
    if array.shape != buffer.shape or array.dtype != dtype:
        raise KernelError(
            f"array {buffer.name!r} is {array.dtype} {list(array.shape)}, but the kernel needs "
            f"{dtype} {list(buffer.shape)}",
            loc=buffer.loc,
        )
    if buffer.role is Role.INOUT:
        return np.array(array, stored, order="C")
    return np.asarray(array, stored, order="C")
