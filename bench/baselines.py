"""Schedulers to compare with: random search, exhaustive search over divisors, greedy.

In: coverings with their work, a machine, a budget. Out: the best tiling that each finds, under the
closed form that isamap's solver minimises too. Not its job: emulating what was found.

All search the space that the solver decides in: tile sizes, both loop orders, levels, slots, what
is kept. They differ in how: samples drawn evenly on a logarithmic scale of trip counts (as
Timeloop's random mapper draws factors); every tile size that divides (as CoSA's and ZigZag's loop
factorisations); tiles grown one loop at a time while cycles fall.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from tilings import active_loops, all_tilings, keepable_loops, slot_choices

from isamap.costmodels import Stay, Tiling, Work, count_work, estimate
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from isamap.scheduler.greedy import schedule_greedily
from isamap.scheduler.legality import is_legal
from isamap.scheduler.options import must_divide, stay_choices

MOST_DRAWS = 40  # per legal sample

Candidate = tuple[Covering, Work]


@dataclass(frozen=True, slots=True)
class Found:
    """The best of a search: cycles of the closed form; None where nothing legal was found.

    `num_tried`: legal tilings priced. `is_complete`: did it see all that it wanted to? `seconds`:
    of the processor.
    """

    cycles: int | None
    covering: Covering | None
    tiling: Tiling | None
    num_tried: int
    is_complete: bool
    seconds: float


class _Best:
    """Keeps the best tiling of a search."""

    def __init__(self, hw: Hardware) -> None:
        self.hw = hw
        self.begin = time.process_time()
        self.cycles: int | None = None
        self.covering: Covering | None = None
        self.tiling: Tiling | None = None
        self.num_tried = 0

    def see(self, candidate: Candidate, tiling: Tiling) -> None:
        """Price a legal tiling."""
        covering, work = candidate
        self.num_tried += 1
        cycles = estimate(covering, work, tiling, self.hw).cycles
        if self.cycles is None or cycles < self.cycles:
            self.cycles, self.covering, self.tiling = cycles, covering, tiling

    def seconds(self) -> float:
        """Of the processor, since the search began."""
        return time.process_time() - self.begin

    def found(self, is_complete: bool) -> Found:
        """The result."""
        seconds = self.seconds()
        return Found(self.cycles, self.covering, self.tiling, self.num_tried, is_complete, seconds)


def search_randomly(
    candidates: Sequence[Candidate], hw: Hardware, *, samples: int, seed: int
) -> Found:
    """So many legal random tilings, shared out evenly over the coverings."""
    generator = random.Random(seed)
    best = _Best(hw)
    draws = 0
    while best.num_tried < samples and draws < MOST_DRAWS * samples:
        candidate = candidates[draws % len(candidates)]
        tiling = _draw(candidate[0], hw, generator)
        draws += 1
        if is_legal(candidate[0], tiling, hw):
            best.see(candidate, tiling)
    return best.found(best.num_tried == samples)


def _draw(covering: Covering, hw: Hardware, generator: random.Random) -> Tiling:
    tiles = {}
    for loop in covering.loops:
        trips = round(loop.units ** generator.random())
        tiles[loop.name] = 1 if loop.is_held else -(-loop.units // trips)
        if must_divide(covering, loop):
            tiles[loop.name] = generator.choice(_divisors(loop.units))
    active = active_loops(covering)
    rest = tuple(loop.name for loop in covering.loops if loop.name not in active)
    levels = generator.choice(stay_choices(covering, hw))
    stays = []
    work = count_work(covering, hw)
    for plan, choice in zip(covering.operands, levels, strict=True):
        for number, level in enumerate(choice):
            may_keep = keepable_loops(covering, plan, hw, level, tiles)
            kept = tuple(name for name in may_keep if generator.random() < 0.2)
            slots = generator.choice(slot_choices(covering, work, plan, number, hw))
            stays.append(Stay(plan.name, number, level, slots, kept))
    outer, inner = ((*generator.sample(active, len(active)), *rest) for _ in range(2))
    return Tiling(tuple(tiles.items()), outer, inner, tuple(stays))


def search_divisors(
    candidates: Sequence[Candidate], hw: Hardware, *, limit_s: float, seed: int = 0
) -> Found:
    """Every legal tiling whose tiles divide, as far as time goes: sizes in random order."""
    best = _Best(hw)
    generator = random.Random(seed)
    for candidate in candidates:
        covering = candidate[0]
        names = [loop.name for loop in covering.loops]
        divisors = [[1] if loop.is_held else _divisors(loop.units) for loop in covering.loops]
        sizes = list(product(*divisors))
        generator.shuffle(sizes)
        for chosen in sizes:
            tiles = {name: [tile] for name, tile in zip(names, chosen, strict=True)}
            for tiling in all_tilings(covering, hw, tiles, lambda: best.seconds() > limit_s):
                best.see(candidate, tiling)
            if best.seconds() > limit_s:
                return best.found(is_complete=False)
    return best.found(is_complete=True)


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def search_greedily(candidates: Sequence[Candidate], hw: Hardware) -> Found:
    """The greedy tiling of every covering."""
    best = _Best(hw)
    for candidate in candidates:
        tiling = schedule_greedily(*candidate, hw)
        if tiling is not None:
            best.see(candidate, tiling)
    return best.found(is_complete=True)
