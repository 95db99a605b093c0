"""What a case's operands hold after the call, by the interpreter.

In: an instruction, a case, the operands before. Out: the operands after. Not its job: bytes,
machines.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from types import EllipsisType

import numpy as np

from isamap.hwdesc import Instruction
from isamap.ir import Kernel, Loop, interpret, numpy_dtype

from .cases import Case


def expect(
    instruction: Instruction, case: Case, before: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Every operand after all rounds of the repeats, in their order.

    Raises:
        KernelError: the semantics are an error on these values (a shift by too much).
    """
    after = {name: array.copy() for name, array in before.items()}
    kernel = with_extents(instruction.semantics, dict(case.extents))
    masks = {name: written(kernel, name) for name in after}
    for digits in product(*(range(count) for _, count in case.repeats)):
        blocks = {}
        for place in case.places:
            at: tuple[int | EllipsisType, ...] = (
                *(d if n > 1 else 0 for d, n in zip(digits, place.shape)),
                ...,  # a view, of a single number too
            )
            blocks[place.name] = after[place.name][at]
        inputs = {
            b.name: _full(blocks[b.name], b.shape, b.dtype)
            for b in kernel.buffers
            if b.role.is_given
        }
        results = interpret(kernel, inputs, dict(case.immediates))
        for name, result in results.items():
            corner = tuple(slice(0, size) for size in blocks[name].shape)
            mask = masks[name][corner]
            blocks[name][mask] = result[corner][mask]
    return after


def with_extents(kernel: Kernel, extents: Mapping[str, int]) -> Kernel:
    """The semantics of a call with other extents."""
    statements = tuple(
        replace(s, loops=tuple(Loop(x.name, extents.get(x.name, x.extent)) for x in s.loops))
        for s in kernel.statements
    )
    return replace(kernel, statements=statements)


def _full(block: np.ndarray, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """An operand of the semantics' shape: the block in its corner, repeated along dimensions that
    do not move."""
    whole = np.zeros(shape, numpy_dtype(dtype))
    reach = tuple(slice(None) if size == 1 else slice(0, size) for size in block.shape)
    whole[reach] = block
    return whole


def written(kernel: Kernel, name: str) -> np.ndarray:
    """Which elements of a buffer the kernel writes."""
    mask = np.zeros(kernel.buffer(name).shape, bool)
    for statement in kernel.statements:
        if statement.target.buffer != name:
            continue
        loops = [x for x in statement.loops if statement.target.moves_with(x.name)]
        grids = np.ix_(*(np.arange(x.extent) for x in loops)) if loops else ()
        values = {x.name: grid for x, grid in zip(loops, grids, strict=True)}
        places = tuple(
            sum((c * values[n] for n, c in index.terms), np.array(index.constant))
            for index in statement.target.indices
        )
        mask[places if places else ()] = True
    return mask
