"""Plan one operand: axes, blocks, layout in every memory, copies between them.

In: a match, its tiled loops, one operand. Out: the most natural plan, or the reason why none
exists. Not its job: tile sizes, order, other operands.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from isamap.hwdesc import Hardware, opened_by
from isamap.ir import Role, pretty_expr
from isamap.program import Layout

from .chain import Chains, Drain
from .covering import (
    BlockDim,
    OperandPlan,
    Residence,
    TileAxis,
)
from .direct import plan_direct
from .passage import passing_in
from .residence import first_residences
from .ribbons import Choice, ribbon_choices, whole_cycles
from .subject import Subject
from .tasks import overlaps
from .transfer import block_cycles
from .unfit_copies import unfit_copies

# Of cycles that copies of single blocks take: what computing begins after is a whole tile, so that
# a little less is no gain, and each plan more is a covering more to look at.
WORTH_WAITING = 0.8


def plan_operand(subject: Subject) -> tuple[OperandPlan, ...] | str:
    """The most natural plan, and each less natural one that copies faster; or why there is none.

    Only where there is no other plan may an input's layout repeat elements.
    """
    choices = tuple((axes, axes) for axes in _axis_choices(subject))
    plans, reason = _find_plans(subject, choices, gathers=False)
    if not plans and not subject.is_target:
        plans, _ = _find_plans(subject, choices, gathers=True)
    if not plans:
        return f"operand {subject.name} ({subject.buffer.name}): {reason}"
    rows = [(layout_rank(plan), _plan_cycles(subject.hw, plan), plan) for plan in plans]
    if any(source and source.home for source in (subject.own, subject.inlet, subject.outlet)):
        return tuple(plans)  # which of them others can live with is not known yet
    front: list[OperandPlan] = []
    fastest: dict[tuple[tuple[str, ...], int], float] = {}
    for rank, cycles, plan in sorted(rows, key=lambda row: row[:2]):
        staged = tuple(r.memory for r in plan.residences if r.is_packed)
        if staged and rank:
            continue  # the layout that would be asked of the caller is the one that packing gives
        # what lies closer takes less room
        place = staged, plan.residences[0].align_bytes if plan.residences else 0
        if cycles < fastest.get(place, inf):
            fastest[place] = cycles
            front.append(plan)
    return (*front, *_faster_ribbons(subject, front, choices[-1][0]))


def _faster_ribbons(
    subject: Subject, plans: list[OperandPlan], plain: tuple[TileAxis, ...]
) -> Iterator[OperandPlan]:
    """Plans that move a loop's blocks together, each clearly faster than those before it, for which
    the buffer lies as naturally as for `plans`."""
    choices = tuple(ribbon_choices(subject, plain))
    if not plans or not choices:
        return
    ribbons, _ = _find_plans(subject, choices, gathers=False)
    most_natural = min(map(layout_rank, plans))
    known = [plan for plan in plans if layout_rank(plan) == most_natural]
    least = min(whole_cycles(subject, plan) for plan in known)
    for plan in ribbons:
        cycles = whole_cycles(subject, plan)
        if layout_rank(plan) <= most_natural and cycles < WORTH_WAITING * least:
            least = cycles
            yield plan


def _find_plans(
    subject: Subject, choices: tuple[Choice, ...], *, gathers: bool
) -> tuple[list[OperandPlan], str]:
    """All plans under some choices of axes, and why the first attempt without one failed."""
    plans: list[OperandPlan] = []
    reason = ""
    blocks = _block_dims(subject)
    rule = subject.match.instruction.operand(subject.name)
    if rule.memory == subject.hw.external.name:
        direct = plan_direct(subject, choices[-1][0], blocks, gathers)
        return ([], direct) if isinstance(direct, str) else (list(direct), "")
    for axes, near in choices:
        chains = Chains(subject, axes, blocks, gathers=gathers)
        closer: list[OperandPlan] = []
        for first in first_residences(subject, near, blocks):
            if isinstance(first, str):
                reason = reason or first
                continue
            found = []
            for plan in _plans(subject, chains, first):
                if isinstance(plan, str):
                    reason = plan
                elif _is_too_late(subject, plan):
                    reason = "is computed too late for entries of a fifo"
                elif not any(_serves_as(subject.hw, other, plan) for other in closer):
                    found.append(plan)
            closer += found
        plans += closer
    return plans, reason


def _serves_as(hw: Hardware, closer: OperandPlan, plan: OperandPlan) -> bool:
    """Is a plan whose blocks lie closer as natural and as fast? The other one takes more room."""
    is_natural = layout_rank(closer) <= layout_rank(plan)
    return is_natural and _plan_cycles(hw, closer) <= _plan_cycles(hw, plan)


def _is_too_late(subject: Subject, plan: OperandPlan) -> bool:
    deadlines = (subject.hw.memory(r.memory).has_deadline for r in plan.residences)
    return subject.own.is_late and any(deadlines)


def layout_rank(plan: OperandPlan) -> int:
    """0: the buffer is used as it lies; higher: a zero border must be added, blocks packed, or
    elements repeated."""
    ends = [end for end in (plan.inlet, plan.outlet) if end is not None and end.home is None]
    return sum(_rank(end.layout) for end in ends)


def _rank(layout: Layout) -> int:
    if layout.is_natural:
        return 0
    if layout.is_replicated:
        return 3
    return 1 if len(layout.axes) == len(layout.shape) else 2


def _plan_cycles(hw: Hardware, plan: OperandPlan) -> float:
    return sum(block_cycles(hw.instruction(t.instruction), t) for t in plan.transfers)


def _axis_choices(subject: Subject) -> Iterator[tuple[TileAxis, ...]]:
    """Sliding windows as windows first; then every loop on its own (overlapping elements are copied
    twice)."""
    moving = {name for index in subject.access.indices for name in index.names}
    fresh = tuple(TileAxis(name, (name,)) for name in subject.volatile if name not in moving)
    fused = {n for _, group in subject.match.binding if len(group) > 1 for n in group}
    still = {loop.name for loop in subject.loops if loop.extent == 1}
    seen: set[str] = set()
    region: list[TileAxis] = []
    has_window = False
    may_slide = True
    for dim, index in enumerate(subject.access.indices):
        may_slide = may_slide and not seen & set(index.names)
        seen |= set(index.names)
        if len(set(index.names) - still) <= 1:
            region.extend(TileAxis(name, (name,)) for name in index.names)
            continue
        has_window = True
        spans = tuple(coefficient for _, coefficient in index.terms)
        may_slide = may_slide and min(spans) > 0 and not fused & set(index.names)
        region.append(TileAxis(f"window{dim}", index.names, spans))
    if has_window and may_slide:
        yield (*fresh, *region)
    names = dict.fromkeys(n for index in subject.access.indices for n in index.names)
    yield (*fresh, *(TileAxis(name, (name,)) for name in names))


def _groups(subject: Subject) -> dict[str, tuple[str, ...]]:
    synthetic = dict(subject.synthetic)
    return {
        loop: group or ((synthetic[loop],) if loop in synthetic else ())
        for loop, group in subject.match.binding
    }


def _block_dims(subject: Subject) -> tuple[BlockDim, ...]:
    """Block dimensions of more than one iteration, in the order of the operand's dimensions."""
    groups = _groups(subject)
    dims = []
    for index in subject.match.instruction.access(subject.name).indices:
        for instruction_loop in index.names:
            for name in groups[instruction_loop]:
                block = subject.loop(name).block
                if block > 1:
                    dims.append(BlockDim(name, block, instruction_loop))
    return tuple(dims)


def _plans(subject: Subject, chains: Chains, first: Residence) -> Iterator[OperandPlan | str]:
    role = subject.buffer.role if subject.is_target else Role.IN
    if subject.is_target and subject.match.is_whole:
        role = Role.OUT  # whatever else the kernel does with the buffer
    if subject.own.home == first.memory and subject.outlet is None:
        if subject.buffer.dtype != first.dtype:
            yield f"{subject.buffer.name} lies in {first.memory} as {subject.buffer.dtype}"
            return
        yield from _in_place(subject, chains, first, role)
        return
    if role is Role.IN:
        found = None
        for found, inlet in chains.inward((first,)):
            yield chains.plan(role, found, inlet, None)
        if found is None:
            reason = f"no copy brings it from {subject.hw.external.name} to {first.memory}"
            yield reason + unfit_copies(chains, first)
        return
    drains = tuple(chains.outward(first))
    if not drains:
        external = subject.hw.external.name
        if subject.value is not None:
            yield f"no instructions store {pretty_expr(subject.value)} from {first.memory}"
            return
        yield f"no copy takes {subject.buffer.dtype} from {first.memory} to {external}"
    elif subject.inlet is None and (role is not Role.INOUT or not _reads_target(subject)):
        yield from _begun_there(subject, chains, first, role, drains)
    else:
        yield from _brought_in(subject, chains, first, role, drains)


def _reads_target(subject: Subject) -> bool:
    return subject.match.instruction.semantics.statements[-1].reads_target


def _begun_there(
    subject: Subject, chains: Chains, first: Residence, role: Role, drains: Sequence[Drain]
) -> Iterator[OperandPlan | str]:
    """What is written begins at zero, or with the first call, in the residence."""
    reads = _reads_target(subject)
    opening = opened_by(subject.match.instruction, subject.hw) if reads else None
    zero = chains.zero(first) if reads and opening is None else None
    if reads and opening is None and zero is None:
        yield f"no instruction clears {first.memory}"
        return
    begun = replace(first, zero=zero, opening=opening.name if opening else None)
    for finish, drain, outlet in drains:
        again = chains.again(begun, drain, outlet)
        kept = replace(begun, drain=drain, finish=finish, again=again)
        yield chains.plan(role, (kept,), None, outlet)


def _brought_in(
    subject: Subject, chains: Chains, first: Residence, role: Role, drains: Sequence[Drain]
) -> Iterator[OperandPlan | str]:
    """What is written begins with what lies outside."""
    what = subject.inlet.buffer.name if subject.inlet else "it"
    reason = f"no copy brings {what} from {subject.hw.external.name} to {first.memory}"
    is_foreign = subject.inlet is not None or subject.outlet is not None
    for residences, inlet in chains.inward((first,)):
        for finish, drain, outlet in drains:
            is_same = inlet.layout == outlet.layout and not is_foreign
            inner = passing_in(residences, subject.hw)
            if inner is None or not (is_same or is_foreign or drain.planes > 1):
                continue
            if not is_same and overlaps(subject.access):
                reason = "its tiles overlap and cannot be read back as they are written"
                continue
            again = chains.again(inner, drain, outlet) if subject.inlet else None
            kept = replace(inner, drain=drain, finish=finish, again=again)
            yield chains.plan(role, (kept,), inlet, outlet)
    yield reason


def _in_place(
    subject: Subject, chains: Chains, first: Residence, role: Role
) -> Iterator[OperandPlan | str]:
    """The instruction works on the buffer where it lies between tasks."""
    is_read = role is Role.IN or _reads_target(subject)
    if subject.inlet is not None:
        yield f"begins with {subject.inlet.buffer.name} and ends in another place"
        return
    if is_read and role is Role.OUT:
        yield f"nothing clears it in {first.memory} before"
        return
    for external in chains.in_place(first):
        inlet = external if is_read else None
        outlet = None if role is Role.IN else external
        yield chains.plan(role, (), inlet, outlet)
    yield f"{subject.match.instruction.name} cannot work on it as it lies in {first.memory}"
