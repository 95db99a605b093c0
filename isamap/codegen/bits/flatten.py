"""A program's calls with all their numbers, by columns.

In: a Program and its machine. Out: calls and host steps, placed in program order. Not its job: what
the machine does with them, bits, tokens that cannot be written.

Loops are opened one node at a time for all iterations at once: `_open` says, per iteration of the
loops outside, how many calls a node makes, and where each call stands among them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Affine, numpy_dtype
from isamap.program import Address, Edge, For, Issue, Node, Program, Span, When

from .call import CallKind, Calls, Column, Form, HostStep, rank


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """All calls in program order; host steps with their places."""

    calls: tuple[Calls, ...]
    steps: tuple[tuple[int, HostStep], ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Iterations of loops: per loop its value and its trip count in each of `size` of them."""

    size: int
    values: Mapping[str, np.ndarray]
    counts: Mapping[str, np.ndarray]

    def take(self, chosen: np.ndarray) -> "_Grid":
        """Some iterations, or some of them several times."""
        values = {name: column[chosen] for name, column in self.values.items()}
        counts = {name: column[chosen] for name, column in self.counts.items()}
        return _Grid(len(chosen), values, counts)


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """The calls of one Issue: the iteration that makes each, of the loops around it (`grid`) and of
    those outside what is open (`owners`), and where it stands among all calls of the owner."""

    issue: Issue
    grid: _Grid
    owners: np.ndarray
    offsets: np.ndarray


def flatten(program: Program, hw: Hardware) -> Flat:
    """Every call in program order.

    Raises:
        ProgramError: a loop is spread over cores.
    """
    _, pieces = _open(program.body, _Grid(1, {}, {}))
    instructions = {item.name: item for item in hw.instructions}
    host_calls = {call.name for call in program.host_calls}
    starts = _starts(pieces)
    calls: list[Calls] = []
    steps: list[tuple[int, HostStep]] = []
    for piece, cycles in zip(pieces, starts, strict=True):
        if piece.issue.instruction in host_calls:
            steps += _host_steps(piece)
        elif len(piece.offsets):
            calls.append(_calls(piece, cycles, instructions[piece.issue.instruction]))
    return Flat(tuple(calls), tuple(sorted(steps, key=lambda step: step[0])))


def _open(body: tuple[Node, ...], grid: _Grid) -> tuple[np.ndarray, list[_Piece]]:
    """How many calls each iteration makes, and the calls."""
    sizes = np.zeros(grid.size, np.int64)
    pieces: list[_Piece] = []
    for node in body:
        own_sizes, own_pieces = _open_node(node, grid)
        pieces += [replace(p, offsets=p.offsets + sizes[p.owners]) for p in own_pieces]
        sizes = sizes + own_sizes
    return sizes, pieces


def _open_node(node: Node, grid: _Grid) -> tuple[np.ndarray, list[_Piece]]:
    match node:
        case Issue():
            ones = np.ones(grid.size, np.int64)
            return ones, [_Piece(node, grid, np.arange(grid.size), np.zeros(grid.size, np.int64))]
        case When(conditions, inner):
            holds = np.ones(grid.size, bool)
            for name, edge in conditions:
                holds &= _at_edge(edge, grid.values[name], grid.counts[name])
            owners = np.flatnonzero(holds)
            return _open_inside(inner, grid.take(owners), owners, grid.size)
        case For(loop, span, inner, spread):
            if spread is not None:
                raise ProgramError(
                    f"loop {loop} is spread over cores: such programs have no binary form",
                    hint="map onto one core of the machine",
                )
            trips = np.maximum(0, _column(_span(span, grid.values), grid.size))
            owners = np.repeat(np.arange(grid.size), trips)
            deeper = grid.take(owners)
            value = np.arange(len(owners)) - np.repeat(np.cumsum(trips) - trips, trips)
            deeper = _Grid(
                len(owners), {**deeper.values, loop: value}, {**deeper.counts, loop: trips[owners]}
            )
            return _open_inside(inner, deeper, owners, grid.size)


def _open_inside(
    body: tuple[Node, ...], grid: _Grid, owners: np.ndarray, size: int
) -> tuple[np.ndarray, list[_Piece]]:
    """The same for a body whose iterations belong, in order, to those of a grid of `size`."""
    sizes, pieces = _open(body, grid)
    ends = np.cumsum(sizes)
    bounds = np.searchsorted(owners, np.arange(size + 1))
    totals = np.diff(np.concatenate([[0], ends])[bounds])
    firsts = ends - sizes - (np.cumsum(totals) - totals)[owners]  # within the owner
    moved = [
        replace(p, owners=owners[p.owners], offsets=p.offsets + firsts[p.owners]) for p in pieces
    ]
    return totals, moved


def _at_edge(edge: Edge, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    match edge:
        case Edge.FIRST:
            return np.asarray(values == 0)
        case Edge.LAST:
            return np.asarray(values == counts - 1)
        case Edge.LATER:
            return np.asarray(values > 0)


def _affine(affine: Affine, values: Mapping[str, np.ndarray]) -> Column:
    total: Column = affine.constant
    for name, factor in affine.terms:
        total = total + factor * values[name]
    return total


def _span(span: Span, values: Mapping[str, np.ndarray]) -> Column:
    if span.total is None:
        return span.limit
    rest = -((_affine(span.offset, values) - span.total) // span.unit)
    return min(span.limit, rest) if isinstance(rest, int) else np.minimum(span.limit, rest)


def _address(address: Address, values: Mapping[str, np.ndarray]) -> Column:
    total = _affine(address.offset, values)
    for turn in address.rotations:
        total = total + _affine(turn.counter, values) % turn.modulo * turn.stride_bytes
    return total


def _column(value: Column, size: int) -> np.ndarray:
    return np.full(size, value) if isinstance(value, int) else value


def _starts(pieces: list[_Piece]) -> list[np.ndarray | None]:
    """Per piece the cycles in which its calls start: an Issue says them in program order, wherever
    in the program it stands."""
    found: list[np.ndarray | None] = [None] * len(pieces)
    same: dict[int, list[int]] = {}
    for number, piece in enumerate(pieces):
        if piece.issue.starts:
            same.setdefault(id(piece.issue), []).append(number)
    for numbers in same.values():
        runs = pieces[numbers[0]].issue.starts
        cycles = np.concatenate([run.first + run.step * np.arange(run.count) for run in runs])
        ranks = rank(np.concatenate([pieces[number].offsets for number in numbers]))
        ends = np.cumsum([len(pieces[number].offsets) for number in numbers])
        for number, part in zip(numbers, np.split(ranks, ends[:-1]), strict=True):
            found[number] = cycles[part]
    return found


def _calls(piece: _Piece, starts: np.ndarray | None, instruction: Instruction) -> Calls:
    issue, values = piece.issue, piece.grid.values
    found: dict[str, Column] = dict(_immediates(issue, instruction))
    for operand in issue.operands:
        found[operand.name] = _address(operand.address, values)
        indices = instruction.access(operand.name).indices
        strides: dict[str, int] = {}
        for index, stride in zip(indices, operand.strides_bytes, strict=True):
            for loop, coefficient in index.terms:
                name = f"{operand.name}.{loop}"
                strides[name] = strides.get(name, 0) + coefficient * stride
        found |= strides
    for repeat in issue.repeats:
        found[repeat.name] = _span(repeat.span, values)
        for operand, stride in zip(issue.operands, repeat.strides_bytes, strict=True):
            found[f"{operand.name}.{repeat.name}"] = stride
    for name, span in issue.extents:
        found[name] = _span(span, values)
    form = Form(CallKind.INSTRUCTION, issue.instruction, issue.pops, issue.pushes)
    return Calls(form, piece.offsets, found, starts)


def _immediates(issue: Issue, instruction: Instruction) -> Iterator[tuple[str, int]]:
    for name, value in issue.immediates:
        dtype = instruction.immediate(name).dtype
        yield name, (int(value) if dtype is None else float_bits(value, dtype))


def float_bits(value: int | float, dtype: str) -> int:
    """The bits of a number in a float type, as an unsigned integer."""
    return int.from_bytes(numpy_dtype(dtype).type(value).tobytes(), "little")


def _host_steps(piece: _Piece) -> Iterator[tuple[int, HostStep]]:
    places = [
        _column(_address(o.address, piece.grid.values), piece.grid.size)
        for o in piece.issue.operands
    ]
    for number, offset in enumerate(piece.offsets):
        operands = tuple(
            (operand.name, int(place[number]), operand.strides_bytes)
            for operand, place in zip(piece.issue.operands, places, strict=True)
        )
        yield int(offset), HostStep(piece.issue.instruction, operands)
