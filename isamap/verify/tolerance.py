"""How far a program of several tasks may lie from the kernel's meaning.

In: a kernel, its plan, inputs. Out: a tolerance per element. Not its job: the analysis itself
(`ir.rounding`), single sums (`compare.float_tolerance`).

A program whose instructions reorder no float sum, made by rewrites that reassociate nothing, does
every operation that the interpreter does, on the same values: nothing is tolerated. Otherwise
interpreter and program each lie within the rounding errors of the form that they execute from exact
arithmetic, in which both forms are equal.
"""

from collections.abc import Callable, Iterator, Mapping
from math import inf

import numpy as np

from isamap.ir import (
    Kernel,
    LoopKind,
    Statement,
    interpret,
    is_float,
    keep_lawful,
    loop_kinds,
    random_arrays,
    rounding_errors,
)
from isamap.planner import Plan
from isamap.rewrites import REWRITES, has_floats

Tolerance = float | Mapping[str, np.ndarray]

SHIFT = 16  # leaves 15 bits and a sign of an i32
SCALES = (0, 4, 8, 12)  # powers of 1/2 that inputs are multiplied by until tolerances tell
TELLING = 1 / 16  # the most that is tolerated on average, as a share of the results

Arrays = dict[str, np.ndarray]


def plan_tolerance(plan: Plan, kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> Tolerance:
    """0.0, or by output buffer the largest differences allowed, infinite where none is known."""
    return 0.0 if keeps_order(plan) else form_tolerance(plan.kernel, kernel, arrays)


def form_tolerance(
    form: Kernel, kernel: Kernel, arrays: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """How far a form of the kernel may lie from it, however both are rounded on the way."""
    meaning = rounding_errors(kernel, arrays)
    other = meaning if form == kernel else rounding_errors(form, arrays)
    return {name: error + other[name] for name, error in meaning.items()}


def reference_tolerance(kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> Tolerance:
    """What a NumPy reference may differ by, in the kernel's precision or a better one."""
    return {name: 2 * error for name, error in rounding_errors(kernel, arrays).items()}


def keeps_order(plan: Plan) -> bool:
    """Does the program do the kernel's float operations in the kernel's order?"""
    laws = {rewrite.name: rewrite.reassociates for rewrite in REWRITES}
    reassociates = any(laws[step.rewrite] for step in plan.steps)
    if reassociates and has_floats(plan.kernel):
        return False
    return not any(
        not planned.on_host and _sums_floats(planned.task.kernel, planned.task.statement)
        for planned in plan.tasks
    )


def _sums_floats(kernel: Kernel, statement: Statement) -> bool:
    sums = statement.update in ("+=", "*=")
    kinds = loop_kinds(statement).values()
    is_rounded = is_float(kernel.buffer(statement.target.buffer).dtype)
    return sums and is_rounded and LoopKind.REDUCTION in kinds


def is_bounded(tolerance: Tolerance) -> bool:
    """Is there a limit for every element?"""
    if isinstance(tolerance, float):
        return bool(np.isfinite(tolerance))
    return all(bool(np.isfinite(limits).all()) for limits in tolerance.values())


def largest(tolerance: Tolerance) -> float:
    """The largest difference allowed anywhere."""
    if isinstance(tolerance, float):
        return tolerance
    return max((float(limits.max(initial=0.0)) for limits in tolerance.values()), default=0.0)


def telling_inputs(
    kernel: Kernel, seed: int, measure: Callable[[Arrays], Tolerance]
) -> tuple[Arrays, Tolerance]:
    """Random inputs with what may be tolerated on them by `measure`: small against the results.

    Recurrences with large weights multiply rounding errors in every step, until anything would be
    tolerated; with smaller ones they forget them. Where no scale helps, the tolerance is infinite.
    """
    for scaled in scaled_arrays(kernel, seed):
        tolerance = measure(scaled)
        if isinstance(tolerance, float) or tells(tolerance, interpret(kernel, scaled)):
            return scaled, tolerance
    return telling_arrays(kernel, seed), inf


def scaled_arrays(kernel: Kernel, seed: int) -> Iterator[Arrays]:
    """Random inputs, and the same with smaller and smaller floats."""
    arrays = telling_arrays(kernel, seed)
    for scale in SCALES:
        yield {name: _scaled(array, scale) for name, array in arrays.items()}


def _scaled(array: np.ndarray, scale: int) -> np.ndarray:
    """Floats times 2**-scale; the rest as it is."""
    if array.dtype.kind in "iub":
        return array
    return np.asarray(array * array.dtype.type(2.0**-scale), array.dtype)


def tells(tolerance: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> bool:
    """Is what is tolerated a small part of the results, in every buffer?"""
    for name, limits in tolerance.items():
        size = float(np.abs(expected[name].astype(np.float64)).mean())
        if not float(limits.mean()) <= TELLING * size and limits.any():
            return False
    return True


def telling_arrays(kernel: Kernel, seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs that tell a wrong kernel of several statements from a right one.

    Every other i32 is small: biases over the full range would drown the sums that they join, and
    what is saturated afterwards would be the same whatever the sums are. Floats are standard
    normal.
    """
    arrays = random_arrays(kernel, seed)
    tell_sums(kernel, arrays)
    return arrays


def tell_sums(kernel: Kernel, arrays: Arrays) -> None:
    """Make every other i32 small, in place, unless the kernel is a single statement; what it is
    divided by stays positive."""
    if len(kernel.statements) > 1:
        for array in arrays.values():
            if array.dtype == np.int32:
                array.reshape(-1)[::2] >>= SHIFT
    keep_lawful(kernel, arrays)
