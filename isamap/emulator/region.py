"""Which bytes one call touches: regions, one per way an operand is accessed.

In: an instruction's semantics and an Issue's strides. Out: Regions: lattices of elements around
the operand's address.
Not its job: the address itself, how often it is touched, in what order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from isamap.errors import ProgramError
from isamap.hwdesc import Direction, Hardware, Instruction
from isamap.ir import Access, Affine, Kernel, size_bytes
from isamap.program import Issue

from .ranges import Interval


@dataclass(frozen=True, slots=True)
class Dim:
    """One direction of a lattice, `stride_bytes` per step.

    It has 1 + sum(factor * (extent - 1)) positions over the loops in `terms`, of which the first
    `skip` are
    outside the operand (padding) and at most `limit` (None: any number) follow.
    In the operand's own array a step moves `step` along dimension `axis` (-1: a repeat, no such
    dimension).
    """

    terms: tuple[tuple[str, int], ...]
    stride_bytes: int
    axis: int
    step: int
    skip: int = 0
    limit: int | None = None

    def count(self, extents: Mapping[str, int]) -> int:
        """Positions inside, 0 when none."""
        raw = 1 + sum(factor * (extents[name] - 1) for name, factor in self.terms) - self.skip
        return max(0, raw if self.limit is None else min(raw, self.limit))


@dataclass(frozen=True, slots=True)
class Region:
    """Elements of `item_bytes` at operand address + `start_bytes` + the lattice of `dims` and
    `repeats`.

    `operand`: position in the instruction's operands; `origin`: array index of the first element.
    """

    operand: int
    memory: str
    item_bytes: int
    start_bytes: int
    origin: tuple[int, ...]
    dims: tuple[Dim, ...]
    repeats: tuple[Dim, ...]
    is_read: bool
    is_written: bool

    @property
    def all_dims(self) -> tuple[Dim, ...]:
        """Directions of the whole call that really move."""
        return tuple(dim for dim in self.repeats + self.dims if dim.stride_bytes)

    @property
    def diagonal_loops(self) -> tuple[str, ...]:
        """Loops of the moving dimensions, where one of them moves several: fewer elements than the
        box around them holds may be touched. Empty where the box is full."""
        terms = [name for dim in self.dims if dim.stride_bytes for name, _ in dim.terms]
        names = tuple(dict.fromkeys(terms))
        return names if len(names) < len(terms) else ()

    def num_bytes(self, extents: Mapping[str, int]) -> int:
        """Bytes that pass the memory's port: elements that are replicated (stride 0) count once,
        in every round of a repeat anew; no more elements than iterations touch."""
        box = prod(dim.count(extents) for dim in self.dims if dim.stride_bytes)
        if self.diagonal_loops:
            box = min(box, prod(extents[name] for name in self.diagonal_loops))
        return self.item_bytes * box * prod(dim.count(extents) for dim in self.repeats)

    def hull(self, extents: Mapping[str, int]) -> Interval | None:
        """First byte and byte after the last, relative to the operand's address; None when
        empty."""
        end = self.start_bytes + self.item_bytes
        for dim in self.repeats + self.dims:
            count = dim.count(extents)
            if count == 0:
                return None
            end += dim.stride_bytes * (count - 1)
        return self.start_bytes, end


def deal_ports(
    regions: Sequence[Region], hardware: Hardware
) -> dict[tuple[str, str], tuple[int, ...]]:
    """By memory and port, numbers of a call's accesses that pass it, an update twice where one port
    serves both ways: the n-th access in one direction takes the n-th fitting port, in turn."""
    dealt: dict[tuple[str, Direction], int] = {}
    uses: dict[tuple[str, str], tuple[int, ...]] = {}
    for number, region in enumerate(regions):
        directions = [Direction.READ] * region.is_read + [Direction.WRITE] * region.is_written
        for direction in directions:
            ports = hardware.memory(region.memory).ports
            fitting = [port for port in ports if port.direction in (direction, Direction.BOTH)]
            if not fitting:
                continue
            turn = dealt.get((region.memory, direction), 0)
            dealt[region.memory, direction] = turn + 1
            key = region.memory, fitting[turn % len(fitting)].name
            uses[key] = (*uses.get(key, ()), number)
    return uses


def find_regions(instruction: Instruction, issue: Issue) -> tuple[Region, ...]:
    """All regions of a call, in operand order; identical ones that are read and written are one."""
    reads, writes = _memory_accesses(instruction.semantics)
    least = _least_extents(issue)
    found: dict[Region, tuple[bool, bool]] = {}
    for number, rule in enumerate(instruction.operands):
        for is_write, group in ((False, reads), (True, writes)):
            for access in group:
                if access.buffer != rule.name:
                    continue
                region = _region(instruction, issue, number, access, least)
                if region is None:
                    continue
                was_read, was_written = found.get(region, (False, False))
                found[region] = (was_read or not is_write, was_written or is_write)
    return tuple(
        Region(r.operand, r.memory, r.item_bytes, r.start_bytes, r.origin, r.dims, r.repeats, *how)
        for r, how in found.items()
    )


def _memory_accesses(kernel: Kernel) -> tuple[tuple[Access, ...], tuple[Access, ...]]:
    """Accesses that read operands and accesses that write them; an Out starts as zeros and is
    never read."""
    reads: list[Access] = []
    writes: list[Access] = []
    for statement in kernel.statements:
        used = statement.reads
        if statement.update != "=":
            used += (statement.target,)
        for access in used:
            if kernel.buffer(access.buffer).role.is_given:
                reads.append(access)
        if kernel.buffer(statement.target.buffer).role.is_returned:
            writes.append(statement.target)
    return tuple(reads), tuple(writes)


def _least_extents(issue: Issue) -> dict[str, int]:
    """The smallest extent of each loop that is certain: its span when fixed, else 1."""
    return {name: span.limit if span.total is None else 1 for name, span in issue.extents}


def _region(
    instruction: Instruction, issue: Issue, number: int, access: Access, least: Mapping[str, int]
) -> Region | None:
    """The region of one access; None when all of it is padding."""
    operand = issue.operands[number]
    buffer = instruction.semantics.buffer(access.buffer)
    dims: list[Dim] = []
    origin: list[int] = []
    for axis, (index, shape) in enumerate(zip(access.indices, buffer.shape)):
        stride = operand.strides_bytes[axis]
        terms, first = _rising(index, issue)
        parts = _merge(terms, least)
        if access.pad is not None:
            parts, first, skip, limit = _cut(parts, first, shape)
            if limit is not None and limit <= 0:
                return None
        else:
            skip, limit = 0, None
        origin.append(first)
        for position, (step, terms) in enumerate(parts):
            cut = (skip, limit) if position == 0 else (0, None)
            dims.append(Dim(terms, stride * step, axis, step, *cut))
    repeats = tuple(
        Dim(((repeat.name, 1),), repeat.strides_bytes[number], -1, 0) for repeat in issue.repeats
    )
    start = sum(first * stride for first, stride in zip(origin, operand.strides_bytes))
    item = size_bytes(buffer.dtype)
    return Region(
        number, operand.memory, item, start, tuple(origin), tuple(dims), repeats, False, False
    )


def _rising(index: Affine, issue: Issue) -> tuple[tuple[tuple[str, int], ...], int]:
    """Terms and constant of an index that takes the same values and falls with no loop."""
    spans = dict(issue.extents)
    terms, first = [], index.constant
    for name, coefficient in index.terms:
        if coefficient < 0:
            if spans[name].total is not None:
                raise ProgramError(
                    f"the emulator cannot run an operand index that falls with {name!r},"
                    " whose extent changes"
                )
            first += coefficient * (spans[name].limit - 1)
        terms.append((name, abs(coefficient)))
    return tuple(terms), first


Part = tuple[int, tuple[tuple[str, int], ...]]  # step, and (loop, factor) pairs


def _merge(terms: tuple[tuple[str, int], ...], least: Mapping[str, int]) -> list[Part]:
    """Join loops whose steps fit into one gapless direction: `2*i + r` with r >= 2 values, `i +
    r`."""
    parts: list[tuple[int, list[tuple[str, int]], int]] = []  # step, terms, certain count
    for name, coefficient in sorted(terms, key=lambda term: term[1]):
        for position, (step, members, count) in enumerate(parts):
            factor = coefficient // step
            if coefficient % step == 0 and factor <= count:
                members.append((name, factor))
                parts[position] = (step, members, count + factor * (least[name] - 1))
                break
        else:
            parts.append((coefficient, [(name, 1)], least[name]))
    return [(step, tuple(members)) for step, members, _ in parts]


def _cut(parts: list[Part], first: int, shape: int) -> tuple[list[Part], int, int, int | None]:
    """Keep the positions inside 0 .. shape-1; several directions become their gapless hull."""
    if not parts:
        return parts, first, 0, None if 0 <= first < shape else 0
    if len(parts) > 1:
        step = gcd(*(part_step for part_step, _ in parts))
        terms = tuple(
            (name, factor * part_step // step)
            for part_step, names in parts
            for name, factor in names
        )
        parts = [(step, terms)]
    step = parts[0][0]
    skip = max(0, -(first // step))
    start = first + skip * step
    return parts, start, skip, (shape - 1 - start) // step + 1
