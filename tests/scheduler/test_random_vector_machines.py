"""Any machine with a vector instruction gives a right program or a reason.

In: random machines and kernels. Out: failures. Not its job: sums (`test_random_machines`).
"""

import random
from collections import Counter
from pathlib import Path

import pytest

from isamap.costmodels import bound_cycles, roofline
from isamap.errors import MappingError, SpecErrors
from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel
from isamap.scheduler import Wishes, find_schedule
from tests.scheduler.execution import assert_computes
from tests.scheduler.vector_machines import random_kernel_text, random_value, random_vector_machine

CASES = 60


def outcome(seed: int, folder: Path) -> str:
    """Schedule and execute one case: "right", or the kind of reason why there is no schedule."""
    generator = random.Random(f"vector machine {seed}")
    file, text = folder / "random.yaml", folder / "subject.py"
    target, value = random_value(generator)
    file.write_text(random_vector_machine(target, value, generator))
    text.write_text(random_kernel_text(value, generator))
    sizes = {"m": generator.randint(1, 7), "n": generator.randint(1, 9)}
    subject = load_kernel(text, sizes, "subject")
    try:
        hw = load_hardware(file)
    except SpecErrors as errors:
        assert all(error.loc is not None for error in errors.errors), str(errors)
        return "no machine"
    try:
        answer = find_schedule(subject, hw, Wishes(time_limit_s=3))
    except MappingError as error:
        reasons = ("\n  ", "do not fit", "carries a dependence", "cannot be scheduled so far")
        assert any(reason in error.message for reason in reasons), error.message
        return "a reason"
    timing = assert_computes(subject, answer.best.program, hw, f"seed {seed}")
    least, _ = bound_cycles(answer.best.covering, answer.best.work, hw)
    assert max(least, roofline(subject, hw).cycles) <= timing.cycles
    return "right"


@pytest.mark.parametrize("part", range(4))
def test_a_random_vector_machine_gives_a_right_program_or_a_reason(
    part: int, tmp_path: Path
) -> None:
    found = Counter(outcome(seed, tmp_path) for seed in range(part, CASES, 4))
    assert found["right"] >= 2, "else nothing is tested"
