"""Cycles of calls that add to the same sums one after the other.

In: a covering, its work, a tiling, the machine. Out: cycles of the compute unit. Not its job: sums
that leave their memory unfinished (`analytical`), stays that wait (`waiting`).
"""

from itertools import takewhile
from math import ceil, inf, prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .tiling import Tiling, last_units, trips
from .work import Work


def compute_path_cycles(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, fetched: float = 0.0
) -> float:
    """Compute issue cycles per unit, stretched when too few independent sums hide the accumulation
    latency: in all tiles, or in the last, shorter ones of a loop. `fetched`: cycles of copies that
    stand between the calls."""
    num_units = hw.num_units(work.compute_unit)
    shared = work.compute_cycles / num_units
    if work.accumulate_cycles * num_units <= work.issue_cycles:
        return shared
    independent = independent_loops(covering, tiling)
    sums = prod(tiling.tile(name) for name in independent)
    begun = _sums_begun(covering, work, tiling, hw, len(independent), fetched)
    one_by_one = work.calls * work.accumulate_cycles
    path = max(shared, ceil(one_by_one / (sums + begun)))
    for name in independent:
        loop = covering.loop(name)
        units = last_units(covering, tiling, loop)
        rest = units / loop.units
        fewer = sums * units / tiling.tile(name) + begun
        path = max(path, shared * (1 - rest) + one_by_one * rest / fewer)
    return path


def independent_loops(covering: Covering, tiling: Tiling) -> list[str]:
    """Unit loops inside all that add up, from the innermost one outwards: calls that follow each
    other go through sums that have nothing to do with each other, and complete them all in turn."""
    independent: list[str] = []
    for name in reversed(tiling.inner):
        if not covering.loop(name).is_reduction:
            independent.append(name)
        elif tiling.tile(name) > 1:
            break
    return independent


def _sums_begun(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, innermost: int, fetched: float
) -> float:
    """How many later sums a processor that looks ahead has begun while it waits for those of the
    innermost loops: as many as there are in the calls that it sees at a time.

    Source: derived here: of calls under way, each chain of additions has one at work.
    """
    window = max((memory.window_calls for memory in hw.memories), default=0)
    if not window:
        return 0.0
    around = [*reversed(tiling.inner)][innermost:]
    loops = [(name, tiling.tile(name)) for name in around if tiling.tile(name) > 1]
    tiles = ((name, trips(covering, tiling, name)) for name in reversed(tiling.outer))
    loops += [(name, count) for name, count in tiles if count > 1]
    chain = [*takewhile(lambda loop: covering.loop(loop[0]).is_reduction, loops)]
    length = prod(count for _, count in chain) if len(chain) < len(loops) else inf
    return window / (1 + fetched / max(1, work.calls)) / length
