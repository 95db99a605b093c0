"""What a cost model that compares candidates found out about them.

In: contenders. Out: lines of text, JSON. Not its job: measuring.
"""

from collections.abc import Sequence

from isamap.mapper import Covering
from isamap.scheduler import Contender, Schedule

from .json_parts import Json, tiling_to_json
from .units import align, show_seconds

SHOWN = 12  # candidates in a table
MEASURED = "measured"  # the one cost model whose prices are times that something took


def section_title(cost: str) -> str:
    """What is above what a cost model said of several candidates."""
    return "measured" if cost == MEASURED else "compared"


def measured_lines(contenders: Sequence[Contender], clock_hz: float, cost: str) -> list[str]:
    """Who won, what to know about the price, then a line for each of the fastest and for the
    closed form's first, in its order; `cost`: who says so."""
    if not contenders:
        return []
    winner = winner_of(contenders)
    first = contenders[winner].schedule
    seconds = show_seconds(first.cost_cycles / clock_hz)
    origin = f"priced by {cost}"
    if cost == MEASURED:
        origin = "from the database" if contenders[winner].price.is_recalled else "measured now"
    head = f"{seconds}: the model's number {winner + 1} of {len(contenders)}, {origin}"
    rows = [("model", "predicted", cost, "instruction", "tiles", "loops")]
    shown = sorted({0, *_fastest(contenders)[:SHOWN]})
    for number in shown:
        contender = contenders[number]
        schedule = contender.schedule
        predicted = show_seconds(schedule.estimate.cycles / clock_hz)
        problem = contender.price.problem
        took = problem or show_seconds(schedule.cost_cycles / clock_hz)
        mark = " *" if number == winner else ""
        instruction = schedule.covering.instruction
        rows.append((f"{number + 1}{mark}", predicted, took, instruction, *_shape(schedule)))
    table = align(rows, right=(1,))
    if len(shown) < len(contenders):
        table.append(f"the fastest of {len(contenders)} and the model's first; --json has all")
    return [head, *contenders[winner].price.notes, *table]


def winner_of(contenders: Sequence[Contender]) -> int:
    """Number of the cheapest one."""
    return _fastest(contenders)[0]


def _fastest(contenders: Sequence[Contender]) -> list[int]:
    """Numbers of all, the cheapest first, those without a price last."""
    costs = [(c.price.cycles is None, c.schedule.cost) for c in contenders]
    return sorted(range(len(contenders)), key=lambda number: costs[number])


def contenders_to_json(contenders: Sequence[Contender], clock_hz: float, cost: str) -> list[Json]:
    """Null seconds for a candidate that could not be run (or priced)."""
    key = "measured_s" if cost == MEASURED else "priced_s"
    found: list[Json] = []
    for number, contender in enumerate(contenders):
        schedule, price = contender.schedule, contender.price
        found.append(
            {
                "model_rank": number + 1,
                "predicted_s": schedule.estimate.cycles / clock_hz,
                key: None if price.cycles is None else price.cycles / clock_hz,
                "problem": price.problem,
                "is_recalled": price.is_recalled,
                "notes": list(price.notes),
                "instruction": schedule.covering.instruction,
                "tiling": tiling_to_json(schedule.tiling),
            }
        )
    return found


def _shape(schedule: Schedule) -> tuple[str, str]:
    """`i 15, j 2 x 16, p 1` in units of so many iterations, and the order of both nests."""
    tiling = schedule.tiling
    covering: Covering = schedule.covering
    tiles = []
    for loop in covering.loops:
        block = f" x {loop.block}" if loop.block > 1 else ""
        tiles.append(f"{loop.name} {tiling.tile(loop.name)}{block}")
    return ", ".join(tiles), f"{' '.join(tiling.outer)} | {' '.join(tiling.inner)}"
