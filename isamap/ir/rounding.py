"""How far rounding can take a kernel's results, whatever the order of its sums.

In: a kernel and its inputs. Out: per output element a bound on the distance between exact
arithmetic and any execution that rounds after every operation and sums in any order. Not its job:
comparing results.

Running error analysis: every value v that the interpreter computes carries a bound e; exact
arithmetic and every execution lie within e of each other, so all of them within 2 e of v.
- An operation f adds eps * (|f(v)| + what its arguments bring), eps being twice the unit roundoff,
  which covers functions that are computed in f64 and rounded once; arguments bring their e times
  the largest slope of f within 2 e of them. exp, division and sqrt have slopes without a limit: the
  bound is then infinite.
- n terms summed up in any order bring their own errors and gamma(n) times the sum of their
  magnitudes, gamma(n) = n eps / (1 - n eps).
- A float with an error that is rounded to a whole number is the same one where all floats within
  2 e of it are, else off by one more; so it is where it is compared. An integer with an error that
  might wrap has no bound.
Source: Higham, Accuracy and Stability of Numerical Algorithms, sections 3.1, 3.3 and 4.2.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import assert_never

import numpy as np

from .array_ops import Array, apply_op
from .dtypes import FLOAT_LIMITS, FloatLimits, integer_range, is_float, is_integer
from .evaluate import Box, Machine, constant, count_points, evaluate, view_access
from .interp import check_names, start_array
from .kernel import Access, Apply, Expr, Immediate, Kernel, Literal, accesses
from .multiply_factors import MAX_ELEMENTS, contract
from .plan_blocks import Block, plan_blocks
from .propagate import Measured, propagate, times
from .run_block import MAX_POINTS, halve, longest, run_block, steps
from .type_of import argument_types
from .verify import verify


@dataclass(frozen=True, slots=True)
class _Record:
    """Of one buffer, arrays of its shape, changed in place: what its elements inherited, and
    magnitudes and number of the terms summed up since; `total` is the bound that follows."""

    inherited: Array
    mass: Array
    count: Array
    total: Array


def rounding_errors(kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The bounds, f64, by name of Out and InOut buffer, of the buffers' shapes.

    Args:
        arrays: as for `interpret`; the inputs are exact.

    Raises:
        KernelError: as `interpret`.
    """
    verify(kernel)
    check_names(kernel, arrays, {})
    memory = {buffer.name: start_array(buffer, arrays) for buffer in kernel.buffers}
    machine = Machine(kernel, memory, {})
    analysis = _Analysis(machine)
    with np.errstate(all="ignore"):
        for block, box in steps(plan_blocks(kernel)):
            analysis.run(block, box)
    wanted = [b.name for b in kernel.buffers if b.role.is_returned]
    return {name: analysis.records[name].total for name in wanted}


class _Analysis:
    """A running kernel and the errors of all its buffers."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.records = {
            buffer.name: _Record(*(np.zeros(buffer.shape) for _ in range(4)))
            for buffer in machine.kernel.buffers
        }
        self.inexact: set[str] = set()  # buffers that may hold errors

    def run(self, block: Block, box: Box) -> None:
        """Errors first, as they need the values before the statement."""
        if self._may_err(block):
            self.inexact.add(block.statement.target.buffer)
            self._measure_block(block, box)
        run_block(block, self.machine, box)

    def _may_err(self, block: Block) -> bool:
        statement, kernel = block.statement, self.machine.kernel
        read = [access.buffer for access in statement.reads]
        return any(name in self.inexact for name in (statement.target.buffer, *read)) or any(
            is_float(kernel.buffer(name).dtype) for name in (statement.target.buffer, *read)
        )

    def _measure_block(self, block: Block, box: Box) -> None:
        statement = block.statement
        axes = tuple(i for i, r in enumerate(box) if r.name in block.reduced)
        dtype = self.machine.kernel.buffer(statement.target.buffer).dtype
        sums = self._measure_products(block, box, axes, dtype)
        if sums is not None:
            self._store(block, box, *sums, axes, dtype)
            return
        if count_points(box) > MAX_POINTS:
            for half in halve(box, longest(block, box, is_ordered=False)):
                self._measure_block(block, half)
            return
        value, error = self.measure(statement.value, dtype, box)
        shape = [r.size for r in box]
        full = np.abs(np.broadcast_to(value, shape).astype(np.float64))
        errors = np.broadcast_to(error, shape)
        if statement.update == "+=":
            full, errors = (part.sum(axis=axes, keepdims=True) for part in (full, errors))
        self._store(block, box, full, errors, axes, dtype)

    def _measure_products(
        self, block: Block, box: Box, axes: tuple[int, ...], dtype: str
    ) -> Measured | None:
        """Of sums of products of two, the sums of magnitudes and errors as matrix products; None
        where a value is no such product, or might overflow.

        Of |a b|, and by `propagate` of (|a| + 2 e) f + (|b| + 2 f) e, with what rounding adds.
        """
        value = block.statement.value
        is_sum = block.statement.update == "+=" and axes
        if not is_sum or not isinstance(value, Apply) or value.op != "*":
            return None
        sizes = tuple(r.size for r in box)
        types = argument_types(value, self.machine.kernel, dtype)
        names = [{n for a in accesses(arg) for index in a.indices for n in index.names}
                 for arg in value.args]  # fmt: skip
        if any(prod(r.size for r in box if r.name in used) > MAX_ELEMENTS for used in names):
            return None
        parts = [self.measure(arg, t, box) for arg, t in zip(value.args, types, strict=True)]
        (a, e), (b, f) = (
            tuple(np.asarray(x, np.float64).reshape(np.shape(x) or (1,) * len(box)) for x in part)
            for part in parts
        )
        a, b = np.abs(a), np.abs(b)
        limits, count = _limits(dtype), prod(sizes[axis] for axis in axes)
        if not (a + 2 * e).max() * (b + 2 * f).max() * 2 < limits.largest:
            return None
        size = contract(a, b, axes, sizes)
        brought = np.zeros_like(size)
        if f.any():
            brought = brought + contract(a + 2 * e, f, axes, sizes)
        if e.any():
            brought = brought + contract(e, b + 2 * f, axes, sizes)
        error = brought + limits.eps * (size + 2 * brought) + count * limits.smallest
        kept = [1 if axis in axes else n for axis, n in enumerate(sizes)]
        return np.broadcast_to(size, kept), np.broadcast_to(error, kept)

    def _store(
        self, block: Block, box: Box, size: Array, error: Array, axes: tuple[int, ...], dtype: str
    ) -> None:
        """Join magnitudes and errors over the box, of `+=` their sums, into the target's record."""
        target = block.statement.target
        record = self.records[target.buffer]
        inherited, mass, count, total = (
            view_access(target, part, box)
            for part in (record.inherited, record.mass, record.count, record.total)
        )
        old = view_access(target, self.machine.arrays[target.buffer], box).astype(np.float64)
        shape = inherited.shape
        match block.statement.update:
            case "=":
                inherited[...], mass[...], count[...] = error.reshape(shape), 0.0, 0.0
            case "+=":
                mass[...] = np.where(count == 0, np.abs(old) + 2 * total, mass)
                mass[...] += (size + 2 * error).reshape(shape)
                inherited[...] += error.reshape(shape)
                count[...] += np.prod([box[axis].size for axis in axes])
            case "*=":
                terms = np.prod(size + error, axis=axes, keepdims=True).reshape(shape)
                wide = np.prod(size + 2 * error, axis=axes, keepdims=True).reshape(shape)
                steps = float(np.prod([box[axis].size for axis in axes]))
                before = np.abs(old) + total
                grown = (before + total) * wide * (1 + _gamma(dtype, np.asarray(steps)))
                inherited[...], mass[...], count[...] = grown - before * terms, 0.0, 0.0
            case _:  # max=, min=
                largest = error.max(axis=axes, keepdims=True, initial=0.0).reshape(shape)
                inherited[...] = np.maximum(total, largest)
                mass[...], count[...] = 0.0, 0.0
        total[...] = inherited + times(_gamma(dtype, count), mass)
        if is_integer(dtype) and block.statement.update != "=":
            _, high = integer_range(dtype)
            total[...] = np.where((total > 0) & (mass + total > high), np.inf, total)

    def measure(self, expr: Expr, dtype: str, box: Box) -> Measured:
        """Value of an expression over a box, and its error."""
        match expr:
            case Access(buffer, _, pad):
                values = evaluate(expr, dtype, self.machine, box)
                where = expr if pad is None else replace(expr, pad=0.0)
                return values, view_access(where, self.records[buffer].total, box)
            case Literal(number):
                exact = constant(number, dtype)
                off = 0.0 if is_integer(dtype) else abs(float(exact) - float(number))
                return exact, np.asarray(0.0 if np.isnan(off) else off)
            case Immediate():
                return evaluate(expr, dtype, self.machine, box), np.zeros(())
            case Apply(op, args):
                types = argument_types(expr, self.machine.kernel, dtype)
                parts = [self.measure(a, t, box) for a, t in zip(args, types, strict=True)]
                value = apply_op(op, [part for part, _ in parts], types[-1], dtype)
                return value, propagate(op, parts, value, types[-1], dtype)
            case _:
                assert_never(expr)


def _limits(dtype: str) -> FloatLimits:
    """Of integers those of a type that rounds nothing."""
    return (
        FLOAT_LIMITS[dtype] if is_float(dtype) else FloatLimits(0.0, 0.0, integer_range(dtype)[1])
    )


def _gamma(dtype: str, count: Array) -> Array:
    """n eps / (1 - n eps); integers do not round."""
    if is_integer(dtype):
        return np.zeros_like(count)
    part = count * FLOAT_LIMITS[dtype].eps
    return np.where(part < 1, part / (1 - part), np.inf)
