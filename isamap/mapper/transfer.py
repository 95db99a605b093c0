"""Let one instruction move the blocks of an operand: assign its loops to the dimensions to be
walked.

In: a mover and the dimensions (extent, partial or not, strides where known). Out: the cheapest
assignment that its stride and extent rules allow, with the unknown source strides chosen. Not its
job: which memories, whole tiles.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations, pairwise, permutations

from isamap.hwdesc import ExtentKind, ExtentRule, Instruction, StrideRule

from .covering import CopyDim, Transfer
from .cut_run import cut_run
from .roles import Mover

KNOWN = 2**13  # transfers that are remembered
LONGEST_RUN = 2**14  # elements that a call takes row by row: tables say what shorter ones cost


@dataclass(frozen=True, slots=True)
class MoveDim:
    """A dimension to be walked: `source_stride_bytes` None lets the mover choose.

    `is_partial`: the last block may be shorter. `extent` 0: a window axis, of unknown extent.
    `apart`: calls may begin at multiples of so many iterations only, as the rest is not aligned.
    """

    block: int | None
    axis: str | None
    extent: int
    is_partial: bool
    target_stride_bytes: int
    source_stride_bytes: int | None
    apart: int = 1


@dataclass(frozen=True, slots=True)
class _LoopRules:
    """How an instruction loop moves its target and its source."""

    name: str
    extent: ExtentRule
    target: StrideRule
    source: StrideRule | None  # None: the source does not move with the loop


@lru_cache(KNOWN)  # of many operands, in many forms of a kernel, blocks lie alike
def find_transfer(
    mover: Mover, dims: tuple[MoveDim, ...], source_element_bytes: int
) -> Transfer | None:
    """The assignment with the fewest cycles per block, or None when the rules allow none."""
    rules = _loop_rules(mover)
    if rules is None:
        return None
    best: tuple[float, Transfer] | None = None
    for number, groups in enumerate(_groupings(dims)):
        if number > 1 and best is not None:
            break  # none or all merged is best where it is legal
        for assigned in _assignments(rules, groups):
            transfer = _resolve(mover, rules, groups, assigned, source_element_bytes)
            if transfer is None:
                continue
            for found in (transfer, *_by_rows(mover, rules, transfer)):
                cost = block_cycles(mover.instruction, found)
                if best is None or cost < best[0]:
                    best = (cost, found)
    return best[1] if best else None


def _by_rows(mover: Mover, rules: tuple[_LoopRules, ...], transfer: Transfer) -> Iterator[Transfer]:
    """The transfer with one dimension, longer than a call takes, in rows: whole parts of it are
    what another loop of the instruction runs over, which had nothing to run over."""
    instruction = mover.instruction
    for loop, dims in transfer.assigned:
        size = instruction.extent(loop).maximum
        if len(dims) != 1 or size == 1 or 0 < dims[0].extent <= size:
            continue
        into, out = dims[0].source_stride_bytes * size, dims[0].target_stride_bytes * size
        for rule, (_, others) in zip(rules, transfer.assigned, strict=True):
            found = replace(transfer, rows=(loop, rule.name))
            takes_some = (
                rule.extent.kind is ExtentKind.AT_MOST and most_rows(instruction, found) > 1
            )
            sources = [(rule.source, into)] if mover.source is not None else []
            steps = [(rule.target, out), *sources]
            if not others and takes_some and all(_may_row(side, step) for side, step in steps):
                yield found


def _may_row(rule: StrideRule | None, step: int) -> bool:
    """May rows of one side lie so far apart?"""
    return rule is not None and not rule.is_dense and step > 0 and rule.allows(step)


def most_rows(instruction: Instruction, transfer: Transfer) -> int:
    """How many rows of a run a call of the transfer takes: 1 unless it moves by rows."""
    if transfer.rows is None:
        return 1
    row, rows = (instruction.extent(loop).maximum for loop in transfer.rows)
    return min(rows, LONGEST_RUN // row)


def call_limit(instruction: Instruction, transfer: Transfer, loop: str) -> int:
    """How much a call takes of what the loop runs over, in rows where the transfer says so."""
    is_cut = transfer.rows is not None and transfer.rows[0] == loop
    rows = most_rows(instruction, transfer) if is_cut else 1
    return instruction.extent(loop).maximum * rows


def block_cycles(instruction: Instruction, transfer: Transfer) -> float:
    """Issue cycles to move one full block (one position of a window axis: its share of a full
    call)."""
    values, share = _block_calls(instruction, transfer)
    return share * instruction.issue_cycles.evaluate(values)


def block_latency(instruction: Instruction, transfer: Transfer) -> float:
    """Cycles from the beginning of a block's move until all of it is there."""
    values, share = _block_calls(instruction, transfer)
    issue = instruction.issue_cycles.evaluate(values)
    latency = max(issue, instruction.latency_cycles.evaluate(values))
    return latency + max(share - 1.0, 0.0) * issue


def _block_calls(instruction: Instruction, transfer: Transfer) -> tuple[dict[str, int], float]:
    """Extents of a block's calls, and how many there are (or which share of one)."""
    values = {repeat.name: 1 for repeat in instruction.repeats}
    share = 1.0
    for loop, dims in transfer.assigned:
        limit = call_limit(instruction, transfer, loop)
        count = 1
        for dim in dims:
            count *= dim.extent or limit
            share = share if dim.extent else share / limit
        calls = call_extents(instruction, transfer, loop, count)
        share *= sum(number for number, _ in calls)
        values.update(calls[0][1])
    for dim in transfer.walked:
        share *= dim.extent or 1
    return values, share


def _loop_rules(mover: Mover) -> tuple[_LoopRules, ...] | None:
    """One row per instruction loop; None for semantics whose indices are not single loops or 0."""
    instruction = mover.instruction
    statement = instruction.semantics.statements[0]
    sides: dict[str, dict[str, StrideRule]] = {}
    for access in statement.accesses:
        sides[access.buffer] = {}
        rules = instruction.operand(access.buffer).strides
        for index, rule in zip(access.indices, rules, strict=True):
            if not index.terms and not index.constant:
                continue  # one element for all iterations
            if index.constant or len(index.terms) != 1 or index.terms[0][1] != 1:
                return None
            sides[access.buffer][index.names[0]] = rule
    rows: list[_LoopRules] = []
    for loop in statement.loops:
        if loop.name not in sides[mover.target]:
            return None
        source = sides[mover.source].get(loop.name) if mover.source else None
        rows.append(
            _LoopRules(
                loop.name, instruction.extent(loop.name), sides[mover.target][loop.name], source
            )
        )
    return tuple(rows)


def _groupings(dims: tuple[MoveDim, ...]) -> Iterator[tuple[tuple[MoveDim, ...], ...]]:
    """All ways to merge neighbours that leave no gap (outermost first): none, all, then some."""
    ordered = sorted(dims, key=lambda dim: -dim.target_stride_bytes)
    joints = [n for n, pair in enumerate(pairwise(ordered), 1) if _may_merge(*pair)]
    counts = sorted(range(len(joints) + 1), key=lambda count: (0 < count < len(joints), count))
    for count in counts:
        for merged in combinations(joints, count):
            cuts = [n for n in range(1, len(ordered)) if n not in merged]
            yield tuple(
                tuple(ordered[first:last])
                for first, last in pairwise((0, *cuts, len(ordered)))
                if first < last
            )


def _may_merge(outer: MoveDim, inner: MoveDim) -> bool:
    if inner.is_partial or outer.is_partial or not outer.extent or not inner.extent:
        return False
    if outer.target_stride_bytes != inner.target_stride_bytes * inner.extent:
        return False
    if outer.source_stride_bytes is None or inner.source_stride_bytes is None:
        return outer.source_stride_bytes is inner.source_stride_bytes
    return outer.source_stride_bytes == inner.source_stride_bytes * inner.extent


def _assignments(
    rules: tuple[_LoopRules, ...], groups: tuple[tuple[MoveDim, ...], ...]
) -> Iterator[tuple[int | None, ...]]:
    """Injective maps from instruction loops to groups that they may take (None: extent 1)."""
    slots: list[int | None] = [*range(len(groups)), *([None] * len(rules))]
    may_take = [
        {
            *(number for number, group in enumerate(groups) if _may_take(rule, group)),
            *((None,) if rule.extent.allows(1) else ()),
        }
        for rule in rules
    ]
    for assigned in dict.fromkeys(permutations(slots, len(rules))):
        if all(slot in allowed for slot, allowed in zip(assigned, may_take)):
            yield assigned


def _resolve(
    mover: Mover,
    rules: tuple[_LoopRules, ...],
    groups: tuple[tuple[MoveDim, ...], ...],
    assigned: tuple[int | None, ...],
    element_bytes: int,
) -> Transfer | None:
    """Check every rule; choose source strides from the innermost dimension outwards."""
    by_group = {
        group: rule for rule, group in zip(rules, assigned, strict=True) if group is not None
    }
    bases = _source_strides(groups, by_group, element_bytes)
    if bases is None:
        return None
    chosen: dict[int, tuple[CopyDim, ...]] = {}
    for number, group in enumerate(groups):
        rule = by_group.get(number)
        if rule and mover.source is not None and not _may_step(rule, bases[number]):
            return None
        if rule is None and any(dim.apart > 1 for dim in group):
            return None
        resolved: list[CopyDim] = []
        stride = bases[number]
        for dim in reversed(group):
            known = dim.source_stride_bytes
            own = stride if known is None else known
            resolved.insert(
                0, CopyDim(dim.block, dim.axis, dim.extent, own, dim.target_stride_bytes)
            )
            stride = own * max(dim.extent, 1)
        chosen[number] = tuple(resolved)
    pairs = tuple(
        (rule.name, chosen[group] if group is not None else ())
        for rule, group in zip(rules, assigned, strict=True)
    )
    taken = {group for group in assigned if group is not None}
    walked = tuple(d for number in chosen if number not in taken for d in chosen[number])
    stepped = [_stepped(dims, mover.instruction.extent(loop)) for loop, dims in pairs if dims]
    if not _are_aligned(mover, (*walked, *(dim for dim in stepped if dim is not None))):
        return None
    return Transfer(mover.instruction.name, pairs, tuple(sorted(walked, key=_by_stride)))


def _stepped(dims: tuple[CopyDim, ...], rule: ExtentRule) -> CopyDim | None:
    """The dimension that program loops walk in parts, if the instruction cannot take it at once."""
    inner = dims[-1]
    size = part_size(inner.extent, rule) if inner.extent else rule.maximum
    if len(dims) > 1 or size == inner.extent:
        return None
    return replace(
        inner,
        source_stride_bytes=inner.source_stride_bytes * size,
        target_stride_bytes=inner.target_stride_bytes * size,
    )


def _are_aligned(mover: Mover, walked: tuple[CopyDim, ...]) -> bool:
    """Does every step of a program loop end at a legal operand address?"""
    target = mover.instruction.operand(mover.target).align_bytes
    source = mover.instruction.operand(mover.source).align_bytes if mover.source else 1
    return all(
        dim.target_stride_bytes % target == 0 and dim.source_stride_bytes % source == 0
        for dim in walked
    )


def _by_stride(dim: CopyDim) -> int:
    return -dim.target_stride_bytes


def _source_strides(
    groups: tuple[tuple[MoveDim, ...], ...], by_group: dict[int, _LoopRules], element_bytes: int
) -> dict[int, int] | None:
    """Source stride of every group's innermost dimension: known, else fixed by its rule, else the
    least
    that overlaps nothing; None when fixed ones overlap or no stride is legal."""
    strides: dict[int, int] = {}
    spans: list[tuple[int, int]] = []  # (stride, bytes) of what has been placed
    free = []
    for number, group in enumerate(groups):
        rule = by_group.get(number)
        fixed = rule.source.fixed_bytes if rule and rule.source else None
        known = group[-1].source_stride_bytes
        if known is not None:
            strides[number] = known
        elif fixed is not None:
            strides[number] = fixed
            if not _is_disjoint(fixed, _count(group), spans):
                return None
            spans.append((fixed, fixed * _count(group)))
        else:
            free.append(number)
    for number in reversed(free):
        rule = by_group.get(number)
        multiple = rule.source.multiple_bytes if rule and rule.source else 1
        count = _count(groups[number])
        for least in sorted({element_bytes, *(size for _, size in spans)}):
            stride = -(-least // multiple) * multiple
            if _is_disjoint(stride, count, spans):
                break
        else:
            return None
        strides[number] = stride
        spans.append((stride, stride * count))
    return strides


def _count(group: tuple[MoveDim, ...]) -> int:
    count = 1
    for dim in group:
        count *= max(dim.extent, 1)
    return count


def _is_disjoint(stride: int, count: int, spans: list[tuple[int, int]]) -> bool:
    """Do `count` steps of `stride` leave every placed dimension either wholly inside or wholly
    outside?"""
    return all(stride >= size or stride * count <= other for other, size in spans)


def _may_take(rule: _LoopRules, group: tuple[MoveDim, ...]) -> bool:
    """May the instruction loop run over the group, as far as extents and target strides go?"""
    extent = 1
    for member in group:
        extent *= member.extent
    if not _extent_fits(rule.extent, extent, any(d.is_partial for d in group), len(group)):
        return False
    if any(rule.extent.maximum % member.apart for member in group):
        return False
    return rule.target.is_dense or rule.target.allows(group[-1].target_stride_bytes)


def _may_step(rule: _LoopRules, stride: int) -> bool:
    """May the instruction loop step through the source so?"""
    if rule.source is None:
        return stride == 0
    return rule.source.is_dense or rule.source.allows(stride)


def _extent_fits(rule: ExtentRule, extent: int, is_partial: bool, members: int) -> bool:
    """`extent` 0 is a window axis: any length, in calls of at most the maximum."""
    match rule.kind:
        case ExtentKind.AT_MOST:
            return extent <= rule.maximum or members == 1
        case ExtentKind.EXACTLY:
            return (
                extent > 0
                and not is_partial
                and extent % rule.maximum == 0
                and (extent == rule.maximum or members == 1)
            )
        case ExtentKind.MULTIPLE_OF:
            return (
                extent > 0
                and not is_partial
                and extent % rule.multiple == 0
                and (extent <= rule.maximum)
            )


def call_extents(
    instruction: Instruction, transfer: Transfer, loop: str, count: int
) -> list[tuple[int, dict[str, int]]]:
    """(number, extents) of the calls that take `count` iterations along one loop of a transfer; of
    the loop that runs over rows too, where it moves by rows. None along that alone."""
    if transfer.rows is not None and transfer.rows[1] == loop:
        return [(1, {})]
    size = part_size(count, instruction.extent(loop))
    if transfer.rows is None or transfer.rows[0] != loop:
        return [(n, {loop: extent}) for n, _, extent in cut_run(count, size, 1)]
    most = most_rows(instruction, transfer)
    runs = cut_run(count, size, most)
    return [(n, {loop: extent, transfer.rows[1]: rows}) for n, rows, extent in runs]


def part_size(extent: int, rule: ExtentRule) -> int:
    """How much of a dimension of `extent` one call takes, but for the last one."""
    return min(extent, rule.maximum)
