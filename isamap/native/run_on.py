"""Run a kernel on another machine's emulator, or in a process of its own, and compare.

In: a kernel, a machine with `emit: c`. Out: the first wrong element, if any. Not its job: mapping,
C text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike

import numpy as np

from isamap.codegen import CSource, find_toolchain, generate_c
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, interpret
from isamap.scheduler import Wishes
from isamap.verify import (
    Mismatch,
    Tolerance,
    compare,
    form_tolerance,
    is_bounded,
    largest,
    telling_inputs,
    whole_arrays,
)

from .execute import execute_together
from .mapped import Mapped, map_program


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """What a machine computed under its emulator, held against the kernel's meaning.

    `command`: how its programs are run. `mismatch` None: every element is right, up to `tolerance`.
    """

    mapped: Mapped
    source: CSource
    command: tuple[str, ...]
    mismatch: Mismatch | None
    tolerance: float = 0.0


def run_on(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    layouts: str = "natural",
    time_limit_s: float = 10.0,
    may_reassociate: bool = False,
    seed: int = 0,
    flags: tuple[str, ...] = (),
) -> RemoteRun:
    """Compile a kernel for a machine, run it there (under the emulator that the machine's file
    names) on random inputs, and compare with the kernel's meaning.

    Floats are small whole numbers, whose sums are exact, so that every element must be exactly
    right. Where something is not whole on the way out (a state that went through tanh, a mean),
    they are any floats, and as much is tolerated as rounding may change: a processor may round a
    product and its sum once. `flags`: further ones for the compiler.

    Raises:
        IsamapError: compiler or emulator is not installed (the hint names packages), or failed.
    """
    wishes = Wishes(
        layouts=layouts, time_limit_s=time_limit_s, seed=seed, may_reassociate=may_reassociate
    )
    mapped = map_program(kernel, hw, wishes, sizes=sizes, name=name)
    source = generate_c(mapped.program, mapped.hardware, mapped.given)
    toolchain = find_toolchain(mapped.hardware)
    arrays, tolerance = _draw_inputs(mapped, seed)
    got = execute_together(((mapped.program, arrays),), mapped.hardware, flags)[0]
    expected = interpret(mapped.kernel, arrays)
    wrong = compare(got, expected, "the kernel's meaning", tolerance)
    return RemoteRun(mapped, source, toolchain.run, wrong, largest(tolerance))


def _draw_inputs(mapped: Mapped, seed: int) -> tuple[Mapping[str, np.ndarray], Tolerance]:
    """Inputs, and how far outputs may lie from the meaning."""
    arrays = whole_arrays(mapped.kernel, seed)
    if _is_whole(interpret(mapped.kernel, arrays)):
        return arrays, 0.0
    form = mapped.kernel if mapped.plan is None else mapped.plan.kernel
    measure = partial(form_tolerance, form, mapped.kernel)
    telling, tolerance = telling_inputs(mapped.kernel, seed, measure)
    return (telling, tolerance) if is_bounded(tolerance) else (arrays, 0.0)


def _is_whole(arrays: Mapping[str, np.ndarray]) -> bool:
    """Are all elements whole numbers, so that sums on the way were exact?"""
    found = (array.astype(np.float64) for array in arrays.values() if array.dtype.kind not in "iub")
    return all(bool((array == np.rint(array)).all()) for array in found)
