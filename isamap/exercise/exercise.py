"""Exercise one instruction, alone, at the ends of all its rules.

In: an instruction, its machine, what executes a program. Out: what was run and the first
difference. Not its job: choosing calls (`cases`), programs (`harness`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from isamap.errors import IsamapError, KernelError
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import is_float
from isamap.program import Program

from .cases import Case, make_case, num_calls, wishes
from .compare_bits import Difference, first_difference, may_choose_zeros
from .expect import expect
from .harness import make_harness
from .values import Pattern, draw

Arrays = Mapping[str, np.ndarray]
Executor = Callable[[Program, Hardware, Arrays], Arrays]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was run of one instruction.

    `extents`: per loop, the least and the greatest tried. `skipped`: why calls could not be tried.
    `failure`: of all calls, when nothing could be compared. `difference`, `case`: the first one.
    """

    instruction: str
    num_calls: int = 0
    extents: tuple[tuple[str, int, int], ...] = ()
    patterns: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    difference: Difference | None = None
    case: Case | None = None
    failure: str = ""

    @property
    def is_right(self) -> bool:
        """Did every call that was tried leave what it should?"""
        return self.difference is None and not self.failure


def exercise(
    instruction: Instruction,
    hw: Hardware,
    execute: Executor,
    *,
    seed: int = 0,
    is_exact: bool = False,
) -> Outcome:
    """Try one instruction; one that only synchronises has no calls.

    Args:
        execute: runs a program on arrays by buffer name and returns its outputs.
        is_exact: only floats whose sums are exact: a machine may keep more bits than the semantics.
    """
    if instruction.is_sync:
        return Outcome(instruction.name)
    made = [make_case(instruction, hw, wish) for wish in wishes(instruction)]
    skipped = tuple(dict.fromkeys(case for case in made if isinstance(case, str)))
    cases = tuple(dict.fromkeys(case for case in made if isinstance(case, Case)))
    if not cases:
        return Outcome(instruction.name, skipped=skipped, failure=f"no call is possible: {made[0]}")
    generator = np.random.default_rng(seed)
    rounds = tuple(
        (case, pattern) for case in cases for pattern in _patterns(case, cases, is_exact)
    )
    harness = make_harness(hw, instruction, tuple(case for case, _ in rounds))
    before = [
        {p.name: draw(p.dtype, p.shape, pattern, generator) for p in case.places}
        for case, pattern in rounds
    ]
    inputs = {
        harness.before[n][name]: array
        for n, held in enumerate(before)
        for name, array in held.items()
    }
    outcome = Outcome(
        instruction.name,
        sum(num_calls(case) for case, _ in rounds),
        _tried(cases),
        tuple(dict.fromkeys(pattern.value for _, pattern in rounds)),
        skipped,
    )
    try:
        with np.errstate(all="ignore"):
            expected = [expect(instruction, case, held) for (case, _), held in zip(rounds, before)]
    except KernelError as error:
        return _failed(outcome, f"the semantics are an error: {error.message}")
    try:
        outputs = execute(harness.program, harness.hardware, inputs)
    except IsamapError as error:
        return _failed(outcome, error.message)
    any_zero = may_choose_zeros(instruction.semantics)
    for number, ((case, _), right) in enumerate(zip(rounds, expected)):
        for name, array in right.items():
            found = outputs[harness.after[number][name]].reshape(array.shape)
            wrong = first_difference(name, found, array, any_zero=any_zero)
            if wrong is not None:
                return _differs(outcome, wrong, case)
    return outcome


def _patterns(case: Case, cases: tuple[Case, ...], is_exact: bool) -> tuple[Pattern, ...]:
    """All patterns for the first two cases, two of them in turn for the others."""
    if is_exact and any(is_float(place.dtype) for place in case.places):
        return (Pattern.WHOLE, Pattern.LOWEST, Pattern.HIGHEST)
    number = cases.index(case)
    every = (Pattern.RANDOM, Pattern.LOWEST, Pattern.HIGHEST, Pattern.MIXED)
    return every if number < 2 else (every[number % 4], Pattern.MIXED)


def _tried(cases: tuple[Case, ...]) -> tuple[tuple[str, int, int], ...]:
    names = [name for name, _ in cases[0].extents]
    values = {name: [dict(case.extents)[name] for case in cases] for name in names}
    return tuple((name, min(values[name]), max(values[name])) for name in names)


def _failed(outcome: Outcome, failure: str) -> Outcome:
    return Outcome(
        outcome.instruction, outcome.num_calls, outcome.extents, outcome.patterns,
        outcome.skipped, failure=failure,
    )  # fmt: skip


def _differs(outcome: Outcome, difference: Difference, case: Case) -> Outcome:
    return Outcome(
        outcome.instruction, outcome.num_calls, outcome.extents, outcome.patterns,
        outcome.skipped, difference, case,
    )  # fmt: skip
