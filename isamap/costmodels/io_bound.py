"""Bytes that must pass between the external memory and a chip that holds only so much.

In: a kernel of one statement, a machine. Out: bytes read and written that no program goes below.
Not its job: cycles (`roofline`), what a schedule moves (`analytical`).

Derivation (after Hong and Kung, STOC 1981; Irony, Toledo and Tiskin, 2004; Smith et al., "A tight
I/O lower bound for matrix multiplication", 2017). The chip holds S bytes. Cut a program, call by
call and element by element, into phases of T bytes that are read or *begun*: an element of the
result that is begun on chip (a sum of zero) was not read. What a phase touches was on chip when it
began, or was read or begun in it: with N_j elements of b_j bytes touched through access j,

    sum over j of b_j N_j <= S + T.

The iterations V of the phase are bounded by the elements they touch (Loomis and Whitney; Brascamp
and Lieb): with exponents s_j such that every loop's accesses have a sum of exponents of at least 1,
|V| <= product of N_j^s_j, because each access tells some loops apart. A dimension that two loops
slide over (y + r) tells only one apart while the other stands still; over the Z values of such
loops, Hoelder's inequality gives the factor Z^(1 - s), s being the sum of exponents of the accesses
that tell all of them apart (at most 1). So a phase has at most F(S + T) iterations, and if a
program has n of them, at least ceil(n / F) - 1 phases are full. A product of matrices of m x k and
k x n elements of one size b has F = ((S + T) / 3b)^1.5; with T = 2S the bound is close to
2 m n k b^1.5 / sqrt(S) - 2S, which is Smith's constant.

Results that start as zeros are begun once, as the scheduler's programs do (once per core where
there are several): their bytes are taken off the bound. Results that also are inputs are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil, inf, prod

from isamap.hwdesc import Hardware, MemoryKind
from isamap.ir import Access, Kernel, Role, Statement, size_bytes

from .compulsory import compulsory_bytes

PHASES = tuple(2.0 ** (step / 4) for step in range(-16, 17))  # bytes of a phase, as shares of S
EXPONENTS = (0.0, 0.5, 1.0)  # enough where each loop moves at most two accesses, valid everywhere
MAX_ACCESSES = 5
MAX_POINTS = 2**20  # of a sliding dimension, counted one by one


@dataclass(frozen=True, slots=True)
class _Touch:
    """What an access touches: loops that it tells apart, bytes of an element, elements at most.

    `slices`: loops that slide elsewhere and that a dimension of their own tells apart here.
    """

    loops: frozenset[str]
    slices: frozenset[str]
    element_bytes: int
    most: int


def least_traffic(kernel: Kernel, hw: Hardware) -> tuple[int, int]:
    """Bytes that every program reads from the external memory, and writes: each byte once, and
    again as often as the chip's room makes necessary."""
    read, written = compulsory_bytes(kernel)
    if len(kernel.statements) != 1:
        return read, written  # results of one may stay on chip for the other
    statement = kernel.statements[0]
    begun = _begun_bytes(kernel, statement, hw)
    needed = moved_bytes(kernel, chip_bytes(hw)) - begun
    return max(read, needed), written


def chip_bytes(hw: Hardware) -> int:
    """Bytes that all memories but the external one hold, with the operands of one call that reads
    the external memory itself."""
    held = sum(
        memory.size_bytes * hw.num_copies(memory.name)
        for memory in hw.memories
        if memory.kind is not MemoryKind.EXTERNAL
    )
    latched = max(
        sum(
            prod(buffer.shape) * size_bytes(buffer.dtype)
            for buffer in instruction.semantics.buffers
            if buffer.role is not Role.TEMP
            and instruction.operand(buffer.name).memory == hw.external.name
        )
        for instruction in hw.instructions
    )
    return held + latched * hw.num_cores


def moved_bytes(kernel: Kernel, room_bytes: int) -> int:
    """Bytes that a kernel of one statement reads or begins at least, with so much room on chip."""
    statement = kernel.statements[0]
    used = list(dict.fromkeys(statement.accesses))
    names = [access.buffer for access in used]
    if len(set(names)) < len(names) or len(used) > MAX_ACCESSES:
        return 0  # one element would serve two accesses
    points = _points(kernel, statement, used)
    sliding = _sliding(statement, used)
    touches = [_touch(kernel, access, sliding) for access in used]
    extents = statement.extents
    best = 0
    for exponents in _exponents(touches, set(extents) - sliding):
        told = sum(
            s for s, touch in zip(exponents, touches, strict=True) if sliding <= touch.slices
        )
        factor = prod(extents[name] for name in sliding) ** max(0.0, 1 - told)
        best = max(best, _bound(points / factor, touches, exponents, room_bytes))
    return best


def _begun_bytes(kernel: Kernel, statement: Statement, hw: Hardware) -> int:
    """Bytes of results that may be on chip without having been read."""
    buffer = kernel.buffer(statement.target.buffer)
    times = hw.num_cores - (buffer.role is Role.INOUT)
    return times * prod(buffer.shape) * size_bytes(buffer.dtype)


def _points(kernel: Kernel, statement: Statement, used: list[Access]) -> int:
    """Iterations that read no padding; 0 where they cannot be counted dimension by dimension."""
    extents = statement.extents
    points, seen = 1, set[str]()
    for access in used:
        shape = kernel.buffer(access.buffer).shape
        for index, size in zip(access.indices, shape, strict=True):
            if access.pad is None or not index.names:
                continue
            names = set(index.names)
            if names & seen or prod(extents[name] for name in names) > MAX_POINTS:
                return 0
            seen |= names
            steps = [range(0, c * extents[n], c) for n, c in index.terms]
            values = (index.constant + sum(point) for point in product(*steps))
            points *= sum(0 <= value < size for value in values)
    return points * prod(extent for name, extent in extents.items() if name not in seen)


def _sliding(statement: Statement, used: list[Access]) -> frozenset[str]:
    """In every dimension that several loops move, all of them but the longest."""
    extents = statement.extents
    sliding: set[str] = set()
    for access in used:
        for index in access.indices:
            moving = sorted(index.names, key=lambda name: -extents[name])
            sliding.update(moving[1:])
    return frozenset(sliding)


def _touch(kernel: Kernel, access: Access, sliding: frozenset[str]) -> _Touch:
    buffer = kernel.buffer(access.buffer)
    alone = {index.names[0] for index in access.indices if len(index.names) == 1}
    return _Touch(
        frozenset(name for index in access.indices for name in index.names) - sliding,
        frozenset(alone & sliding),
        size_bytes(buffer.dtype),
        prod(buffer.shape),
    )


def _exponents(touches: list[_Touch], loops: set[str]) -> Iterator[tuple[float, ...]]:
    """Exponents under which the accesses tell every loop apart."""
    for exponents in product(EXPONENTS, repeat=len(touches)):
        pairs = list(zip(exponents, touches, strict=True))
        if all(sum(s for s, touch in pairs if name in touch.loops) >= 1 for name in loops):
            yield exponents


def _bound(
    points: float, touches: list[_Touch], exponents: tuple[float, ...], room_bytes: int
) -> int:
    """Bytes of all full phases, for the best length of a phase."""
    coarsest = max(touch.element_bytes for touch in touches)
    used = [(s, touch) for s, touch in zip(exponents, touches, strict=True) if s]
    best = 0.0
    for share in PHASES:
        phase = max(1.0, share * room_bytes)
        most = _most_points(used, room_bytes + phase)
        best = max(best, (ceil(points / most * (1 - 1e-9)) - 1) * (phase - coarsest + 1))
    return ceil(best)


def _most_points(used: list[tuple[float, _Touch]], budget: float) -> float:
    """The largest product of N_j^s_j with sum b_j N_j <= budget and no N_j above its `most`.

    Without the caps each access takes its exponent's share of the bytes; one whose cap is below
    that takes the cap, and the others share the rest.
    """
    free = list(used)
    result = 1.0
    while free:
        total = sum(s for s, _ in free)
        capped = [(s, t) for s, t in free if t.most * t.element_bytes < budget * s / total]
        if not capped:
            for share, touch in free:
                result *= max(budget * share / total / touch.element_bytes, 1.0) ** share
            return result
        for pair in capped:
            free.remove(pair)
            budget -= pair[1].most * pair[1].element_bytes
            result *= float(pair[1].most) ** pair[0]
    return result if used else inf
