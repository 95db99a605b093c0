"""The closed form counts the bytes and the energy that the emulator counts.

In: random legal tilings of every kernel on every machine, each memory and instruction with an
energy of its own. Out: failures. Not its job: cycles, which energies are right.
"""

import random
from dataclasses import replace

import pytest

from isamap.costmodels import Tiling, count_work, moved_by
from isamap.emulator import time_program
from isamap.hwdesc import Expression, Hardware
from isamap.mapper import Covering
from isamap.scheduler import lower
from tests.scheduler.cases import KERNELS, MACHINES, first_coverings, machine
from tests.scheduler.tilings import draw_until_found, random_legal_tiling, with_any_memory

SUBJECTS = KERNELS[:-1]  # the coverings of the last take seconds to list


def with_energies(hw: Hardware) -> Hardware:
    """The machine with a different energy in every memory, direction and instruction."""
    memories = tuple(
        replace(m, read_energy_pj_per_byte=1.5 + n, write_energy_pj_per_byte=2.25 * (n + 1))
        for n, m in enumerate(hw.memories)
    )
    instructions = tuple(
        i
        if i.is_sync  # tokens' calls are not part of the closed form
        else replace(
            i,
            energy_pj=Expression.parse(
                " * ".join(
                    [f"{n + 1} / 4", *(name for name, _ in i.extents), *(r.name for r in i.repeats)]
                )
            ),
        )
        for n, i in enumerate(hw.instructions)
    )
    return replace(hw, memories=memories, instructions=instructions)


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject[1])
def test_closed_form_and_emulator_count_the_same(
    hw_name: str, subject: tuple[str, str, tuple[tuple[str, int], ...]]
) -> None:
    generator = random.Random(f"{hw_name} {subject}")
    found = first_coverings(*subject, hw_name, 3)
    full = with_energies(machine(hw_name))

    def draw() -> tuple[Covering, Hardware, Tiling] | None:
        covering = generator.choice(found)
        hw = with_any_memory(full, covering, generator)
        tiling = random_legal_tiling(covering, hw, generator, any_tile=True, attempts=20)
        return None if tiling is None else (covering, hw, tiling)

    covering, hw, tiling = draw_until_found(draw)
    program = lower(covering, tiling, hw)
    assert program is not None, "a legal tiling fits"
    timing = time_program(program, hw, compiled=False)
    moved = moved_by(covering, count_work(covering, hw), tiling)
    read, written = dict(moved.read_bytes), dict(moved.written_bytes)
    for row in timing.traffic:
        counted = (read.get(row.memory, 0), written.get(row.memory, 0))
        assert counted == (row.read_bytes, row.written_bytes), f"{row.memory}: {tiling}"
    assert moved.energy_pj == pytest.approx(timing.energy_pj, rel=1e-9)
