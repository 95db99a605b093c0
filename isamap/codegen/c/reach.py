"""Which bytes of memories calls touch.

In: nodes for C, values of the loops around them. Out: per call the loops' values around it, per
operand the first and the last byte. Not its job: whether calls may change places (`roll`,
`join_copies`), how large arrays are (`arrays`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from isamap.hwdesc import Hardware
from isamap.ir import Kernel, size_bytes
from isamap.program import Issue, Operand

from .nodes import CCall, CHint, CIf, CLoop, CNode, CRegion, CShare, CTurn

Ranges = Mapping[str, tuple[int, int]]  # the first and the last value of loops around a node


@dataclass(frozen=True, slots=True)
class Reach:
    """Bytes `first` to `last` of an operand, counted from its address on, that a call may touch."""

    operand: Operand
    first: int
    last: int
    is_written: bool

    def within(self, ranges: Ranges) -> tuple[int, int]:
        """First and last byte of its memory over all values of the loops around the call."""
        low, high = self.operand.address.interval(ranges)
        return low + self.first, high + self.last


def calls_within(nodes: Iterable[CNode], ranges: Ranges) -> Iterator[tuple[Issue, Ranges]]:
    """Every call with the values of the loops around it; `ranges`: of those around the nodes."""
    for node in nodes:
        match node:
            case CCall(issue):
                yield issue, ranges
            case CLoop(name, first, _, body):
                yield from calls_within(body, {**ranges, name: (first, node.limit - 1)})
            case CRegion(body, loops):
                cores = {loop.name: (0, loop.limit - 1) for loop in loops}
                yield from calls_within(body, {**ranges, **cores})
            case CIf() | CShare() | CTurn():
                yield from calls_within(node.body, ranges)
            case CHint():
                pass  # for caches
            case _:
                assert_never(node)


def reaches(issue: Issue, hw: Hardware) -> Iterator[Reach]:
    """What a call touches, as long as it may be: per operand, each place where its semantics reads
    or writes it."""
    instruction = hw.instruction(issue.instruction)
    semantics = instruction.semantics
    written = {statement.target.buffer for statement in semantics.statements}
    loops = {name: (0, span.limit - 1) for name, span in issue.extents}
    for operand in issue.operands:
        for access in instruction.uses:
            if access.buffer == operand.name:
                values = [index.interval(loops) for index in access.indices]
                first, last = _ends(operand, values, semantics)
                yield Reach(operand, first, last, operand.name in written)


def whole_reach(operand: Operand, semantics: Kernel) -> tuple[int, int]:
    """First and last byte, from the address on, of all that an operand's shape holds: the text of a
    shorter call may touch as much."""
    shape = semantics.buffer(operand.name).shape
    return _ends(operand, [(0, extent - 1) for extent in shape], semantics)


def _ends(operand: Operand, indices: list[tuple[int, int]], semantics: Kernel) -> tuple[int, int]:
    first, last = 0, size_bytes(semantics.buffer(operand.name).dtype) - 1
    for values, stride in zip(indices, operand.strides_bytes, strict=True):
        low, high = sorted(stride * value for value in values)
        first, last = first + low, last + high
    return first, last
