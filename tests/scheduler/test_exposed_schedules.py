"""Schedules for a machine that waits for nothing: the solver's model is the closed form, and every
tiling's calls find legal start cycles.

In: products and convolutions on OpenTPU, with all of its memory or little. Out: failures. Not its
job: what the programs compute (`tests/specs/test_opentpu.py`).
"""

import random
from functools import cache

import pytest

from isamap.costmodels import Tiling, count_work, estimate
from isamap.emulator import set_starts, time_program
from isamap.hwdesc import Hardware
from isamap.ir import load_kernel
from isamap.mapper import Covering
from isamap.planner import Wishes, find_plan
from isamap.scheduler import Status, lower, solve
from tests.scheduler.cases import kernel_file, machine
from tests.scheduler.exhaustive import model_cycles, search_exhaustively
from tests.scheduler.tilings import draw_until_found, random_legal_tiling, with_any_memory

HW = machine("opentpu")
CASES = (
    ("gemm", "gemm_i8", (("m", 300), ("n", 40), ("k", 50))),
    ("gemm", "gemm_i8", (("m", 20), ("n", 70), ("k", 33))),
    ("wrapped", "conv2d_wrapped", (("h", 5), ("w", 6), ("c", 18), ("k", 17))),
)


@cache
def covering_of(file: str, name: str, sizes: tuple[tuple[str, int], ...]) -> Covering:
    """The covering that is chosen for the kernel's product."""
    subject = load_kernel(kernel_file(file), dict(sizes), name)
    plan = find_plan(subject, HW, Wishes(time_limit_s=5))
    answer = plan.tasks[0].answer
    assert answer is not None
    return answer.best.covering


def draw(number: int, seed: int) -> tuple[Covering, Hardware, Tiling]:
    """A legal tiling of a case, on the machine with all of its memory or little."""
    generator = random.Random(f"{number} {seed}")
    covering = covering_of(*CASES[number])

    def draw_one() -> tuple[Covering, Hardware, Tiling] | None:
        hw = with_any_memory(HW, covering, generator, blocks=(2, 4, 6, 12), chance=0.5)
        tiling = random_legal_tiling(covering, hw, generator, any_tile=False, attempts=20)
        return None if tiling is None else (covering, hw, tiling)

    return draw_until_found(draw_one)


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("seed", range(4))
def test_every_tiling_is_priced_alike_and_has_legal_starts(number: int, seed: int) -> None:
    covering, hw, tiling = draw(number, seed)
    work = count_work(covering, hw)
    found = model_cycles(covering, work, hw, tiling)
    assert found is not None, tiling
    expected = estimate(covering, work, tiling, hw).cycles
    assert abs(found - expected) <= 1 + len(work.flows), tiling
    program = lower(covering, tiling, hw)
    assert program is not None
    timed = set_starts(program, hw, compiled=False)
    cycles = time_program(timed, hw, compiled=False).cycles
    assert cycles >= work.compute_cycles


def test_exhaustive_search_finds_nothing_better() -> None:
    covering = covering_of("gemm", "gemm_i8", (("m", 300), ("n", 40), ("k", 50)))
    work = count_work(covering, HW)
    best = search_exhaustively(covering, work, HW)
    assert best is not None and best.tiling is not None
    solution = solve(covering, work, HW, time_limit_s=60)
    assert solution.status is Status.OPTIMAL
    assert best.value <= solution.cycles <= best.value + 1, best.tiling
