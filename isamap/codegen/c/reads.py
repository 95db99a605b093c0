"""What the calls of a loop's body read in arrays.

In: nodes for C, the machine. Out: their bytes by how loops move them, in runs without gaps, line by
line. Not its job: which lines are asked for early (`prefetch`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from isamap.hwdesc import Hardware
from isamap.ir import size_bytes
from isamap.program import Operand

from .nodes import CCall, CLoop, CNode

Terms = tuple[tuple[str, int], ...]
Place = tuple[str, Terms]  # of reads that differ by constants: the memory, and how loops move them


@dataclass(frozen=True, slots=True)
class Read:
    """Bytes `first` to `last` that call `number` reads at an operand, in a row of its own if the
    operand's rows lie apart, where all loops are at 0."""

    number: int
    operand: Operand
    first: int
    last: int


def reads_by_terms(body: tuple[CNode, ...], hw: Hardware, line: int) -> dict[Place, list[Read]]:
    """What calls read in the external memory, or in one within it, by memory and how loops move it;
    lowest addresses first."""
    places = {hw.external.name} | {m.name for m in hw.memories if m.within == hw.external.name}
    found: dict[Place, list[Read]] = {}
    for number, node in enumerate(body):
        if not isinstance(node, CCall):
            continue
        instruction = hw.instruction(node.issue.instruction)
        written = {s.target.buffer for s in instruction.semantics.statements}
        extents = {name: span.limit for name, span in node.issue.extents}
        for operand in node.issue.operands:
            address = operand.address
            if operand.memory not in places or operand.name in written or address.rotations:
                continue
            size = size_bytes(instruction.semantics.buffer(operand.name).dtype)
            starts = [address.offset.constant]
            indices = instruction.access(operand.name).indices
            for index, stride in zip(indices, operand.strides_bytes, strict=True):
                for step, count in ((stride * c, extents[name]) for name, c in index.terms):
                    if step > line:
                        starts = [start + step * n for n in range(count) for start in starts]
                    else:
                        size += step * (count - 1)
            rows = found.setdefault((operand.memory, address.offset.terms), [])
            rows += [Read(number, operand, first, first + size - 1) for first in starts]
    return {key: sorted(reads, key=lambda r: r.first) for key, reads in found.items()}


def reads_within(
    nodes: tuple[CNode, ...], hw: Hardware, line: int, inside: tuple[CLoop, ...]
) -> Iterator[tuple[Place, list[Read], tuple[CLoop, ...]]]:
    """What calls read that move alike, with the loops that they are in, the innermost first."""
    for place, reads in reads_by_terms(nodes, hw, line).items():
        yield place, reads, inside
    for node in nodes:
        if isinstance(node, CLoop):
            yield from reads_within(node.body, hw, line, (node, *inside))


def runs_of(reads: list[Read]) -> list[list[Read]]:
    """Reads that leave no gap between them."""
    runs = [[reads[0]]]
    for read in reads[1:]:
        if read.first <= max(r.last for r in runs[-1]) + 1:
            runs[-1].append(read)
        else:
            runs.append([read])
    return runs


def span_bytes(reads: list[Read]) -> int:
    """From the first byte that they read to the last."""
    return max(read.last for read in reads) - reads[0].first + 1


def lines_of(run: list[Read], line: int, grid: int) -> tuple[int, ...]:
    """A byte in each line that the run may touch where loops move it by multiples of `grid`: one
    line more if it may begin late in the first one."""
    first, last = run[0].first, max(r.last for r in run)
    latest = first % grid + line - grid  # in its line
    inside = tuple(max(place, first) for place in range(first - first % grid, last + 1, line))
    num_lines = (latest + last - first) // line + 1
    return inside if len(inside) >= num_lines else (*inside, last)


def new_lines(run: list[Read], line: int, step: int) -> range:
    """A byte in each line of the run that the iteration before did not touch."""
    first, end = run[0].first, max(r.last for r in run) + 1
    return range(max(first, end - step), end, line) if step > 0 else range(first, end, line)


def touched_bytes(reads: list[Read], loops: tuple[CLoop, ...], line: int) -> int:
    """Bytes of the lines that reads touch while loops run, the innermost first."""
    runs = runs_of(reads)
    length, rows = max(span_bytes(run) for run in runs), len(runs)
    for loop in loops:
        step = abs(reads[0].operand.address.offset.coefficient(loop.name))
        if step <= max(length, line):
            length += step * (length_of(loop) - 1)
        else:
            rows *= length_of(loop)
    return rows * ceil(length / line) * line


def walked_bytes(terms: Terms, loops: tuple[CLoop, ...]) -> int:
    """Bytes from the first place to the last one, loops of unknown length at their longest."""
    counts = {x.name: x.limit for x in loops}
    return sum(abs(step) * counts.get(name, 1) for name, step in terms)


def length_of(loop: CLoop) -> int:
    """Iterations of a loop, at most."""
    return loop.limit - loop.first
