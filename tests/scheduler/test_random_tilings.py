"""Any legal tiling, not only the solver's, lowers to a program that computes the kernel.

In: random tilings of every kernel on every machine, with all or little of its memory, some of
which keep tiles that the solver would not. Out: failures. Not its job: what they cost.
"""

import random

import pytest

from isamap.costmodels import Tiling
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from tests.scheduler.cases import KERNELS, MACHINES, first_coverings, kernel, machine
from tests.scheduler.execution import assert_correct
from tests.scheduler.tilings import draw_until_found, random_legal_tiling, with_any_memory

NUM_COVERINGS = 3
SUBJECTS = KERNELS[:-1]  # the coverings of the last take seconds to list


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject[1])
def test_random_legal_tilings_compute_the_kernel(
    hw_name: str, subject: tuple[str, str, tuple[tuple[str, int], ...]]
) -> None:
    check_random_tiling(hw_name, subject, seed=0)


def check_random_tiling(
    hw_name: str, subject: tuple[str, str, tuple[tuple[str, int], ...]], seed: int
) -> None:
    """Draw coverings and memories until a random tiling fits; it must compute the kernel."""
    generator = random.Random(f"{hw_name} {subject} {seed}")
    found = first_coverings(*subject, hw_name, NUM_COVERINGS)

    def draw() -> tuple[Covering, Tiling, Hardware] | None:
        covering = generator.choice(found)
        hw = with_any_memory(machine(hw_name), covering, generator)
        any_kept = generator.random() < 0.3
        tiling = random_legal_tiling(
            covering, hw, generator, any_tile=True, any_kept=any_kept, attempts=20
        )
        return None if tiling is None else (covering, tiling, hw)

    assert_correct(kernel(*subject), *draw_until_found(draw))
