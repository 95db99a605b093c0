"""The best schedule over all coverings of a kernel, and the proof.

In: a kernel, a machine, an aim, limits. Out: the chosen schedule, the alternatives that were looked
at, a bound for all coverings. Not its job: looking at one covering after the other
(`search_coverings`), emulation, printing.
"""

import time
from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType

from isamap.costmodels import (
    ANALYTICAL,
    FASTEST,
    Aim,
    CostModel,
    Costs,
    floor_costs,
)
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import (
    Covering,
    Ends,
    Mismatch,
    coverings,
    layout_rank,
    spread_coverings,
)
from isamap.program import Layout

from .answer import Answer
from .limit_error import limit_error
from .same_layout import same_layout
from .search_coverings import MAX_COVERINGS, CoveringSearch, rank_of
from .solve import KnownModels, Status
from .watch import NOBODY, Watch
from .why_nothing import why_nothing

NOWHERE: Mapping[str, str] = MappingProxyType({})
NO_LAYOUTS: Mapping[str, Layout] = MappingProxyType({})


def find_schedule(
    kernel: Kernel,
    hw: Hardware,
    *,
    cost: CostModel = ANALYTICAL,
    layouts: str = "natural",
    time_limit_s: float = 20.0,
    workers: int = 1,
    seed: int = 0,
    may_reassociate: bool = False,
    aim: Aim = FASTEST,
    max_rank: int | None = None,
    held: tuple[str, ...] = (),
    volatile: tuple[tuple[str, str], ...] = (),
    handed_on: frozenset[str] = frozenset(),
    ends: Ends | None = None,
    homes: Mapping[str, str] = NOWHERE,
    agreed: Mapping[str, Layout] = NO_LAYOUTS,
    watch: Watch = NOBODY,
    known: KnownModels | None = None,
) -> Answer:
    """Solve coverings, lowest bounds first, until no remaining bound beats the best schedule.

    `layouts`: "natural" repacks as little as possible, unless more repacking gains more than
    `NATURAL_TOLERANCE`; "packed" takes what is best by `aim` whatever must be packed, up to
    `max_rank` (`rank_of`).
    `cost` chooses: among the best schedules of the coverings, or among as many as it asks for.
    `held`, `volatile`, `ends`: as in a `Task`. `handed_on`: buffers that other statements touch
    too; only coverings that use them as they lie are looked at, if there are any. `homes`: buffers
    that lie in a managed memory; `agreed`: in which layout, where that is settled. `watch` ends the
    search with the best so far, in the first covering that can be scheduled with a greedy one.
    `known`: models by the same aim.

    Raises:
        MappingError: nothing matches, no copy fits, no single unit fits the memories, or the aim's
            limits cannot be kept (a `LimitError`).
    """
    begin = time.perf_counter()
    cost.check(hw)
    mismatches: list[Mismatch] = []
    is_whole = not (held or volatile or handed_on or ends or homes)
    least = floor_costs(kernel, hw) if is_whole else Costs(0, 0, 0)  # its operands may be on chip
    search = CoveringSearch(
        hw, cost, layouts, aim, least, begin + time_limit_s, workers, seed, watch, known
    )
    stream = coverings(
        kernel, hw, mismatches, may_reassociate=may_reassociate, held=held, volatile=volatile,
        ends=ends, homes=homes,
    )  # fmt: skip
    stream = (
        covering
        for covering in stream
        if _agrees(covering, agreed) and (max_rank is None or rank_of(covering) <= max_rank)
    )
    stream = _prefer_natural(stream, handed_on - homes.keys())
    search.run(spread_coverings(stream, hw))
    if not search.by_rank:
        raise _nothing(kernel, hw, mismatches, search)
    search.compare()
    return _answer(kernel, search, tuple(mismatches), time.perf_counter() - begin)


def _nothing(
    kernel: Kernel, hw: Hardware, mismatches: list[Mismatch], search: CoveringSearch
) -> MappingError:
    """Why no covering was scheduled."""
    if search.num_excluded:
        return limit_error(kernel.name, hw.name, search.aim)
    return why_nothing(kernel, hw, mismatches, search.misfits())


def _answer(
    kernel: Kernel, search: CoveringSearch, mismatches: tuple[Mismatch, ...], seconds: float
) -> Answer:
    best = search.chosen()
    fastest = search.fastest() if search.fastest() is not best else None
    bound = search.bound(best)
    is_proven = best.solution.status is Status.OPTIMAL and best.solution.value <= bound
    return Answer(
        kernel,
        search.aim,
        best,
        fastest,
        Status.OPTIMAL if is_proven else Status.FEASIBLE,
        round(bound) if search.aim.is_fastest else search.least_cycles(),
        bound,
        tuple(sorted(search.alternatives, key=lambda a: a.value or a.bound)),
        mismatches,
        len(search.alternatives),
        search.is_complete,
        seconds,
        search.contenders,
    )


def _agrees(covering: Covering, agreed: Mapping[str, Layout]) -> bool:
    """Does the covering use the buffers in the layouts that others use them in?"""
    return all(
        same_layout(end.layout, agreed[name])
        for plan in covering.operands
        for _, name, end in plan.ends
        if name in agreed
    )


def _prefer_natural(stream: Iterator[Covering], names: frozenset[str]) -> Iterator[Covering]:
    """The coverings that use the named buffers as they lie, or all if there is none."""
    if not names:
        yield from stream
        return
    others = []
    found = False
    for covering in islice(stream, MAX_COVERINGS):
        if all(
            layout_rank(plan) == 0
            for plan in covering.operands
            if any(name in names for _, name, _ in plan.ends)
        ):
            found = True
            yield covering
        elif not found:
            others.append(covering)
    if not found:
        yield from others
