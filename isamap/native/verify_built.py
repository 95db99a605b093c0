"""Does a compiled function compute what its kernel says?

In: a compiled kernel. Out: a Verification. Not its job: what may be left out of a check
(`verify.samples`), programs in the emulator (`verify`).

The function runs at its real sizes, on arrays that begin one element after a cache line, its
outputs full of garbage. Where floats can be whole numbers that nothing rounds, outputs must agree
bit for bit, else within what rounding may change in any order of summation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from isamap.codegen import missing_features
from isamap.errors import IsamapError, KernelError
from isamap.ir import Kernel, Role, interpret, is_float, numpy_dtype, rounding_errors
from isamap.verify import (
    Check,
    Mismatch,
    Sample,
    Tolerance,
    Verification,
    compare,
    is_bounded,
    largest,
    no_meaning,
    samples,
    scaled_arrays,
    tells,
    whole_arrays,
    whole_numbers,
)

from .built import BuiltKernel
from .guarded import Guarded

NO_BOUND = "not bit-exact, and rounding errors have no bound on these inputs"

Arrays = Mapping[str, np.ndarray]


class WrongError(IsamapError):
    """A compiled function that does not compute what its kernel says, as `verification` found."""

    def __init__(self, name: str, verification: Verification) -> None:
        wrong = verification.mismatch
        found = verification.failure
        if wrong is not None:
            found = (
                f"{wrong.num_wrong} of {wrong.num_elements} elements of {wrong.buffer} differ, the"
                f" first at {list(wrong.index)}: {wrong.got}, expected {wrong.expected}"
            )
        super().__init__(f"what was compiled for {name} is wrong: {found}")
        self.verification = verification


@dataclass(frozen=True, slots=True)
class _Effort:
    """`call_s`: longest call, as predicted. `iterations`: of the kernel that the interpreter does,
    as `samples` counts them; `elements`: of all arrays."""

    call_s: float
    elements: float
    iterations: float


EFFORT = {
    Check.QUICK: _Effort(call_s=0.5, elements=2.0**26, iterations=2.0**23),
    Check.FULL: _Effort(call_s=np.inf, elements=np.inf, iterations=np.inf),
}
BESIDES = 2.0**25  # iterations on floats that are rounded where all is compared on whole ones
OFFSETS = {Check.QUICK: (1,), Check.FULL: (1, 0)}  # elements after the beginning of a line


@dataclass(frozen=True, slots=True)
class _Known:
    """What a part of the outputs must be."""

    sample: Sample
    expected: Arrays
    tolerance: Tolerance

    @property
    def limit(self) -> Tolerance:
        """What is compared against: nothing is tolerated where there is no bound."""
        return self.tolerance if is_bounded(self.tolerance) else 0.0


@dataclass(frozen=True, slots=True)
class _Trial:
    """Inputs and what is known of the outputs."""

    arrays: Arrays
    known: tuple[_Known, ...]


def verify_built(built: BuiltKernel, check: Check, seed: int = 0) -> Verification:
    """Run the function on random inputs and compare: in full every element, on whole numbers and on
    others, at two alignments; quick what can be computed in a few tenths of a second.

    `Verification.subject` says which elements were compared, `failure` why none were.
    """
    if check is Check.OFF:
        return Verification(check)
    sizes = tuple(built.kernel.extents.items())
    reason = _obstacle(built, EFFORT[check])
    if reason:
        return Verification(check, sizes, failure=reason)
    try:
        return _on_trials(built, check, _trials(built, check, seed))
    except KernelError as error:  # it divides by a difference, or shifts by one
        return no_meaning(check, sizes, error)


def _on_trials(built: BuiltKernel, check: Check, trials: Iterator[_Trial]) -> Verification:
    """What the function computes on them, as far as it is asked."""
    sizes = tuple(built.kernel.extents.items())
    found = Verification(check, sizes, failure="nothing could be compared")
    for trial in trials:
        if not trial.known:
            reason = "no part of its results can be computed quickly by itself: --verify full"
            found = found if found.is_verified else replace(found, failure=reason)
            continue
        now = _run(built, trial, check)
        if now.is_wrong or check is Check.QUICK:
            return now
        found = found if found.is_verified else now
    return found


def _obstacle(built: BuiltKernel, effort: _Effort) -> str:
    """Why the function does not run here, or a check takes too long; empty if neither."""
    rule = built.mapped.hardware.compiler
    missing = missing_features(rule) if rule is not None and rule.features else ()
    if missing:
        return f"not this processor, which lacks {', '.join(missing)}"
    call_s = built.mapped.cycles / built.mapped.hardware.clock_hz
    if call_s > effort.call_s:
        return f"a call takes about {call_s:.2g} s: --verify full"
    elements = sum(prod(b.shape) for b in built.kernel.buffers)
    if elements > effort.elements:
        return f"its arrays have {elements:.2g} elements: --verify full"
    return ""


def _trials(built: BuiltKernel, check: Check, seed: int) -> Iterator[_Trial]:
    """On whole numbers, where the kernel stays whole on them; then on others, if there are."""
    kernel, effort = built.kernel, EFFORT[check]
    exact = whole_numbers(kernel)
    if exact is not None:
        yield _exact_trial(kernel, exact, effort, seed)
    if exact is None or any(is_float(buffer.dtype) for buffer in kernel.buffers):
        iterations = effort.iterations if exact is None else min(effort.iterations, BESIDES)
        yield _rounded_trial(built, iterations, seed)


def _exact_trial(kernel: Kernel, exact: Kernel, effort: _Effort, seed: int) -> _Trial:
    arrays = whole_arrays(kernel, seed)
    known = []
    for sample in samples(exact, effort.iterations, seed):
        wide = _as_in(exact, sample.take(arrays))
        expected = _as_in(kernel, interpret(sample.kernel, wide))
        known.append(_Known(sample, expected, 0.0))
    return _Trial(arrays, tuple(known))


def _as_in(kernel: Kernel, arrays: Arrays) -> dict[str, np.ndarray]:
    """The arrays in the types of the kernel's buffers."""
    types = {b.name: numpy_dtype(b.dtype) for b in kernel.buffers}
    return {name: array.astype(types[name], copy=False) for name, array in arrays.items()}


def _rounded_trial(built: BuiltKernel, iterations: float, seed: int) -> _Trial:
    """Inputs are scaled down until what is tolerated is a small part of the results."""
    kernel = built.kernel
    form = kernel if built.mapped.plan is None else built.mapped.plan.kernel
    trial = _Trial({}, ())
    for arrays in scaled_arrays(kernel, seed):
        known = tuple(
            _Known(sample, expected, tolerance)
            for sample in samples(kernel, iterations, seed)
            for own in [sample.take(arrays)]
            for expected in [interpret(sample.kernel, own)]
            for tolerance in [_tolerance(sample, form, own)]
        )
        trial = _Trial(arrays, known)
        if all(_tells(one) for one in known):
            return trial
    return replace(trial, known=tuple(replace(k, tolerance=np.inf) for k in trial.known))


def _tells(known: _Known) -> bool:
    """Is what is tolerated anywhere a small part of the results?"""
    if isinstance(known.tolerance, float):
        return True
    worst = {name: limits.max(keepdims=True) for name, limits in known.tolerance.items()}
    return tells(worst, known.expected)


def _tolerance(sample: Sample, form: Kernel, arrays: Arrays) -> Tolerance:
    """How far kernel and program lie apart at most, each of them that far from exact results."""
    meaning = rounding_errors(sample.kernel, arrays)
    small = sample.of(form)
    if small is None:
        return np.inf
    other = meaning if small == sample.kernel else rounding_errors(small, arrays)
    return {name: error + other[name] for name, error in meaning.items()}


def _run(built: BuiltKernel, trial: _Trial, check: Check) -> Verification:
    """Call after call of one prepared kernel, so that later ones find its scratch used."""
    allowed = max(largest(known.limit) for known in trial.known)
    text = _subject(built.kernel, trial)
    right = Verification(check, tuple(built.kernel.extents.items()), allowed, subject=text)
    ahead = {name: trial.arrays[name] for name in built.mapped.ahead}
    prepared = built.prepare(**ahead)
    for offset in OFFSETS[check]:
        rooms = {
            b.name: Guarded(b, trial.arrays.get(b.name), offset)
            for b in built.kernel.buffers
            if b.role is not Role.TEMP and b.name not in ahead
        }
        prepared(**{name: room.array for name, room in rooms.items()})
        failure = _trespass(built.kernel, rooms, trial.arrays)
        if failure:
            return replace(right, failure=f"the compiled function {failure}", is_wrong=True)
        for known in trial.known:
            wrong = _compare(rooms, known)
            if wrong is not None and not is_bounded(known.tolerance):
                return replace(right, failure=NO_BOUND)
            if wrong is not None:
                return replace(right, mismatch=wrong, is_wrong=True)
    return right


def _trespass(kernel: Kernel, rooms: Mapping[str, Guarded], arrays: Arrays) -> str:
    """What was written that is no output; empty if nothing was."""
    for name, room in rooms.items():
        if room.is_overrun:
            return f"writes beyond {name}"
        if kernel.buffer(name).role is Role.IN and room.is_changed(arrays[name]):
            return f"changes {name}"
    return ""


def _compare(rooms: Mapping[str, Guarded], known: _Known) -> Mismatch | None:
    outputs = {name: rooms[name].array for name in known.expected}
    got = known.sample.take(outputs)
    wrong = compare(got, known.expected, "the kernel's meaning", known.limit)
    if wrong is None:
        return None
    return replace(wrong, index=known.sample.place(wrong.buffer, wrong.index))


def _subject(kernel: Kernel, trial: _Trial) -> str:
    """Which elements are compared."""
    parts = []
    for sample in (known.sample for known in trial.known):
        picked = {(pick.buffer, pick.dim): len(pick.indices) for pick in sample.picks}
        for buffer in kernel.buffers:
            is_picked = any(name == buffer.name for name, _ in picked)
            if not is_picked or not buffer.role.is_returned:
                continue
            ranges = (
                f"{picked[buffer.name, dim]} of {size}" if (buffer.name, dim) in picked else "all"
                for dim, size in enumerate(buffer.shape)
            )
            parts.append(f"{buffer.name}[{', '.join(ranges)}]")
    which = f", at {' and '.join(parts)}," if parts else ""
    return f"the compiled function{which}"
