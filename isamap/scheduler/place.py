"""Give every stay and every external buffer its address.

In: a covering, its tiling, the machine. Out: base addresses and strides; `None` when a memory is
too small. Not its job: deciding sizes, emitting calls.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from isamap.costmodels import Stay, Tiling, axis_strides, passage_strides, tile_strides
from isamap.hwdesc import Hardware
from isamap.ir import leaves_elements
from isamap.mapper import Covering, OperandPlan, Passage, Residence
from isamap.program import Layout, Placement

EXTERNAL_ALIGN_BYTES = 4096  # page: every machine's burst and element size divides it


Way = tuple[str, bool]  # an operand; out of the chip, or in


@dataclass(frozen=True, slots=True)
class Slot:
    """A stay with its place: slot s begins at base + s * slot_bytes."""

    stay: Stay
    plan: OperandPlan
    residence: Residence
    base: int
    slot_bytes: int
    strides: tuple[tuple[str, int], ...]  # per axis
    tile_strides: tuple[tuple[str, int], ...]  # per kept loop

    def stride(self, axis: str) -> int:
        """Bytes per position of `axis`."""
        return dict(self.strides)[axis]

    def block_stride(self, number: int) -> int:
        """Bytes per iteration of a block dimension's loop."""
        loop = self.plan.blocks[number].loop
        for name, step in self.residence.windows:
            axis = self.plan.axis(name)
            if step is None and loop in axis.loops:
                return self.stride(name) * axis.spans[axis.loops.index(loop)]
        return self.residence.block_strides_bytes[number]


@dataclass(frozen=True, slots=True)
class Places:
    """All stays, and where each operand's inlet and outlet begin in the external memory, and its
    passage."""

    slots: tuple[Slot, ...]
    inlets: tuple[tuple[str, int], ...]
    outlets: tuple[tuple[str, int], ...]
    inputs: tuple[Placement, ...]
    outputs: tuple[Placement, ...]
    passages: tuple[tuple[Way, int], ...] = ()

    def passage(self, way: Way) -> int:
        """Where the passage on an operand's way out or in begins."""
        return dict(self.passages)[way]

    def slot(self, operand: str, residence: int) -> Slot:
        """The place of an operand's residence."""
        return next(
            s for s in self.slots if s.stay.operand == operand and s.stay.residence == residence
        )


def used_bytes(covering: Covering, tiling: Tiling) -> dict[str, int]:
    """Bytes that the stays take, per memory."""
    total: dict[str, int] = {}
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        residence = plan.residences[stay.residence]
        _, slot_bytes = axis_strides(covering, tiling, stay, plan, residence)
        total[residence.memory] = total.get(residence.memory, 0) + slot_bytes * stay.slots
    for way, passage in passages(covering).items():
        room = _passage_bytes(covering, tiling, way, passage)
        total[passage.memory] = total.get(passage.memory, 0) + room
    return total


def passages(covering: Covering) -> dict[Way, Passage]:
    """The memories that operands pass on their way out and in."""
    found: dict[Way, Passage] = {}
    for plan in covering.operands:
        for residence in plan.residences:
            if residence.drain is not None and residence.drain.onward is not None:
                found[plan.name, True] = residence.drain.onward
            if residence.fill is not None and residence.fill.inward is not None:
                found[plan.name, False] = residence.fill.inward
    return found


# where a buffer in a layout begins in the external memory
Homes = Mapping[tuple[str, Layout], int]
NOTHING: Mapping[str, int] = MappingProxyType({})


def place(
    covering: Covering,
    tiling: Tiling,
    hw: Hardware,
    homes: Homes | None = None,
    starts: Mapping[str, int] = NOTHING,
) -> Places | None:
    """Stays one after another in each memory from `starts` (else 0) on; external buffers too,
    unless `homes` says where."""
    slots, used = _lay_out(covering, tiling, starts)
    ways = tuple(_lay_out_passages(covering, tiling, used).items())
    if any(size > hw.memory(name).size_bytes for name, size in used.items()):
        return None
    if homes is None:
        return replace(_with_externals(covering, slots), passages=ways)
    return replace(_at_home(covering, slots, homes), passages=ways)


def _passage_bytes(covering: Covering, tiling: Tiling, way: Way, passage: Passage) -> int:
    """Of all its places."""
    plan = covering.operand(way[0])
    return passage.slots * passage_strides(covering, tiling, plan, passage)[1]


def _lay_out_passages(covering: Covering, tiling: Tiling, used: dict[str, int]) -> dict[Way, int]:
    """Where the passages begin, behind the stays; `used` grows."""
    bases = {}
    for way, passage in passages(covering).items():
        free = used.get(passage.memory, 0)
        bases[way] = -(-free // passage.align_bytes) * passage.align_bytes
        used[passage.memory] = bases[way] + _passage_bytes(covering, tiling, way, passage)
    return bases


def needed_bytes(
    covering: Covering, tiling: Tiling, starts: Mapping[str, int] = NOTHING
) -> Mapping[str, int]:
    """Room that each memory must have for the stays, gaps for alignment included."""
    used = dict(starts)
    for memory, align, size in _rooms(covering, tiling):
        used[memory] = -(-used.get(memory, 0) // align) * align + size
    return used


def room_ends(
    covering: Covering, tiling: Tiling, hw: Hardware, starts: Mapping[str, int] = NOTHING
) -> dict[str, int] | None:
    """First free byte of every memory that stays and passages use, laid out from `starts` on; None
    when they do not fit."""
    needed = needed_bytes(covering, tiling, starts)
    if any(size > hw.memory(name).size_bytes for name, size in needed.items()):
        return None
    return {memory: needed[memory] for memory, _, _ in _rooms(covering, tiling)}


def _rooms(covering: Covering, tiling: Tiling) -> tuple[tuple[str, int, int], ...]:
    """Memory, alignment and bytes of all stays and passages, in the order in which they lie."""
    known = tiling.rooms.get(id(covering))
    if known is not None and known[0] is covering:
        return known[1]
    found = []
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        residence = plan.residences[stay.residence]
        if stay.level or stay.kept:
            _, slot_bytes = axis_strides(covering, tiling, stay, plan, residence)
        else:
            slot_bytes = _block_bytes(covering, stay)
        found.append((residence.memory, residence.align_bytes, slot_bytes * stay.slots))
    found.sort(key=_by_align)
    for way, passage in passages(covering).items():
        room = _passage_bytes(covering, tiling, way, passage)
        found.append((passage.memory, passage.align_bytes, room))
    tiling.rooms[id(covering)] = covering, tuple(found)
    return tuple(found)


@lru_cache(1 << 10)
def _block_bytes(covering: Covering, stay: Stay) -> int:
    """Of a slot for single blocks, whatever tiles and orders there are."""
    names = tuple(loop.name for loop in covering.loops)
    single = Tiling(tuple((name, 1) for name in names), names, names, (stay,))
    plan = covering.operand(stay.operand)
    return axis_strides(covering, single, stay, plan, plan.residences[stay.residence])[1]


def _laid_out(covering: Covering, tiling: Tiling) -> list[Stay]:
    """The stays in the order in which they lie: that wastes least room."""
    return sorted(tiling.stays, key=lambda stay: -_align(covering, stay))


def _by_align(room: tuple[str, int, int]) -> int:
    """The same for their rooms."""
    return -room[1]


def _lay_out(
    covering: Covering, tiling: Tiling, starts: Mapping[str, int]
) -> tuple[tuple[Slot, ...], dict[str, int]]:
    """The stays in their memories, and where each memory's free room begins."""
    used = dict(starts)
    slots = []
    for stay in _laid_out(covering, tiling):
        plan = covering.operand(stay.operand)
        residence = plan.residences[stay.residence]
        strides, slot_bytes = axis_strides(covering, tiling, stay, plan, residence)
        align = _align(covering, stay)
        base = -(-used.get(residence.memory, 0) // align) * align
        apart = tile_strides(covering, tiling, stay, plan, residence)
        steps = tuple(strides.items()), tuple(apart.items())
        slots.append(Slot(stay, plan, residence, base, slot_bytes, *steps))
        used[residence.memory] = base + slot_bytes * stay.slots
    return tuple(slots), used


def _at_home(covering: Covering, slots: tuple[Slot, ...], homes: Homes) -> Places:
    """The places of an operand's buffers as they are known, in the layouts that it asks for."""
    inlets, outlets = [], []
    for plan in covering.operands:
        if plan.inlet is not None:
            inlets.append((plan.name, homes[plan.inlet_buffer, plan.inlet.layout]))
        if plan.outlet is not None:
            outlets.append((plan.name, homes[plan.buffer, plan.outlet.layout]))
    return Places(slots, tuple(inlets), tuple(outlets), (), ())


def _align(covering: Covering, stay: Stay) -> int:
    return covering.operand(stay.operand).residences[stay.residence].align_bytes


def _with_externals(covering: Covering, slots: tuple[Slot, ...]) -> Places:
    running = 0
    inlets, outlets = [], []
    inputs, outputs = [], []
    for plan in covering.operands:
        is_kept = plan.inlet_buffer == plan.buffer
        shared = is_kept and plan.inlet and plan.outlet and plan.inlet.layout == plan.outlet.layout
        if not all(end.home is None for _, _, end in plan.ends):
            inlets.append((plan.name, 0))  # only the whole plan knows where in that memory
            outlets.append((plan.name, 0))
            continue
        if plan.inlet is not None:
            inlets.append((plan.name, running))
            inputs.append(Placement(plan.inlet_buffer, running, plan.inlet.layout))
            if not shared:
                running = _after(running, plan.inlet.layout.size_bytes)
        if plan.outlet is not None:
            outlets.append((plan.name, running))
            if not shared and _keeps_elements(covering, plan.buffer):
                inputs.append(Placement(plan.buffer, running, plan.outlet.layout))
            outputs.append(Placement(plan.buffer, running, plan.outlet.layout))
            running = _after(running, plan.outlet.layout.size_bytes)
        elif shared:
            running = _after(running, plan.inlet.layout.size_bytes if plan.inlet else 0)
    return Places(slots, tuple(inlets), tuple(outlets), tuple(inputs), tuple(outputs))


def _keeps_elements(covering: Covering, buffer: str) -> bool:
    statement = covering.kernel.statements[covering.statement]
    return leaves_elements(statement, covering.kernel.buffer(buffer))


def external_bytes(covering: Covering) -> int:
    """Room that the buffers take in the external memory, inlets and outlets."""
    places = _with_externals(covering, ())
    return max((p.end for p in (*places.inputs, *places.outputs)), default=0)


def _after(address: int, size_bytes: int) -> int:
    return -(-(address + size_bytes) // EXTERNAL_ALIGN_BYTES) * EXTERNAL_ALIGN_BYTES
