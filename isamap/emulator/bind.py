"""A program bound to a machine: everything about a call that both executions and both modes need.

In: a Program that `check_program` accepts, its Hardware. Out: a Bound program: numbered calls,
units, ports, channels, memory extents and granules. Not its job: executing, timing, C text.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd

from isamap.hwdesc import (
    ExtentKind,
    Hardware,
    Instruction,
    continued_by,
    with_host_calls,
)
from isamap.ir import Affine, Role
from isamap.program import Issue, Placement, Program, Span

from .check import check_program
from .cores import Site, SpreadLoops, find_site
from .ranges import Interval, address_divisor, address_interval, span_divisor, span_interval
from .region import Dim, Region, deal_ports, find_regions
from .walk_issues import walk_issues

# per memory the bytes calls may touch: all, or in the external memory the placements
Allowed = tuple[tuple[str, tuple[Interval, ...]], ...]


@dataclass(frozen=True, slots=True)
class PortUse:
    """Which regions of a call pass a port: (region number, times); position in `Bound.ports`."""

    port: int
    regions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One Issue with its numbers. `loops`: enclosing loops, outermost first, with their largest
    extents. `site`: the cores it acts on. `later`: loops of whose iterations it leaves out the
    first."""

    number: int
    issue: Issue
    instruction: Instruction
    unit: int
    loops: tuple[tuple[str, int], ...]
    regions: tuple[Region, ...]
    ports: tuple[PortUse, ...]
    pops: tuple[int, ...]
    pushes: tuple[int, ...]
    site: Site = Site()
    sums: str = ""  # the instruction that adds to the same sums: itself, or the one that it opens
    later: tuple[str, ...] = ()

    @property
    def spans(self) -> tuple[tuple[str, Span], ...]:
        """Extents and repeat extents, by name."""
        return self.issue.extents + tuple((r.name, r.span) for r in self.issue.repeats)

    def accumulates(self, region: Region) -> bool:
        """May this update follow one of the same sums after that one's `accumulate_cycles`?"""
        is_update = region.is_read and region.is_written
        return is_update and self.instruction.accumulate_cycles is not None

    def is_continued(self, region: Region) -> bool:
        """May an update of the same sums follow after `accumulate_cycles` here?"""
        is_opened = region.is_written and self.sums != self.instruction.name
        has_distance = self.instruction.accumulate_cycles is not None
        return self.accumulates(region) or (is_opened and has_distance)

    @property
    def stream_cycles(self) -> int:
        """From iteration to iteration of the loop whose iterations follow each other."""
        return self.instruction.stream.every_cycles if self.instruction.stream else 0

    def stream_dim(self, region: Region) -> Dim | None:
        """The direction in which iterations follow each other, if the region moves with them."""
        stream = self.instruction.stream
        if stream is None:
            return None
        alone = ((stream.loop, 1),)
        found = (dim for dim in region.dims if dim.terms == alone and dim.stride_bytes)
        return next((dim for dim in found if not dim.skip and dim.limit is None), None)


@dataclass(frozen=True, slots=True)
class PortRate:
    """A port and its bytes per cycle as an exact fraction."""

    memory: str
    name: str
    rate: Fraction


@dataclass(frozen=True, slots=True)
class Extent:
    """The part of a memory that the program can touch, and how finely.

    `size_bytes`: end of the last byte that calls may touch. `granule_bytes` divides every start and
    length of an access. `hazards`: the bytes whose order matters (those written, and what is read
    around them); None: nothing is written.
    """

    memory: str
    size_bytes: int
    granule_bytes: int
    hazards: Interval | None


@dataclass(frozen=True, slots=True)
class Bound:
    """A program that passed the static checks, with everything looked up."""

    program: Program
    hardware: Hardware
    calls: tuple[Call, ...]
    extents: tuple[Extent, ...]
    ports: tuple[PortRate, ...]
    allowed: Allowed

    @property
    def is_exposed(self) -> bool:
        """Does the hardware wait for nothing?"""
        return self.hardware.is_exposed

    @property
    def is_timed(self) -> bool:
        """Does the program say when its calls start?"""
        return any(call.issue.starts for call in self.calls)

    def extent(self, memory: str) -> Extent:
        """The extent of the memory called `memory`."""
        return self.extents[self.extent_number(memory)]

    def extent_number(self, memory: str) -> int:
        """Its number among all extents."""
        return [extent.memory for extent in self.extents].index(memory)


def bind(program: Program, hardware: Hardware) -> Bound:
    """Check `program` against `hardware` and look everything up; raises ProgramError."""
    hardware = with_host_calls(hardware, program.host_calls)
    check_program(program, hardware)
    ports = tuple(
        PortRate(memory.name, port.name, Fraction(port.bytes_per_cycle).limit_denominator(10**6))
        for memory in hardware.memories
        for port in memory.ports
    )
    calls = tuple(
        _bind_call(number, issue, dict(loops), spread, later, hardware, ports)
        for number, (issue, loops, spread, later) in enumerate(walk_issues(program.body))
    )
    allowed = tuple(
        (
            memory.name,
            _merge_intervals(program.inputs + program.outputs + program.scratch)
            if memory == hardware.external
            else ((0, memory.size_bytes),),
        )
        for memory in hardware.memories
    )
    extents = tuple(_extent(memory.name, allowed, calls) for memory in hardware.memories)
    return Bound(program, hardware, calls, extents, ports, allowed)


def _bind_call(
    number: int,
    issue: Issue,
    loops: dict[str, int],
    spread: SpreadLoops,
    later: tuple[str, ...],
    hardware: Hardware,
    ports: tuple[PortRate, ...],
) -> Call:
    instruction = hardware.instruction(issue.instruction)
    regions = find_regions(instruction, issue)
    units = [unit.name for unit in hardware.units]
    channels = [channel.name for channel in hardware.channels]
    return Call(
        number,
        issue,
        instruction,
        units.index(instruction.unit),
        tuple(loops.items()),
        regions,
        _port_uses(regions, hardware, ports),
        tuple(channels.index(name) for name in issue.pops),
        tuple(channels.index(name) for name in issue.pushes),
        find_site(instruction, spread, hardware),
        continued_by(instruction, hardware).name,
        later,
    )


def _port_uses(
    regions: tuple[Region, ...], hardware: Hardware, ports: tuple[PortRate, ...]
) -> tuple[PortUse, ...]:
    names = [(port.memory, port.name) for port in ports]
    uses = {names.index(key): dealt for key, dealt in deal_ports(regions, hardware).items()}
    return tuple(PortUse(number, uses[number]) for number in sorted(uses))


def _merge_intervals(placements: tuple[Placement, ...]) -> tuple[Interval, ...]:
    """Bytes covered by placements, as ascending [first, end) intervals; those that overlap become
    one."""
    merged: list[Interval] = []
    for first, end in sorted((p.address, p.end) for p in placements):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((first, end))
    return tuple(merged)


def loose_hull(call: Call, region: Region) -> Interval | None:
    """Bytes [first, end) that a region may touch, each part of its address taken by itself; None
    when empty."""
    loops = dict(call.loops)
    most = {name: max(1, span_interval(span, loops)[1]) for name, span in call.spans}
    around = region.hull(most)
    if around is None:
        return None
    address = call.issue.operands[region.operand].address
    ahead = {loop: Affine.of([(loop, 1)], 1) for loop in call.later}
    address = replace(address, offset=address.offset.substitute(ahead))
    low, high = address_interval(address, {n: x - (n in ahead) for n, x in loops.items()})
    return low + around[0], high + around[1]


def allowed_intervals(bound_allowed: Allowed, call: Call, region: Region) -> tuple[Interval, ...]:
    """Where a region must stay: in the external memory, within the placement its lowest address is
    in."""
    intervals = dict(bound_allowed)[region.memory]
    hull = loose_hull(call, region)
    home = tuple(pair for pair in intervals if hull and pair[0] <= hull[0] < pair[1])
    return home or intervals


def takes_turns(bound: Bound, call: Call) -> bool:
    """Does nothing else run on the machine while the call does?"""
    host = bound.hardware.host
    return host is not None and not host.is_apart and call.instruction.unit == host.unit


def call_hull(allowed: Allowed, call: Call, region: Region) -> Interval | None:
    """Bytes [first, end) of the memory that a region touches in legal iterations; None when
    empty."""
    hull = loose_hull(call, region)
    if hull is None:
        return None
    intervals = allowed_intervals(allowed, call, region)
    if not intervals:
        return hull
    return max(hull[0], intervals[0][0]), min(hull[1], intervals[-1][1])


def _extent(memory: str, allowed: Allowed, calls: tuple[Call, ...]) -> Extent:
    touched = [
        (region, hull, _region_divisor(call, region))
        for call in calls
        for region in call.regions
        if region.memory == memory and (hull := call_hull(allowed, call, region)) is not None
    ]
    granule = gcd(*(divisor for _, _, divisor in touched))
    intervals = dict(allowed)[memory]
    granule = max(1, gcd(granule, *(end for pair in intervals for end in pair)))
    size = max((end for _, end in intervals), default=0)
    written = [hull for region, hull, _ in touched if region.is_written]
    if not written:
        return Extent(memory, size, granule, None)
    low, high = min(first for first, _ in written), max(last for _, last in written)
    before = None
    while before != (low, high):  # what overlaps it may in turn overlap more
        before = (low, high)
        for _, (first, last), _ in touched:
            if first < high and low < last:
                low, high = min(low, first), max(high, last)
    return Extent(memory, size, granule, (low // granule * granule, high))


def by_repeat(bound: Bound) -> Bound:
    """The same program with granules that also divide what one repeat of a call touches."""
    extents = []
    for extent in bound.extents:
        granule = extent.granule_bytes
        for call in bound.calls:
            for region in call.regions:
                if region.memory == extent.memory and region.repeats:
                    once = replace(region, repeats=())
                    strides = (dim.stride_bytes for dim in region.repeats)
                    granule = gcd(granule, _region_divisor(call, once), *strides)
        extents.append(replace(extent, granule_bytes=granule))
    return replace(bound, extents=tuple(extents))


def _region_divisor(call: Call, region: Region) -> int:
    """The largest number known to divide every start and gapless length of a region."""
    operand = call.issue.operands[region.operand]
    divisor = gcd(address_divisor(operand.address), region.start_bytes)
    spans = dict(call.spans)
    run = region.item_bytes
    is_open = True
    apart = call.stream_dim(region)
    for dim in sorted(region.all_dims, key=lambda dim: dim.stride_bytes):
        if _is_single(dim, spans):
            continue
        if dim is apart:
            divisor = gcd(divisor, dim.stride_bytes)
            continue
        if is_open and dim.stride_bytes == run:
            count = _count_divisor(dim, spans)
            is_open = all(spans[name].total is None for name, _ in dim.terms)
            run *= count
        else:
            divisor = gcd(divisor, dim.stride_bytes)
            is_open = False
    return gcd(divisor, run)


def _is_single(dim: Dim, spans: dict[str, Span]) -> bool:
    """Does the direction have one position in every call?"""
    return all(spans[name].total is None and spans[name].limit == 1 for name, _ in dim.terms)


def _count_divisor(dim: Dim, spans: dict[str, Span]) -> int:
    if all(spans[name].total is None for name, _ in dim.terms):
        return max(1, dim.count({name: spans[name].limit for name, _ in dim.terms}))
    if len(dim.terms) == 1 and dim.limit is None and dim.terms[0][1] == 1 and not dim.skip:
        return span_divisor(spans[dim.terms[0][0]])
    return 1


def widest_extents(calls: tuple[Call, ...], name: str) -> dict[str, int]:
    """The largest extent of each loop over all calls of the instruction called `name`."""
    most: dict[str, int] = {}
    for call in calls:
        if call.instruction.name == name:
            for loop, span in call.spans:
                limit = max(1, span_interval(span, dict(call.loops))[1])
                most[loop] = max(limit, most.get(loop, 1))
    return most


def is_always_allowed(call: Call, loop: str) -> bool:
    """Is the extent of an instruction's loop legal in every iteration?"""
    rule = call.instruction.extent(loop)
    low, high = span_interval(dict(call.spans)[loop], dict(call.loops))
    if low == high:
        return rule.allows(low)
    return rule.kind is ExtentKind.AT_MOST and low >= 1 and high <= rule.maximum


def touched_shape(call: Call, buffer: str, most: dict[str, int]) -> tuple[int, ...]:
    """Shape of the smallest array that holds every element a call with extents `most` touches."""
    kernel = call.instruction.semantics
    shape = list(kernel.buffer(buffer).shape)
    if kernel.buffer(buffer).role is Role.TEMP:
        return tuple(shape)
    reach = [0] * len(shape)
    names = [operand.name for operand in call.instruction.operands]
    for region in call.regions:
        if names[region.operand] == buffer:
            ends = list(region.origin)
            for dim in region.dims:
                ends[dim.axis] += dim.step * (dim.count(most) - 1)
            reach = [max(pair) for pair in zip(reach, ends)]
    return tuple(min(size, last + 1) for size, last in zip(shape, reach))


def may_race(bound: Bound, call: Call, region: Region) -> bool:
    """Can two cores write the same bytes through this call?"""
    is_shared = bound.hardware.num_copies(region.memory) == 1
    return region.is_written and is_shared and bool(call.site.core.terms)


def writer_number(bound: Bound, call: Call, core: int) -> int:
    """A number for a core at a call, never 0."""
    return (call.number + 1) * bound.hardware.num_cores + core
