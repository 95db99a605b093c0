"""A tiling as the loop nest it stands for.

In: a covering and its tiling. Out: lines of text. Not its job: the program's calls (`listing`).
"""

from dataclasses import dataclass

from isamap.costmodels import Stay, Tiling, axis_strides, guards, trips
from isamap.hwdesc import show_bytes
from isamap.mapper import Covering, Residence


@dataclass(frozen=True, slots=True)
class _Held:
    """A stay, the depth of the loop inside which it is fetched, and what the line says."""

    depth: int
    fetch: str
    drain: str


def nest_lines(covering: Covering, tiling: Tiling) -> list[str]:
    """Tile loops, unit loops and the call, with every fetch and drain where it happens."""
    outer = [name for name in tiling.outer if trips(covering, tiling, name) > 1]
    inner = [name for name in tiling.inner if tiling.tile(name) > 1]
    stays = sorted(tiling.stays, key=lambda stay: -stay.residence)  # the way in; out: backwards
    held = [_held(covering, tiling, stay, outer, inner) for stay in stays]
    heads = [_tile_head(covering, tiling, name) for name in outer]
    heads += [_unit_head(covering, tiling, name) for name in inner]
    lines: list[str] = []
    for depth in range(len(heads) + 1):
        lines += ["  " * depth + h.fetch for h in held if h.depth == depth and h.fetch]
        lines += ["  " * depth + heads[depth]] if depth < len(heads) else []
    lines.append("  " * len(heads) + _call_text(covering))
    for depth in reversed(range(len(heads) + 1)):
        lines += ["  " * depth + h.drain for h in reversed(held) if h.depth == depth and h.drain]
    return lines


def _tile_head(covering: Covering, tiling: Tiling, name: str) -> str:
    loop = covering.loop(name)
    size = min(tiling.tile(name) * loop.block, loop.extent)
    count = trips(covering, tiling, name)
    rest = loop.extent - (count - 1) * size
    note = f", last {rest}" if rest != size else ""
    whose = f" of each core's {loop.extent}" if loop.cores > 1 else ""
    return f"for {count} tiles of {name} ({size} each{note}){whose}:"


def _unit_head(covering: Covering, tiling: Tiling, name: str) -> str:
    loop = covering.loop(name)
    return f"for {tiling.tile(name)} x {loop.block} of {name}:"


def _call_text(covering: Covering) -> str:
    parts = [
        f"{loop}={' x '.join(str(covering.loop(name).block) for name in group)}"
        for loop, group in covering.binding
        if group
    ]
    return f"{covering.instruction}({', '.join(parts)})"


def _held(
    covering: Covering, tiling: Tiling, stay: Stay, outer: list[str], inner: list[str]
) -> _Held:
    plan = covering.operand(stay.operand)
    residence = plan.residences[stay.residence]
    guard = guards(covering, tiling, stay)
    loops = [(name, name in guard.outer) for name in outer]
    if stay.level == 0:
        loops += [(name, name in guard.inner) for name in inner]
    changing = [depth for depth, (_, is_kept) in enumerate(loops) if not is_kept]
    depth = changing[-1] + 1 if changing else 0
    first = [name for name, is_kept in loops[:depth] if is_kept]
    size = _size_text(covering, tiling, stay, residence)
    fetch = drain = ""
    if residence.fill is not None:
        inward = residence.fill.inward
        way = f"-> {inward.memory}, {residence.fill.instruction} " if inward else ""
        start = inward.transfer.instruction if inward else residence.fill.instruction
        fetch = f"{start} {plan.inlet_buffer} {way}-> {size}"
    elif residence.zero is not None:
        fetch = f"{residence.zero.instruction} clears {plan.buffer} in {size}"
    if residence.again is not None and guard.refetch_outer:
        fetch += _when("first", [*first, *guard.refetch_outer])
        fetch += f", then {residence.again.instruction} {plan.buffer}" + _when("first", first)
    elif fetch:
        fetch += _when("first", first)
    elif residence.opening is not None:
        fetch = f"{residence.opening} begins {plan.buffer} in {size}" + _when("first", first)
    if residence.drain is not None:
        updates = "".join(f"{update.instruction}, " for update in residence.finish)
        onward = residence.drain.onward
        way = f"{onward.transfer.instruction} <- {onward.memory} <- " if onward else ""
        drain = f"{updates}{way}{residence.drain.instruction} {plan.buffer} <- {residence.memory}"
        drain += _when("last", first)
    return _Held(depth, fetch, drain)


def _when(edge: str, loops: list[str]) -> str:
    return f"   [only at the {edge} tile of {', '.join(loops)}]" if loops else ""


def _size_text(covering: Covering, tiling: Tiling, stay: Stay, residence: Residence) -> str:
    """`scratchpad (2 slots of 11 KiB)`."""
    plan = covering.operand(stay.operand)
    _, slot_bytes = axis_strides(covering, tiling, stay, plan, residence)
    what = "a block" if stay.level == 0 else "a tile"
    if stay.kept:
        what = f"all {'tiles' if stay.level else 'blocks in a tile'} of {', '.join(stay.kept)}"
    slots = f"{stay.slots} slots of " if stay.slots > 1 else ""
    return f"{residence.memory} ({what}, {slots}{show_bytes(slot_bytes)})"
