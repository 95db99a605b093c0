"""The best schedule over all coverings of a kernel, and the proof.

In: a kernel, a machine, an aim, limits. Out: the chosen schedule, the alternatives that were looked
at, a bound for all coverings. Not its job: looking at one covering after the other
(`search_coverings`), emulation, printing.
"""

import time
from collections.abc import Iterator, Mapping
from itertools import islice
from math import inf

from isamap.costmodels import Costs, floor_costs
from isamap.errors import MappingError, TooSlowError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import (
    Covering,
    KnownCoverings,
    Mismatch,
    layout_rank,
    spread_coverings,
)
from isamap.program import Layout

from .ahead import as_called, copies
from .answer import Answer
from .limit_error import limit_error
from .limit_machine import without
from .natural import least_rank, rank_of
from .rarely_collected import rarely_collected
from .same_layout import same_layout
from .search_coverings import MAX_COVERINGS, CoveringSearch
from .solution import KnownModels, Status
from .why_nothing import why_nothing
from .wishes import DEFAULT, NONE_AROUND, Surroundings, Wishes


@rarely_collected()
def find_schedule(
    kernel: Kernel,
    hw: Hardware,
    wishes: Wishes = DEFAULT,
    around: Surroundings = NONE_AROUND,
    *,
    max_rank: int | None = None,
    known: KnownModels | None = None,
    known_coverings: KnownCoverings | None = None,
    most: float = inf,
    roomier: Answer | None = None,
    is_part: bool = False,
) -> Answer:
    """Solve coverings, lowest bounds first, until no remaining bound beats the best schedule.

    `max_rank`: of the coverings that are looked at (`rank_of`). `known`: models by the same aim.
    `known_coverings`: of kernels on this machine; grows. `most`: of the aim's value; only schedules
    below are of use. `roomier`: what is best where less is taken. `is_part`: of a plan, in which
    `fastest` is not asked for.

    Raises:
        MappingError: nothing matches, no copy fits, no single unit fits the memories, the aim's
            limits cannot be kept (a `LimitError`), or there is nothing below `most` (a
            `TooSlowError`).
    """
    begin = time.perf_counter()
    wishes.cost.check(hw)
    room = without(hw, around.taken)
    # operands of what is not alone may be on chip
    least = floor_costs(kernel, hw) if around.are_none else Costs(0, 0, 0)
    if roomier is not None and wishes.aim.is_fastest:
        least = least.at_least(Costs(roomier.best.estimate.cycles, 0, 0))
    elsewhere = (*wishes.ahead, *dict(around.setting.homes))
    search = CoveringSearch(
        room, wishes, least, wishes.clock.now() + wishes.time_limit_s, known, most,
        is_part=is_part, least_rank=least_rank(kernel, elsewhere),
    )  # fmt: skip
    found = (known_coverings or KnownCoverings()).find(
        kernel, hw, around.setting, may_reassociate=wishes.may_reassociate
    )
    stream: Iterator[Covering] = (
        called
        for covering in found
        if _agrees(covering, around.agreed)
        and not copies(covering, wishes.uncopied)
        and (max_rank is None or rank_of(covering, wishes.ahead) <= max_rank)
        for called in as_called(covering, (*wishes.ahead, *wishes.uncopied), hw)
    )
    stream = _prefer_natural(stream, around.handed_on - dict(around.setting.homes).keys())
    search.run(spread_coverings(stream, hw), roomier.best.covering if roomier else None)
    search.drop_unnatural()
    if not search.by_rank:
        raise _nothing(kernel, hw, found.mismatches, search)
    search.compare()
    return _answer(kernel, search, tuple(found.mismatches), time.perf_counter() - begin)


def _nothing(
    kernel: Kernel, hw: Hardware, mismatches: list[Mismatch], search: CoveringSearch
) -> MappingError:
    """Why no covering was scheduled."""
    if search.num_excluded:
        return limit_error(kernel.name, hw.name, search.wishes.aim)
    if search.num_slow:
        return TooSlowError(f"{kernel.name} takes {search.most} or more on {hw.name}", search.most)
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
        search.wishes.aim,
        best,
        fastest,
        Status.OPTIMAL if is_proven else Status.FEASIBLE,
        round(bound) if search.wishes.aim.is_fastest else search.least_cycles(),
        bound,
        tuple(sorted(search.alternatives, key=lambda a: a.value or a.bound)),
        mismatches,
        len(search.alternatives),
        search.is_complete,
        seconds,
        search.contenders,
        search.holds_below,
        search.is_ended,
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
