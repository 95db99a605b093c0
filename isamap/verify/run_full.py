"""Execute a program on random inputs and hold its outputs against the kernel's meaning.

In: a program, its kernel, the machine. Out: a Verification. Not its job: choosing sizes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from isamap.emulator import run
from isamap.errors import KernelError, ProgramError
from isamap.hwdesc import Hardware
from isamap.ir import (
    Kernel,
    interpret,
    load_kernels,
    load_reference,
    num_blocks,
    numpy_dtype,
    random_arrays,
)
from isamap.program import Placement, Program

from .ask_reference import ask_reference
from .compare import Mismatch, compare, float_tolerance
from .tolerance import Tolerance, is_bounded, largest, reference_tolerance, telling_inputs
from .verification import Check, Reference, Verification, no_meaning

Arrays = Mapping[str, np.ndarray]

REFERENCE_ITERATIONS = 10**8  # beyond, NumPy's integer products take seconds
MAX_BLOCKS = 2**13  # that the interpreter runs one after the other, a few seconds


@dataclass(frozen=True, slots=True)
class KernelFile:
    """Where a kernel came from: its file may carry a NumPy reference."""

    path: Path
    name: str
    sizes: tuple[tuple[str, int], ...]


def verify_full(
    program: Program,
    kernel: Kernel,
    hw: Hardware,
    *,
    seed: int = 0,
    file: KernelFile | None = None,
) -> Verification:
    """Run the whole program in the emulator on full-range random inputs.

    Integers must agree bit for bit, floats within `float_tolerance`. The kernel itself is held
    against the file's NumPy reference, if there is one.
    """
    found = execute(program, kernel, hw, Check.FULL, seed)
    return with_reference(found, kernel, file, seed)


def execute(
    program: Program, kernel: Kernel, hw: Hardware, check: Check, seed: int
) -> Verification:
    """Emulator against interpreter on one kernel; a program that the emulator rejects fails."""

    def inputs() -> tuple[Arrays, Tolerance]:
        arrays = random_arrays(kernel, seed)
        return arrays, float_tolerance(kernel, arrays)

    return execute_on(inputs, program, kernel, hw, check)


def execute_on(
    inputs: Callable[[], tuple[Arrays, Tolerance]],
    program: Program,
    kernel: Kernel,
    hw: Hardware,
    check: Check,
) -> Verification:
    """The same on given inputs, with a given tolerance."""
    sizes = tuple(kernel.extents.items())
    try:
        arrays, tolerance = inputs()
        expected = interpret(kernel, arrays)
    except KernelError as error:  # the emulator would say so too, as if the program were wrong
        return no_meaning(check, sizes, error)
    shaped = {p.buffer: _input(p, arrays) for p in program.inputs}
    try:
        outputs = run(program, hw, shaped).outputs
    except ProgramError as error:
        failure = f"the emulator rejects the program: {error}"
        return Verification(check, sizes, failure=failure, is_wrong=True)
    if not is_bounded(tolerance) and compare(outputs, expected, "", 0.0) is not None:
        failure = "not bit-exact, and rounding errors have no bound on these inputs"
        return Verification(check, sizes, failure=failure)
    wrong = compare(outputs, expected, "the kernel's meaning", tolerance)
    allowed = largest(tolerance) if is_bounded(tolerance) else 0.0
    return Verification(check, sizes, allowed, wrong, is_wrong=wrong is not None)


def _input(placement: Placement, arrays: Arrays) -> np.ndarray:
    """What a placement holds before the run: the kernel's input, or the zeros a buffer begins
    with."""
    layout = placement.layout
    if placement.buffer in arrays:
        return arrays[placement.buffer].reshape(layout.shape)
    return np.zeros(layout.shape, numpy_dtype(layout.dtype))


def with_reference(
    found: Verification, kernel: Kernel, file: KernelFile | None, seed: int
) -> Verification:
    """Add what the NumPy reference says about the kernel, at its sizes or else at its defaults."""
    if file is None or not found.is_verified:
        return found
    sizes, agreement = file.sizes, Reference.AGREES
    if not is_quick(kernel, REFERENCE_ITERATIONS):
        sizes, agreement = (), Reference.AGREES_AT_DEFAULTS
        kernel = load_kernels(file.path)[file.name].build()
    reference = load_reference(file.path, file.name, dict(sizes))
    if reference is None:
        return found
    if not is_quick(kernel, REFERENCE_ITERATIONS):
        return _replace(found, None, Reference.TOO_LARGE)
    wrong, unknown = _hold_against(reference, kernel, seed)
    return _replace(found, wrong, unknown or agreement)


def _hold_against(
    reference: Callable[..., Mapping[str, object]], kernel: Kernel, seed: int
) -> tuple[Mismatch | None, Reference | None]:
    """The first difference, and why nothing can be said."""
    is_single = len(kernel.statements) == 1
    allowed = float_tolerance if is_single else reference_tolerance
    try:
        arrays, tolerance = telling_inputs(kernel, seed, partial(allowed, kernel))
        meaning = interpret(kernel, arrays)
    except KernelError:
        return None, Reference.NO_MEANING
    expected = ask_reference(reference, arrays, meaning)
    source = "the file's NumPy reference"
    exact = compare(meaning, expected, source)
    if exact is None:
        return None, None
    if not is_bounded(tolerance):
        return None, Reference.NO_BOUND
    return compare(meaning, expected, source, tolerance), None


def _replace(found: Verification, wrong: Mismatch | None, reference: Reference) -> Verification:
    said = Reference.ABSENT if wrong else reference
    return replace(found, mismatch=wrong, is_wrong=wrong is not None, reference=said)


def is_quick(kernel: Kernel, iterations: int) -> bool:
    """Has the kernel at most so many iterations, and does the interpreter find them in few blocks?
    Recurrences step by step take long at any size."""
    return num_iterations(kernel) <= iterations and num_blocks(kernel) <= MAX_BLOCKS


def num_iterations(kernel: Kernel) -> int:
    """Iterations of all statements."""
    return sum(prod(loop.extent for loop in s.loops) for s in kernel.statements)
