"""Enumerate the coverings of a kernel by a machine's instructions, best bound first.

In: a kernel of one statement, a machine. Out: a lazy stream of coverings, and on request why
instructions did not match. Not its job: tiles and order (the scheduler), cost beyond the compute
bound.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from isamap.errors import MappingError
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Kernel, LoopKind, is_float, loop_kinds, pretty_statement

from .blocks import tile_loops
from .collapse import Collapsed, collapse_loops
from .conversions import conversions, departures
from .cover_match import cover_match
from .covering import Covering
from .issue_cycles import shared_cycles
from .match import Match, Mismatch, match_statement
from .match_joined import match_joined
from .operand_plans import OperandPlans, plans_on
from .roles import COMPUTING, may_compute, role_of, takes_only_computed
from .tasks import ALONE, Ends, Setting

ONLY_COPIED = "what takes its result home takes only what an instruction has computed"
NO_TILING = 90  # progress of a match that no extents of the instruction serve
TOO_LONG = "finishes its sums in one call, and the kernel's are longer than a call takes"
NO_ZEROS = "runs more iterations than the kernel has, and zeros there would change the result"
NO_COPY = 100  # progress of a match whose operands no copy can bring or take


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
    collapses: bool = True,
) -> Iterator[Covering]:
    """All coverings of the kernel, lowest compute bound first; appends to `mismatches` why others
    failed.

    Args:
        setting: what surrounds the kernel.
        max_matches: only those of so many matches, the lowest bounds, with these loops or fewer.
        collapses: with fewer loops where that may be; else with the kernel's own alone.

    Raises:
        MappingError: the kernel has several statements, or a loop-carried dependence, or reorders
        float sums.
    """
    index = _only_statement(kernel)
    seen, views = _views(kernel, setting, hw, mismatches, collapses=collapses)
    on_chip = dict(setting.homes)
    # sums begin in a copy on chip; elsewhere their own loads bring it, or the host does
    copies = not setting.begins or kernel.statements[index].target.buffer in on_chip
    found = [
        (view, one)
        for view in views
        for one in view.candidates(index, hw, copies=copies, on_chip=on_chip)[:max_matches]
    ]
    if found:  # else order is not to blame
        _check_order(kernel, index, may_reassociate, setting.held)
    known_plans = plans_on(hw)
    for view, candidate in sorted(found, key=lambda pair: _order(pair[1])):
        covered = view.cover(hw, index, candidate, known_plans)
        yield from covered if seen is None else seen.restore(covered, kernel)


def _views(
    kernel: Kernel,
    setting: Setting,
    hw: Hardware,
    mismatches: list[Mismatch] | None,
    *,
    collapses: bool = True,
) -> "tuple[Collapsed | None, list[_View]]":
    """As they are, and where caches hold data and some loops may be one with these; `mismatches`
    are said in the kernel's own loops."""
    plain = _View(kernel, setting, mismatches)
    seen = collapse_loops(kernel, setting) if hw.caches and collapses else None
    return seen, [plain] if seen is None else [plain, _View(seen.kernel, seen.setting, None)]


@dataclass(frozen=True, slots=True)
class _View:
    """A kernel and what surrounds it, as they are covered; `mismatches` grow, if they are asked
    for."""

    kernel: Kernel
    setting: Setting
    mismatches: list[Mismatch] | None

    def candidates(
        self, index: int, hw: Hardware, *, copies: bool, on_chip: Collection[str]
    ) -> tuple[Candidate, ...]:
        """As the function, in these loops alone."""
        kernel, held, ends = self.kernel, self.setting.held, self.setting.ends
        found = []
        failed = [] if self.mismatches is None else self.mismatches
        converted = conversions(hw)
        for instruction in hw.instructions:
            is_step = not copies and role_of(instruction) not in COMPUTING
            if is_step or not may_compute(instruction, kernel.statements[index], on_chip):
                continue
            if ends and ends.outlet and len(instruction.semantics.statements) > 1:
                matches, mismatch = match_joined(kernel, index, ends, instruction, held, converted)
            else:
                explains = self.mismatches is not None
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

    def cover(
        self, hw: Hardware, index: int, candidate: Candidate, known_plans: OperandPlans
    ) -> tuple[Covering, ...]:
        """The coverings of one match, on the first tiling that has any."""
        instruction, held = candidate.match.instruction, self.setting.held
        reason = why_stuck(self.kernel, index, instruction, self.setting, hw)
        for cut in () if reason else tile_loops(self.kernel, index, candidate.match):
            loops = tuple(replace(x, is_held=True) if x.name in held else x for x in cut)
            found = cover_match(
                self.kernel, index, hw, candidate.match, loops, known_plans, self.setting
            )
            if not isinstance(found, str) and instruction.is_copy:
                found = tuple(x for x in found if not takes_only_computed(x, hw)) or ONLY_COPIED
            if not isinstance(found, str):
                return found
            reason = reason or found
        if self.mismatches is not None:
            self.mismatches.append(Mismatch(instruction.name, index, NO_COPY, reason))
        return ()


def why_stuck(
    kernel: Kernel, index: int, instruction: Instruction, setting: Setting, hw: Hardware
) -> str:
    """Why what the instruction computes stays where it is, however it is cut into calls; empty if
    it may leave, or need not."""
    operand = instruction.result.buffer
    memory = instruction.operand(operand).memory
    buffer = kernel.buffer(kernel.statements[index].target.buffer)
    external = hw.external.name
    if memory in (dict(setting.homes).get(buffer.name), external):
        return ""
    if setting.ends is not None and setting.ends.outlet is not None:
        return ""
    if (memory, instruction.semantics.buffer(operand).dtype) in departures(hw):
        return ""
    copied = f"no copy takes {buffer.dtype} from {memory} to {external}"
    return f"operand {operand} ({buffer.name}): {copied}"


def candidates(
    kernel: Kernel,
    index: int,
    hw: Hardware,
    mismatches: list[Mismatch] | None = None,
    held: tuple[str, ...] = (),
    ends: Ends | None = None,
    *,
    copies: bool = True,
    on_chip: Collection[str] = (),
) -> tuple[Candidate, ...]:
    """All matches of all instructions that may compute the statement, sorted by compute bound
    (stable); appends to `mismatches`, if given, why others failed.

    With `ends`, instructions that compute a sum and what becomes of it match too; without `copies`,
    those that only move data do not. `on_chip`: buffers that lie there between tasks.
    """
    _, views = _views(kernel, Setting(held=held, ends=ends), hw, mismatches)
    found = (view.candidates(index, hw, copies=copies, on_chip=on_chip) for view in views)
    return tuple(sorted(chain.from_iterable(found), key=_order))


def _order(candidate: Candidate) -> tuple[int, int]:
    bound = sum(len(group) for _, group in candidate.match.binding)
    return candidate.bound_cycles, -bound


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
