"""Any machine that loads gives a right program or a reason.

In: random machines and kernels. Out: failures. Not its job: how good the programs are.
"""

import random
from pathlib import Path

import pytest

from isamap.errors import MappingError, SpecErrors
from isamap.hwdesc import load_hardware
from isamap.scheduler import Answer, Wishes, find_schedule
from tests.scheduler.execution import assert_computes
from tests.scheduler.machines import random_kernel, random_machine

CASES = 25


def schedule(
    seed: int, folder: Path, *, converts: bool = False, is_deep: bool = False
) -> Answer | str:
    """Schedule and execute one case; or the reason why there is no schedule."""
    generator = random.Random(f"machine {seed}")
    file = folder / "random.yaml"
    file.write_text(random_machine(generator, converts=converts, is_deep=is_deep))
    subject = random_kernel(generator)
    try:
        hw = load_hardware(file)
    except SpecErrors as errors:
        assert all(error.loc is not None for error in errors.errors), str(errors)
        return str(errors)
    try:
        answer = find_schedule(subject, hw, Wishes(time_limit_s=3))
    except MappingError as error:
        reasons = ("\n  ", "do not fit", "cannot be scheduled so far")
        assert any(reason in error.message for reason in reasons), error.message
        return error.message
    timing = assert_computes(subject, answer.best.program, hw, f"seed {seed}")
    assert answer.bound_cycles <= answer.best.solution.cycles
    assert answer.best.work.compute_cycles <= timing.cycles
    return answer


@pytest.mark.parametrize("seed", range(CASES))
def test_a_random_machine_gives_a_right_program_or_a_reason(seed: int, tmp_path: Path) -> None:
    schedule(seed, tmp_path)


def test_random_machines_that_convert_on_the_way_give_right_programs(tmp_path: Path) -> None:
    found = [schedule(seed, tmp_path, converts=True) for seed in range(CASES)]
    assert sum(isinstance(answer, Answer) for answer in found) >= 5, "else nothing is tested"


def test_random_machines_of_several_scratchpads_in_a_row_give_right_programs(
    tmp_path: Path,
) -> None:
    found = [schedule(seed, tmp_path, is_deep=True) for seed in range(CASES // 2)]
    answers = [answer for answer in found if isinstance(answer, Answer)]
    assert len(answers) >= 5, "else nothing is tested"
    tilings = [answer.best.tiling for answer in answers]
    inner = [{s.operand for s in tiling.stays if s.residence == 0 and s.level}
             & {s.operand for s in tiling.stays if s.residence > 0}
             for tiling in tilings]  # fmt: skip
    assert any(inner), "tiles in inner memories"


def test_most_random_machines_load(tmp_path: Path) -> None:
    """Else the test above would test nothing."""
    generators = (random.Random(f"machine {seed}") for seed in range(CASES))
    loaded = 0
    for generator in generators:
        file = tmp_path / "random.yaml"
        file.write_text(random_machine(generator))
        try:
            load_hardware(file)
        except SpecErrors:
            continue
        loaded += 1
    assert loaded > CASES // 2
