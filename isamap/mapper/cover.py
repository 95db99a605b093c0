"""Enumerate the coverings of a kernel by a machine's instructions, best bound first.

In: a kernel of one statement, a machine. Out: a lazy stream of coverings, and on request why
instructions did not match. Not its job: tiles and order (the scheduler), cost beyond the compute
bound.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod

from isamap.errors import MappingError
from isamap.hwdesc import Hardware, Instruction, OperandRule
from isamap.ir import (
    Access,
    Affine,
    Kernel,
    LoopKind,
    Role,
    Statement,
    is_float,
    loop_kinds,
    pretty_statement,
)

from .blocks import leaves, tile_loops
from .conversions import conversions
from .covering import Covering, OperandPlan, TiledLoop, synthetic_name
from .match import Match, Mismatch, match_statement
from .match_joined import match_joined
from .operand_plans import OperandPlans
from .roles import COMPUTING, may_compute, role_of, takes_only_computed
from .subject import Source, Subject
from .tasks import ALONE, Ends, Setting, overlaps

ONLY_COPIED = "what takes its result home takes only what an instruction has computed"
NO_TILING = 90  # progress of a match that no extents of the instruction serve
TOO_LONG = "finishes its sums in one call, and the kernel's are longer than a call takes"
NO_ZEROS = "runs more iterations than the kernel has, and zeros there would change the result"
NO_COPY = 100  # progress of a match whose operands no copy can bring or take

Homes = Mapping[str, str]  # buffer -> managed memory where it lies between tasks


@dataclass(frozen=True, slots=True)
class Candidate:
    """A match with its compute bound: cycles that its unit is busy whatever the schedule."""

    match: Match
    bound_cycles: int


def coverings(
    kernel: Kernel,
    hw: Hardware,
    mismatches: list[Mismatch],
    setting: Setting = ALONE,
    *,
    may_reassociate: bool = False,
    max_matches: int | None = None,
    known_plans: OperandPlans | None = None,
) -> Iterator[Covering]:
    """All coverings of the kernel, lowest compute bound first; appends to `mismatches` why others
    failed.

    Args:
        setting: what surrounds the kernel.
        max_matches: only those of so many matches, the lowest bounds.
        known_plans: of operands on this machine; grows.

    Raises:
        MappingError: the kernel has several statements, or a loop-carried dependence, or reorders
        float sums.
    """
    index = _only_statement(kernel)
    held = setting.held
    # sums begin in a copy on chip; elsewhere their own loads bring it, or the host does
    copies = not setting.begins or kernel.statements[index].target.buffer in dict(setting.homes)
    found_candidates = candidates(kernel, index, hw, mismatches, held, setting.ends, copies=copies)
    if found_candidates:  # else order is not to blame
        _check_order(kernel, index, may_reassociate, held)
    known_plans = OperandPlans() if known_plans is None else known_plans
    for candidate in found_candidates[:max_matches]:
        reason = ""
        for cut in tile_loops(kernel, index, candidate.match):
            loops = tuple(replace(x, is_held=True) if x.name in held else x for x in cut)
            found = cover_match(kernel, index, hw, candidate.match, loops, known_plans, setting)
            if not isinstance(found, str) and candidate.match.instruction.is_copy:
                found = tuple(x for x in found if not takes_only_computed(x, hw)) or ONLY_COPIED
            if not isinstance(found, str):
                yield from found
                break
            reason = reason or found
        else:
            name = candidate.match.instruction.name
            mismatches.append(Mismatch(name, index, NO_COPY, reason))


def candidates(
    kernel: Kernel,
    index: int,
    hw: Hardware,
    mismatches: list[Mismatch] | None = None,
    held: tuple[str, ...] = (),
    ends: Ends | None = None,
    *,
    copies: bool = True,
) -> tuple[Candidate, ...]:
    """All matches of all instructions that may compute the statement, sorted by compute bound
    (stable); appends to `mismatches`, if given, why others failed.

    With `ends`, instructions that compute a sum and what becomes of it match too; without `copies`,
    those that only move data do not.
    """
    found = []
    failed = [] if mismatches is None else mismatches
    converted = conversions(hw)
    for instruction in hw.instructions:
        is_step = not copies and role_of(instruction) not in COMPUTING
        if is_step or not may_compute(instruction, kernel.statements[index]):
            continue
        if ends and ends.outlet and len(instruction.semantics.statements) > 1:
            matches, mismatch = match_joined(kernel, index, ends, instruction, held, converted)
        else:
            explains = mismatches is not None
            matches, mismatch = match_statement(
                kernel, index, instruction, held, explains=explains, converted=converted
            )
        if mismatch is not None:
            failed.append(mismatch)
        for match in matches:
            loops = next(tile_loops(kernel, index, match), None)
            if loops is None:
                failed.append(Mismatch(instruction.name, index, NO_TILING, NO_ZEROS))
                continue
            if match.is_whole and any(loop.is_reduction and loop.units > 1 for loop in loops):
                failed.append(Mismatch(instruction.name, index, NO_TILING, TOO_LONG))
                continue
            bound = shared_cycles(instruction, match.binding, loops, hw)
            found.append(Candidate(match, bound))
    return tuple(sorted(found, key=_order))


def _order(candidate: Candidate) -> tuple[int, int]:
    bound = sum(len(group) for _, group in candidate.match.binding)
    return candidate.bound_cycles, -bound


def compute_cycles(
    instruction: Instruction,
    binding: tuple[tuple[str, tuple[str, ...]], ...],
    loops: tuple[TiledLoop, ...],
) -> int:
    """Issue cycles of all calls together, partial ones included."""
    issue = instruction.issue_cycles
    classes = call_classes(instruction, binding, loops)
    return sum(count * issue.evaluate(values) for count, values in classes)


def shared_cycles(
    instruction: Instruction,
    binding: tuple[tuple[str, tuple[str, ...]], ...],
    loops: tuple[TiledLoop, ...],
    hw: Hardware,
) -> int:
    """Issue cycles of each of the units that share the calls."""
    count = {unit.name: unit.count for unit in hw.units}[instruction.unit]
    return -(-compute_cycles(instruction, binding, loops) // count)


def unit_cycles(covering: Covering, hw: Hardware) -> int:
    """Issue cycles of a covering's calls, on each of the units that share them."""
    instruction = hw.instruction(covering.instruction)
    return shared_cycles(instruction, covering.binding, covering.loops, hw)


def call_classes(
    instruction: Instruction,
    binding: tuple[tuple[str, tuple[str, ...]], ...],
    loops: tuple[TiledLoop, ...],
) -> tuple[tuple[int, dict[str, int]], ...]:
    """How many calls, of all together, have which extents; repeats run once."""
    by_name = {loop.name: loop for loop in loops}
    classes: list[tuple[int, dict[str, int]]] = [(1, {r.name: 1 for r in instruction.repeats})]
    bound: set[str] = set()
    for instruction_loop, group in binding:
        names = group or (synthetic_name(instruction_loop),)
        members = [by_name[name] for name in names if name in by_name]
        bound.update(loop.name for loop in members)
        counts = _extent_classes(members)
        classes = [
            (count * times, {**values, instruction_loop: extent})
            for count, values in classes
            for times, extent in counts
        ]
    outside = prod(loop.extent for loop in loops if loop.name not in bound)
    return tuple((outside * count, values) for count, values in classes)


def _extent_classes(members: list[TiledLoop]) -> list[tuple[int, int]]:
    """How many calls have which extents of an instruction loop bound to `members`."""
    if not members:
        return [(1, 1)]
    inner = prod(loop.block for loop in members[1:])
    times = prod(loop.units for loop in members[1:])
    whole, rest = divmod(members[0].extent, members[0].block)
    full = [(times * whole, members[0].block * inner)] if whole else []
    return full + ([(times, rest * inner)] if rest else [])


def _only_statement(kernel: Kernel) -> int:
    if len(kernel.statements) != 1:
        raise MappingError(
            f"kernel {kernel.name} has {len(kernel.statements)} statements;"
            " one can be mapped so far",
            loc=kernel.statements[1].loc,
            hint="map one statement at a time",
        )
    return 0


def nearest_miss(mismatches: list[Mismatch]) -> str:
    """`mma: operand A is i8, x is f32`: the instruction that got farthest; empty without any."""
    if not mismatches:
        return ""
    nearest = max(mismatches, key=lambda miss: miss.progress)
    return f"{nearest.instruction}: {nearest.reason}"


def _check_order(kernel: Kernel, index: int, may_reassociate: bool, held: tuple[str, ...]) -> None:
    statement = kernel.statements[index]
    kinds = loop_kinds(statement, held)
    sequential = [name for name, kind in kinds.items() if kind is LoopKind.SEQUENTIAL]
    if sequential:
        raise MappingError(
            f"loop {sequential[0]} carries a dependence:\n{pretty_statement(statement)}",
            loc=statement.loc,
            hint="only loops whose iterations may run in any order can be tiled so far",
        )
    rounds = is_float(kernel.buffer(statement.target.buffer).dtype)
    if rounds and LoopKind.REDUCTION in kinds.values() and not may_reassociate:
        raise MappingError(
            f"tiling would reorder a floating-point sum:\n{pretty_statement(statement)}",
            loc=statement.loc,
            hint="allow it with --allow reassociate",
            reason="tiling would reorder a floating-point sum: --allow reassociate",
        )


def cover_match(
    kernel: Kernel,
    index: int,
    hw: Hardware,
    match: Match,
    loops: tuple[TiledLoop, ...],
    known_plans: OperandPlans,
    setting: Setting = ALONE,
) -> tuple[Covering, ...] | str:
    """Coverings of one match on one tiling, one per choice of layouts; or why there is none."""
    ends, homes = setting.ends, dict(setting.homes)
    names = {loop.name for loop in loops}
    synthetic = tuple(
        (name, synthetic_name(name)) for name, _ in match.binding if synthetic_name(name) in names
    )
    begin = None if ends is None or match.is_whole else ends.inlet
    accesses = _begun_operands(match, kernel.statements[index].target, begin)
    choices: dict[str, tuple[OperandPlan, ...]] = {}
    for rule in sorted(match.instruction.operands, key=partial(_turn, match, homes, ends)):
        read = partial(_source, kernel, match, rule.name, synthetic=synthetic, setting=setting)
        own = read(accesses[rule.name])
        inlet = read(dict(match.inlets)[rule.name]) if rule.name in dict(match.inlets) else None
        is_target = rule.name == match.instruction.result.buffer
        if is_target and (reason := _sums_apart(kernel, index, own.access, loops)):
            return f"operand {rule.name}: {reason}"
        outlet = None
        if is_target and ends is not None and ends.outlet is not None and not match.is_whole:
            outlet = read(ends.outlet)
            if not _stores_no_more(kernel, index, loops, ends.outlet):
                name = outlet.buffer.name
                return f"operand {rule.name}: would write more of {name} than asked"
        if is_target and begin is not None and match.updates_target:
            inlet = read(begin)
        pad = own.access.pad or (inlet.access.pad if inlet else None)
        if pad and not _may_pad(kernel.statements[index], loops, own.access, inlet):
            return f"operand {rule.name}: reads outside give {pad}, only zero can be padded"
        buffers = {source.access.buffer for source in (own, inlet, outlet) if source}
        fresh = tuple(dict.fromkeys(loop for name, loop in setting.volatile if name in buffers))
        statement = kernel.statements[index]
        again = [x.name for x in statement.loops if not statement.target.moves_with(x.name)]
        in_place = rule.name in dict(match.inlets)
        if in_place and not set(again) <= set(fresh):
            return f"operand {rule.name}: would be updated again by every iteration of {again[0]}"
        value = ends.value if ends and outlet else None
        plans = known_plans.plan(
            Subject(hw, match, loops, rule.name, own, inlet, synthetic, fresh, outlet, value)
        )
        if isinstance(plans, str):
            return plans
        choices[rule.name] = plans
    in_order = [choices[rule.name] for rule in match.instruction.operands]
    return tuple(
        Covering(
            kernel, index, match.instruction.name, match.binding, match.immediates, loops, plans
        )
        for plans in product(*in_order)
    )


def _begun_operands(match: Match, target: Access, begin: Access | None) -> dict[str, Access]:
    """What the operands read and write, where sums begin from `begin`: other operands that read the
    target (S of `D = S + T`) read that instead."""
    result = match.instruction.result.buffer
    return {
        name: begin if begin is not None and name != result and access == target else access
        for name, access in match.operands
    }


def _turn(match: Match, homes: Homes, ends: Ends | None, rule: OperandRule) -> int:
    """What fails most often comes first: with a home, then sums that leave as something else."""
    if dict(match.operands)[rule.name].buffer in homes:
        return 0
    return 1 if ends and ends.outlet and rule.name == match.instruction.result.buffer else 2


def _sums_apart(kernel: Kernel, index: int, access: Access, loops: tuple[TiledLoop, ...]) -> str:
    """Why sums of one element would go to several places."""
    if _adds_to_zeros(kernel, index) and overlaps(access):
        return "its elements are summed up in several tiles, from zeros"
    if not _writes_once(kernel.statements[index], loops):
        return "a call would add to some element in several places"
    return ""


def _writes_once(statement: Statement, loops: tuple[TiledLoop, ...]) -> bool:
    """Does a block write each element of the target in one place? Else what some of its places
    add would be lost."""
    blocks = {loop.name: loop.block for loop in loops if loop.block > 1}
    if all(sum(name in blocks for name in index.names) < 2 for index in statement.target.indices):
        return True
    inside = tuple(replace(loop, extent=blocks.get(loop.name, 1)) for loop in statement.loops)
    kinds = loop_kinds(replace(statement, loops=inside))
    return all(kinds[n] is LoopKind.PARALLEL for n in blocks if statement.target.moves_with(n))


def _may_pad(
    statement: Statement, loops: tuple[TiledLoop, ...], access: Access, inlet: Source | None
) -> bool:
    """May the border around an array be something else than zeros? Not where a reduction runs past
    its end, which reads the same border and wants zeros."""
    is_whole = all(
        loop.extent == loop.kernel_extent or statement.target.moves_with(loop.name)
        for loop in loops
    )
    return inlet is None and is_whole and isinstance(access.pad, int)


def _stores_no_more(
    kernel: Kernel, index: int, loops: tuple[TiledLoop, ...], outlet: Access
) -> bool:
    """Do iterations past the kernel's loops store outside the outlet's array?"""
    statement = kernel.statements[index]
    extents = {loop.name: loop.extent for loop in loops if outlet.moves_with(loop.name)}
    return all(
        leaves(outlet, loop.name, kernel, statement)
        for loop in statement.loops
        if extents.get(loop.name, 0) > loop.extent
    )


def _adds_to_zeros(kernel: Kernel, index: int) -> bool:
    statement = kernel.statements[index]
    is_out = kernel.buffer(statement.target.buffer).role is Role.OUT
    return is_out and statement.update != "="


def _source(
    kernel: Kernel,
    match: Match,
    operand: str,
    access: Access,
    *,
    synthetic: tuple[tuple[str, str], ...],
    setting: Setting,
) -> Source:
    """An access that an operand is bound to, with a unit dimension per synthetic loop that moves
    the operand."""
    buffer = kernel.buffer(access.buffer)
    moving = [name for loop, name in synthetic if operand in _moving_operands(match, loop)]
    indices = (*access.indices, *(Affine.var(name) for name in moving))
    widened = replace(buffer, shape=(*buffer.shape, *(1 for _ in moving)))
    name, rank = access.buffer, len(buffer.shape)
    home, is_late = dict(setting.homes).get(name), name in setting.late
    return Source(replace(access, indices=indices), widened, rank, home, is_late)


def _moving_operands(match: Match, loop: str) -> set[str]:
    return {access.buffer for access in match.instruction.uses if access.moves_with(loop)}
