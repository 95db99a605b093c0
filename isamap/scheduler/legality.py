"""What makes a tiling legal, rule by rule.

In: a covering, its tiling, the machine. Out: the rules that it breaks, each with what breaks it.
Not its job: choosing, which sizes are worth trying (`options`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from isamap.costmodels import Stay, Tiling, guards, needs_one_slot, trips
from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan

from .options import (
    KNOWN,
    is_uneven,
    level_options,
    may_keep_over,
    may_keep_units,
    must_divide,
    must_fill_shares,
    must_stay_whole,
    stay_choices,
    stays_of,
    tile_options,
    why_alone,
)
from .place import NOTHING, needed_bytes, passages, used_bytes


class Part(Enum):
    """The part of a tiling that a rule speaks of."""

    TILES = "tiles"
    OUTER = "outer"
    STAYS = "stays"


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that is broken: where, what, and how to mend it.

    `subject`: a loop (`TILES`, `OUTER`) or an operand (`STAYS`), with the number of its residence.
    `kept`: of a stay, the loop that it should not keep tiles of; empty: another part of it.
    """

    part: Part
    subject: str
    residence: int
    message: str
    hint: str
    kept: str = ""


def is_legal(covering: Covering, tiling: Tiling, hw: Hardware) -> bool:
    """Does everything fit, is every output written back only where it may be, are held loops
    outermost?"""
    return fits(covering, tiling, hw) and next(_nest_breaches(covering, tiling, hw), None) is None


def is_offered(covering: Covering, tiling: Tiling, hw: Hardware) -> bool:
    """Is it a legal tiling that a search may choose? What was found for another covering may not
    be, however alike the two are."""
    is_own = next(option_breaches(covering, tiling, hw), None) is None
    return is_own and is_legal(covering, tiling, hw)


def fits(covering: Covering, tiling: Tiling, hw: Hardware) -> bool:
    """Is there room for everything?"""
    return next(_overfull(covering, tiling, hw, NOTHING), None) is None


def may_fit(covering: Covering, hw: Hardware) -> bool:
    """Is there room for single units in one slot each, wherever they may stay? No tiling takes
    less."""
    names = tuple(loop.name for loop in covering.loops)
    tiles = tuple((name, 1) for name in names)
    choices = stay_choices(covering, hw)
    least = (Tiling(tiles, names, names, stays_of(covering, levels, {})) for levels in choices)
    return not choices or any(fits(covering, tiling, hw) for tiling in least)


def breaches(covering: Covering, tiling: Tiling, hw: Hardware) -> Iterator[Breach]:
    """All rules that a tiling breaks; one whose loops and operands are all there, once each."""
    yield from _nest_breaches(covering, tiling, hw)
    yield from room_breaches(covering, tiling, hw)


def _nest_breaches(covering: Covering, tiling: Tiling, hw: Hardware) -> Iterator[Breach]:
    """All but the room that it takes."""
    yield from _loop_breaches(covering, tiling, hw)
    for stay in tiling.stays:
        yield from _stay_breaches(covering, tiling, stay, hw)


def _loop_breaches(covering: Covering, tiling: Tiling, hw: Hardware) -> Iterator[Breach]:
    held = covering.held
    if tiling.outer[: len(held)] != held:
        order = ", ".join(held)
        yield Breach(
            Part.OUTER, held[0], 0, f"loops {order} run one at a time around everything else",
            f"begin with {order}",
        )  # fmt: skip
    for name in held:
        if tiling.tile(name) > 1:
            yield _tile_breach(covering, name, f"loop {name} runs one iteration at a time")
    for loop in covering.loops:
        if tiling.tile(loop.name) > 1 and (reason := why_alone(covering, loop)):
            yield _tile_breach(covering, loop.name, f"{reason}: one unit is a tile")
        tile = tiling.tile(loop.name)
        if loop.units % tile and must_fill_shares(covering, loop, hw):
            message = f"{loop.name} is shared out unevenly: every core's share must be whole tiles"
            hint = f"make it a divisor of {loop.units * loop.block}"
            yield Breach(Part.TILES, loop.name, 0, message, hint)


def _tile_breach(covering: Covering, loop: str, message: str) -> Breach:
    """A tile that must be a single unit."""
    return Breach(Part.TILES, loop, 0, message, f"make it {covering.loop(loop).block}")


def option_breaches(covering: Covering, tiling: Tiling, hw: Hardware) -> Iterator[Breach]:
    """Rules that no tiling breaks that is made of `options`; a person's may."""
    for loop in covering.loops:
        tile = tiling.tile(loop.name)
        is_split = trips(covering, tiling, loop.name) > 1
        if is_split and must_divide(covering, loop):
            sizes = [size * loop.block for size, _ in tile_options(covering, loop, hw)]
            if tile * loop.block not in sizes:
                message = f"tiles of {loop.name} slide in a window and must all be equal"
                hint = f"one of {', '.join(map(str, sorted(sizes)))}"
                yield Breach(Part.TILES, loop.name, 0, message, hint)
    for plan in covering.operands:
        stays = [stay for stay in tiling.stays if stay.operand == plan.name]
        levels = tuple(stay.level for stay in sorted(stays, key=lambda s: s.residence))
        allowed = level_options(covering, plan, hw)
        if levels not in allowed:
            nearest = allowed[0]
            wrong = next(n for n, pair in enumerate(zip(levels, nearest)) if pair[0] != pair[1])
            what = "a tile" if levels[wrong] else "a block"
            where = plan.residences[wrong].memory
            yield Breach(
                Part.STAYS, plan.name, wrong,
                f"{plan.name} cannot be brought to {where!r} as {what}",
                f"hold {'a tile' if nearest[wrong] else 'a block'} there",
            )  # fmt: skip


def _stay_breaches(
    covering: Covering, tiling: Tiling, stay: Stay, hw: Hardware
) -> Iterator[Breach]:
    yield from _own_breaches(covering, stay, hw)
    plan = covering.operand(stay.operand)
    if must_stay_whole(plan):
        guard = guards(covering, tiling, stay)
        for name in (*guard.refetch_outer, *guard.refetch_inner)[:1]:
            yield _stay_breach(
                stay,
                f"{stay.operand} would be written and fetched again in every tile of {name}, and"
                " cannot be read as it is written",
                f"move {name} inside all loops that move {stay.operand}, or keep tiles of those",
            )
    if not keeps_inside(covering, tiling, stay):
        yield _stay_breach(
            stay,
            f"{stay.operand} keeps tiles of loops outside others that replace what it keeps",
            "keep tiles of the innermost loops that move it",
        )
    outside = _lacking_outside(tiling, stay, plan)
    if outside:
        yield _stay_breach(
            stay,
            f"{stay.operand} keeps tiles of {outside[0]} that the memory outside replaces",
            f"keep tiles of {outside[0]} there, or drop it here",
        )
    if not alternates(covering, tiling, stay):
        yield _stay_breach(
            stay,
            f"{stay.slots} slots of single blocks of {stay.operand} do not take turns around"
            " shorter tiles",
            "make tiles of even size, or slots 1"
            if stay.slots == 2
            else f"make tiles that differ by multiples of {stay.slots} blocks, or slots 2",
        )


@lru_cache(KNOWN)
def _own_breaches(covering: Covering, stay: Stay, hw: Hardware) -> tuple[Breach, ...]:
    """Rules that the stay breaks whatever tiles and orders there are."""
    plan = covering.operand(stay.operand)
    found = [
        replace(_stay_breach(stay, message, f"drop {name}"), kept=name)
        for name, message in _wrongly_kept(covering, plan, stay)
    ]
    if stay.kept_units and not may_keep_units(plan, stay.residence, hw):
        message = (
            f"{stay.operand} keeps single blocks of {stay.kept[0]} side by side, which only inputs"
            " in registers that are renamed do"
        )
        found.append(_stay_breach(stay, message, f"drop {stay.kept[0]}"))
    if stay.slots > 1 and needs_one_slot(plan, hw):
        message = f"{stay.operand} is written in byte planes, which allows one slot"
        found.append(_stay_breach(stay, message, "make slots 1"))
    if stay.slots > 1 and hw.memory(plan.residences[stay.residence].memory).fifo is not None:
        message = f"{stay.operand} passes a fifo memory, whose entries take turns by themselves"
        found.append(_stay_breach(stay, message, "make slots 1"))
    return tuple(found)


def _stay_breach(stay: Stay, message: str, hint: str) -> Breach:
    return Breach(Part.STAYS, stay.operand, stay.residence, message, hint)


def _wrongly_kept(covering: Covering, plan: OperandPlan, stay: Stay) -> Iterator[tuple[str, str]]:
    """Loops whose tiles cannot lie side by side, and why."""
    for name in stay.kept:
        if name not in plan.loops:
            yield name, f"loop {name} does not move {stay.operand}: there is one tile to keep"
        elif not may_keep_over(covering, plan, covering.loop(name)):
            yield name, f"{stay.operand} keeps tiles of {name}, which runs one iteration at a time"
    for name in _kept_alone(plan, stay):
        if reason := why_alone(covering, covering.loop(name)):
            yield name, f"{stay.operand} keeps tiles of {name}: {reason}"


def room_breaches(
    covering: Covering, tiling: Tiling, hw: Hardware, starts: Mapping[str, int] = NOTHING
) -> Iterator[Breach]:
    """Memories that are too small; `starts`: first byte of each that is free for the stays."""
    for name, needed in _overfull(covering, tiling, hw, starts):
        yield _room_breach(covering, tiling, name, needed, hw.memory(name).size_bytes)


def _overfull(
    covering: Covering, tiling: Tiling, hw: Hardware, starts: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    """Memories of stays, and of tiles that pass them, that are too small, and how large they should
    be."""
    passed = {passage.memory for passage in passages(covering).values() if passage.holds_tiles}
    for name, needed in needed_bytes(covering, tiling, starts).items():
        is_too_much = needed > hw.memory(name).size_bytes
        if is_too_much and (name in passed or _stays_in(covering, tiling, name)):
            yield name, needed


def _stays_in(covering: Covering, tiling: Tiling, memory: str) -> list[Stay]:
    return [stay for stay in tiling.stays if memory_of(covering, stay) == memory]


def _room_breach(covering: Covering, tiling: Tiling, memory: str, needed: int, size: int) -> Breach:
    """The memory at its largest stay."""

    def bytes_of(stay: Stay) -> int:
        return used_bytes(covering, Tiling(tiling.tiles, tiling.outer, tiling.inner, (stay,)))[
            memory
        ]

    inside = _stays_in(covering, tiling, memory)
    if not inside:
        operand, is_out = next(w for w, p in passages(covering).items() if p.memory == memory)
        way = "out" if is_out else "in"
        message = f"tiles of {operand} do not fit {memory!r} on their way {way}"
        hint = f"needs {needed} bytes of {size}: make its tiles smaller"
        return Breach(Part.STAYS, operand, 0, message, hint)
    largest = max(inside, key=bytes_of)
    kib = f"{(needed - size) / 1024:g} KiB"
    return Breach(
        Part.STAYS, largest.operand, largest.residence,
        f"does not fit {memory!r} by {kib}: needs {needed / 1024:g} KiB of {size / 1024:g} KiB",
        f"{largest.operand} takes most, {bytes_of(largest) / 1024:g} KiB in {largest.slots}"
        f" slot{'s' if largest.slots > 1 else ''}: make its tiles smaller, or its slots fewer",
    )  # fmt: skip


def memory_of(covering: Covering, stay: Stay) -> str:
    """Name of the memory that the stay is in."""
    return covering.operand(stay.operand).residences[stay.residence].memory


def keeps_inside(covering: Covering, tiling: Tiling, stay: Stay) -> bool:
    """Do the kept loops lie inside the loops that replace the stay's data? (Elsewhere keeping gains
    nothing.)"""
    if not stay.kept:
        return True
    moving = covering.operand(stay.operand).loops
    active = [n for n in tiling.outer if n in moving and trips(covering, tiling, n) > 1]
    if not stay.level:
        active = [n for n in tiling.inner if n in moving and tiling.tile(n) > 1]
    kept = [name in stay.kept for name in active]
    return kept == sorted(kept)


def _kept_alone(plan: OperandPlan, stay: Stay) -> tuple[str, ...]:
    """Of the loops that a stay keeps tiles of, those of which there may be room for one unit alone:
    all of an output's, of an input's those that move a window inside its blocks."""
    residence = plan.residences[stay.residence]
    if plan.is_output:
        return stay.kept
    boxed = [n for n, _ in residence.windows if residence.is_boxed]
    return tuple(name for name in stay.kept if any(name in plan.axis(n).loops for n in boxed))


def _lacking_outside(tiling: Tiling, stay: Stay, plan: OperandPlan) -> tuple[str, ...]:
    """Loops whose tiles a stay keeps and the next memory outside does not: what comes there again
    would be read by nobody."""
    if not stay.kept_tiles or stay.residence == len(plan.residences) - 1:
        return ()
    there = tiling.stay(stay.operand, stay.residence + 1).kept
    return tuple(name for name in stay.kept if name not in there)


def alternates(covering: Covering, tiling: Tiling, stay: Stay) -> bool:
    """Do slots of single blocks take turns even around the last, shorter tiles?

    The slot is a weighted sum of the loops that change blocks, modulo the number of slots; the
    weight of a unit loop is the product of the full tiles inside it. With two, an odd number of
    missing units times an odd weight puts the next block into the slot of the one before it, and
    they wait for each other. With more, whatever the weight: less is lost, and told by less.
    """
    if stay.level == 1 or stay.slots == 1:
        return True
    still = guards(covering, tiling, stay).inner
    weight = 1
    for name in reversed(tiling.inner):
        tile = tiling.tile(name)
        if tile > 1 and name not in still:
            is_odd = weight % 2 or stay.slots > 2
            if is_uneven(covering.loop(name), tile, stay.slots) and is_odd:
                return False
            weight *= tile
    return True
