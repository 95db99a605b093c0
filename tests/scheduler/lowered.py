"""Lower one mapping to a program: its first coverings, some tiling of them.

In: a kernel, a machine, a mapping. Out: a program, or why there is none. Not its job: which
mappings, running it.
"""

import random
from dataclasses import dataclass
from itertools import islice

from isamap.costmodels import Stay, Tiling, count_work
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import Covering, Mapping, Mismatch, cover_mapping
from isamap.program import Program
from isamap.scheduler import lower
from isamap.scheduler.greedy import schedule_greedily
from isamap.scheduler.legality import is_legal
from isamap.scheduler.options import stay_choices
from tests.scheduler.tilings import random_legal_tiling

MAX_COVERINGS = 8  # looked at per mapping
MAX_DRAWS = 12  # of random tilings per covering


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program of a mapping with the decisions behind it."""

    covering: Covering
    tiling: Tiling
    program: Program


def lower_mapping(
    kernel: Kernel, hw: Hardware, mapping: Mapping, generator: random.Random, *, greedy: bool
) -> Lowered | str:
    """A random tiling of one of the first coverings that have any; else why there is none.

    `greedy`: the scheduler's greedy tiling of the first covering instead.
    """
    mismatches: list[Mismatch] = []
    found = list(islice(cover_mapping(kernel, hw, mapping, mismatches), MAX_COVERINGS))
    if not greedy:
        generator.shuffle(found)
    for covering in found:
        if greedy:
            tiling = schedule_greedily(covering, count_work(covering, hw), hw)
        else:
            tiling = _draw(covering, hw, generator)
        if tiling is not None:
            program = lower(covering, tiling, hw)
            assert program is not None, "a legal tiling fits"
            return Lowered(covering, tiling, program)
    if found:
        return "no tiling fits"
    return max(mismatches, key=lambda m: m.progress).reason if mismatches else "no order of loops"


def _draw(covering: Covering, hw: Hardware, generator: random.Random) -> Tiling | None:
    """A random legal tiling, at the latest the one of single units and single slots."""
    tiling = random_legal_tiling(covering, hw, generator, any_tile=True, attempts=MAX_DRAWS)
    return tiling or _smallest(covering, hw)


def _smallest(covering: Covering, hw: Hardware) -> Tiling | None:
    """Tiles of one unit, sums innermost, the first choice of levels that is legal."""
    tiles = tuple((loop.name, 1) for loop in covering.loops)
    ordered = tuple(x.name for x in sorted(covering.loops, key=lambda loop: loop.is_reduction))
    for levels in stay_choices(covering, hw):
        stays = tuple(
            Stay(plan.name, number, level, 1)
            for plan, choice in zip(covering.operands, levels, strict=True)
            for number, level in enumerate(choice)
        )
        tiling = Tiling(tiles, ordered, ordered, stays)
        if is_legal(covering, tiling, hw):
            return tiling
    return None
