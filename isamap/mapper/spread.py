"""Share a covering's loops out over the cores of a machine, in every way.

In: coverings of one core, a machine. Out: the same coverings and their spread ones, lowest compute
bound first. Not its job: which way is best, tiles.

A loop is cut into equal shares of units, one per core; the last cores have fewer, or none. Only
loops that move the output are shared out: partial sums of several cores could not be combined.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from heapq import heappop, heappush
from itertools import product
from math import prod

from isamap.hwdesc import Hardware, Instruction, is_same_work

from .covering import CoreShare, Covering, OperandPlan, Residence, TiledLoop, Transfer
from .issue_cycles import unit_cycles
from .meets_itself import meets_itself
from .transfer import block_cycles

Factors = Mapping[str, int]  # loop -> over how many positions of an axis it is shared out
MANY_CORES = 4  # an axis of more is used up as far as it goes, or not at all
MAX_SHARED = 3  # loops considered per axis of more cores than that: the longest


def spread_coverings(stream: Iterator[Covering], hw: Hardware) -> Iterator[Covering]:
    """Every covering of the stream on one core and on several; ascending compute bounds stay."""
    if hw.cores is None:
        yield from stream
        return
    waiting: list[tuple[int, int, Covering]] = []
    number = 0
    for covering in stream:
        least = unit_cycles(covering, hw)
        while waiting and waiting[0][0] <= least // hw.num_cores:
            yield heappop(waiting)[2]
        for variant in (covering, *spread(covering, hw)):
            heappush(waiting, (unit_cycles(variant, hw), number, variant))
            number += 1
    while waiting:
        yield heappop(waiting)[2]


def spread(covering: Covering, hw: Hardware) -> Iterator[Covering]:
    """The covering on several cores, once per way to share its loops out and to bring operands.

    An operand that all cores along some axes need alike is brought to each by its own call, or by a
    multicast to all of them; of ways with the same calls on dearer terms only the best is taken.
    """
    if hw.cores is None or why_one_core(covering, hw):
        return
    names = _shareable(covering)
    per_axis = [list(_factors(covering, names, size)) for _, size in hw.cores.axes]
    for choice in product(*per_axis):
        shares = tuple(
            share
            for (axis, _), factors in zip(hw.cores.axes, choice, strict=True)
            for share in _shares(axis, factors)
        )
        if not shares or not _is_useful(covering, shares):
            continue
        for plans in product(*(_ways(plan, shares, hw) for plan in covering.operands)):
            variant = _spread(covering, shares, plans)
            if not _cuts_window(variant):
                yield variant


def why_one_core(covering: Covering, hw: Hardware) -> str:
    """Why only one core of the machine can run the covering so far; empty if several can."""
    if not hw.is_interlocked:
        return f"cores that synchronise by {hw.synchronisation.value} are not scheduled together"
    unit = hw.instruction(covering.instruction).unit
    if hw.num_copies(unit) == 1:
        return f"all cores share {unit!r}, which computes"
    for plan in covering.operands:
        for residence in plan.residences:
            for memory in _memories(residence):
                if hw.num_copies(memory) == 1:
                    return f"{plan.name} stays in {memory!r}, which all cores share"
        for _, name, end in plan.ends:
            if end.home is not None and hw.num_copies(end.home) > 1:
                return f"{name} lies in {end.home!r} of one core"
    return "" if _shareable(covering) else "no loop of several units moves the output alone"


def _memories(residence: Residence) -> tuple[str, ...]:
    """The residence's memory, and those that its blocks pass on the way."""
    ways = (residence.fill and residence.fill.inward, residence.drain and residence.drain.onward)
    return (residence.memory, *(passage.memory for passage in ways if passage))


def spread_like(covering: Covering, other: Covering) -> Covering:
    """The covering shared out and its operands brought as in `other`, which differs in sizes."""
    if not other.shares:
        return covering
    plans = tuple(
        replace(
            plan,
            residences=tuple(
                _with_instructions(residence, like)
                for residence, like in zip(plan.residences, model.residences, strict=True)
            ),
        )
        for plan, model in zip(covering.operands, other.operands, strict=True)
    )
    return _spread(covering, other.shares, plans)


def _with_instructions(residence: Residence, other: Residence) -> Residence:
    def like(mine: Transfer | None, model: Transfer | None) -> Transfer | None:
        return mine and model and replace(mine, instruction=model.instruction)

    fill, zero = like(residence.fill, other.fill), like(residence.zero, other.zero)
    return replace(residence, fill=fill, zero=zero, again=like(residence.again, other.again))


def _shareable(covering: Covering) -> tuple[str, ...]:
    """Loops whose iterations may run on different cores: those that move the output to elements
    of its own."""
    outputs = [plan for plan in covering.operands if plan.is_output]
    sliding = {n for p in outputs for axis in p.axes if axis.is_window for n in axis.loops}
    return tuple(
        loop.name
        for loop in covering.loops
        if loop.units > 1
        and loop.name not in sliding
        and not meets_itself(covering, loop.name)
        and all(loop.name in plan.loops for plan in outputs)
        and not loop.is_reduction
        and not loop.is_held
    )


def _factors(covering: Covering, names: tuple[str, ...], size: int) -> Iterator[dict[str, int]]:
    """All ways to give `size` positions to loops, none included; a loop takes no more than it has
    units, and no more than fewer would do."""
    if size > MANY_CORES:
        names = tuple(sorted(names, key=lambda name: -covering.loop(name).units)[:MAX_SHARED])
    choices = [_counts(covering.loop(name).units, size) for name in names]
    found = [counts for counts in product(*choices) if prod(counts) <= size]
    for counts in found:
        if size > MANY_CORES and prod(counts) > 1 and _is_below(counts, found):
            continue
        yield {name: count for name, count in zip(names, counts, strict=True) if count > 1}


def _is_below(counts: tuple[int, ...], others: list[tuple[int, ...]]) -> bool:
    """Does another choice give every loop as much, and some loop more?"""
    return any(
        other != counts and all(a >= b for a, b in zip(other, counts, strict=True))
        for other in others
    )


def _counts(units: int, size: int) -> list[int]:
    """Numbers of shares that differ in the units of the largest share."""
    largest: dict[int, int] = {}
    for count in range(min(units, size), 0, -1):
        largest[-(-units // count)] = count
    return sorted(largest.values())


def _shares(axis: str, factors: Factors) -> Iterator[CoreShare]:
    """The loops' positions along the axis, the last loop's densest."""
    counts = list(factors.items())
    for number, (loop, count) in enumerate(counts):
        yield CoreShare(loop, axis, count, prod(c for _, c in counts[number + 1 :]))


def _is_useful(covering: Covering, shares: tuple[CoreShare, ...]) -> bool:
    """Has every loop enough units for all the axes it is shared out over?"""
    totals: dict[str, int] = {}
    for share in shares:
        totals[share.loop] = totals.get(share.loop, 1) * share.count
    return all(covering.loop(name).units >= total for name, total in totals.items())


def _cuts_window(covering: Covering) -> bool:
    """Do cores have different shares of a loop of a sliding window that is not its longest? (Then
    the end of the window on a core is not affine.)"""
    for plan in covering.operands:
        for axis in plan.axes:
            loops = [covering.loop(name) for name in axis.loops if axis.is_window]
            longest = max(loops, key=lambda loop: loop.extent, default=None)
            if any(loop.is_ragged for loop in loops if loop is not longest):
                return True
    return False


def _spread(
    covering: Covering, shares: tuple[CoreShare, ...], plans: tuple[OperandPlan, ...]
) -> Covering:
    loops = tuple(_cut(loop, shares) for loop in covering.loops)
    return replace(covering, loops=loops, operands=plans, shares=shares, single=covering)


def _cut(loop: TiledLoop, shares: tuple[CoreShare, ...]) -> TiledLoop:
    """The first core's share of the loop."""
    cores = prod(share.count for share in shares if share.loop == loop.name)
    if cores == 1:
        return loop
    extent = min(-(-loop.units // cores) * loop.block, loop.extent)
    return replace(loop, extent=extent, cores=cores, all_extent=loop.extent)


def _ways(
    plan: OperandPlan, shares: tuple[CoreShare, ...], hw: Hardware
) -> tuple[OperandPlan, ...]:
    """The operand brought by single calls, or by multicasts where its cores need the same."""
    ways_in = [r.fill or r.zero for r in plan.residences[-1:]]
    entry = ways_in[0] if ways_in else None
    if entry is None:
        return (plan,)
    own = {share.axis for share in shares if share.loop in plan.loops}
    found = []
    for instruction in (hw.instruction(entry.instruction), *_twins(entry.instruction, hw)):
        used = {share.axis for share in shares if share.axis in instruction.multicast}
        is_needless = bool(instruction.multicast) and not used
        if not own & set(instruction.multicast) and not is_needless:
            found.append((instruction, _price(instruction, entry, shares, hw)))
    best = [
        instruction
        for number, (instruction, price) in enumerate(found)
        if not any(
            _is_no_dearer(other, price) and (other != price or position < number)
            for position, (_, other) in enumerate(found)
            if position != number
        )
    ]
    return tuple(_brought_by(plan, instruction) for instruction in best)


def _twins(name: str, hw: Hardware) -> tuple[Instruction, ...]:
    """Multicasts that do for several cores what the instruction does for one."""
    one = hw.instruction(name)
    return tuple(x for x in hw.instructions if x.multicast and is_same_work(one, x))


def _price(
    instruction: Instruction, entry: Transfer, shares: tuple[CoreShare, ...], hw: Hardware
) -> tuple[str, float, float]:
    """Unit, its cycles and the calls at shared ports that bring one block to all cores."""
    calls = prod(share.count for share in shares if share.axis not in instruction.multicast)
    is_shared = hw.num_copies(instruction.unit) == 1
    cycles = block_cycles(instruction, entry) * (calls if is_shared else 1)
    return instruction.unit, cycles, float(calls)


def _is_no_dearer(one: tuple[str, float, float], other: tuple[str, float, float]) -> bool:
    return one[0] == other[0] and one[1] <= other[1] and one[2] <= other[2]


def _brought_by(plan: OperandPlan, instruction: Instruction) -> OperandPlan:
    last = plan.residences[-1]
    fill = last.fill and replace(last.fill, instruction=instruction.name)
    zero = last.zero and replace(last.zero, instruction=instruction.name)
    last = replace(last, fill=fill, zero=zero)
    return replace(plan, residences=(*plan.residences[:-1], last))
