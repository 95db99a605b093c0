"""Random cases small enough to search exhaustively, and the comparison with the solver.

In: a machine's name, a seed. Out: a covering on a machine with all or little of its memory; what
solver and exhaustive search find. Not its job: the search itself (`exhaustive`), what to conclude.
"""

import random
from dataclasses import dataclass
from functools import cache
from itertools import islice

from isamap.costmodels import FASTEST, Aim, Costs, Metric, count_work
from isamap.hwdesc import Hardware
from isamap.mapper import Covering, coverings
from isamap.scheduler import Solution, solve
from tests.scheduler.cases import kernel, machine
from tests.scheduler.exhaustive import MANY, search_exhaustively
from tests.scheduler.tilings import active_loops, draw_until_found, with_less_memory

Sizes = tuple[tuple[str, int], ...]

SHARE = {Metric.EDP: 2.0**-15}  # of a value that the model may not tell apart
MAX_UNITS = 6  # per loop
MAX_LOOPS = 3  # of more than one unit
FAMILIES = (
    ("gemm", "gemm", ("m", "n", "k")),
    ("gemm", "gemm_nt", ("m", "n", "k")),
    ("gemv", "gemv", ("m", "k")),
    ("pointwise_conv", "pointwise_conv", ("h", "w", "c", "k")),
    ("depthwise_conv", "depthwise_conv", ("h", "w", "c")),
    ("batched_gemm", "batched_gemm", ("b", "m", "n", "k")),
    ("conv2d", "conv2d", ("h", "w", "c", "k", "r", "s")),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A covering and the machine to schedule it on; `text` says which, for people."""

    covering: Covering
    hw: Hardware
    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What both found: `best` None when nothing fits, `solution.tiling` None likewise."""

    solution: Solution
    best: float | None
    num_tilings: int
    best_text: str


def small_case(hw_name: str, seed: int) -> Case:
    """Draw kernels and coverings until one has two or three loops of at most six units."""
    generator = random.Random(f"{hw_name} {seed}")

    def draw() -> tuple[str, Sizes, list[Covering]] | None:
        file, name, loops = generator.choice(FAMILIES)
        sizes = tuple((loop, _random_size(loop, generator)) for loop in loops)
        found = [c for c in _first_coverings(file, name, sizes, hw_name) if _is_small(c)]
        return (name, sizes, found) if found else None

    name, sizes, found = draw_until_found(draw)
    covering = generator.choice(found)
    hw, room = machine(hw_name), {}
    if generator.random() < 0.75:
        room = {memory.name: generator.choice((1, 2, 3, 4, 6, 12)) for memory in hw.memories}
        hw = with_less_memory(hw, covering, room)
    bound = " ".join(f"{loop}={','.join(group)}" for loop, group in covering.binding)
    small = " ".join(f"{memory}:{blocks}" for memory, blocks in room.items())
    return Case(covering, hw, f"{hw_name} {name} {dict(sizes)} [{bound}] {small}")


def slack(aim: Aim, costs: Costs) -> float:
    """What the model may not tell apart: a cycle (it counts in sixteenths, each flow rounded up),
    and the last digits of a product or of a sum over flows."""
    cycle = {Metric.CYCLES: 1.0, Metric.EDP: costs.energy_pj}
    return sum(
        weight * (cycle.get(metric, 0.0) + SHARE.get(metric, 2.0**-30) * costs.of(metric))
        for metric, weight in aim.weights
    )


def compare(
    case: Case, *, solve_limit_s: float, most_tilings: int = MANY, aim: Aim = FASTEST
) -> Comparison | None:
    """Solver and exhaustive search on one case; None where there are too many tilings."""
    covering, hw = case.covering, case.hw
    work = count_work(covering, hw)
    best = search_exhaustively(covering, work, hw, most_tilings=most_tilings, aim=aim)
    if best is None:
        return None
    solution = solve(covering, work, hw, time_limit_s=solve_limit_s, aim=aim)
    value = None if best.tiling is None else best.value
    return Comparison(solution, value, best.num_tilings, str(best.tiling))


@cache
def _first_coverings(file: str, name: str, sizes: Sizes, hw_name: str) -> tuple[Covering, ...]:
    return tuple(islice(coverings(kernel(file, name, sizes), machine(hw_name), []), 4))


def _is_small(covering: Covering) -> bool:
    active = active_loops(covering)
    return 2 <= len(active) <= MAX_LOOPS and all(
        covering.loop(name).units <= MAX_UNITS for name in active
    )


def _random_size(loop: str, generator: random.Random) -> int:
    if loop in ("r", "s"):
        return generator.randint(1, 3)
    return generator.choice((1, generator.randint(2, 6), generator.randint(7, 100)))
