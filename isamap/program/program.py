"""Program: the hourglass between what decides and what executes.

In: nothing but these nodes. Out: frozen values. Not its job: how it was decided, what it costs,
text (`pretty`), JSON.

Meaning. A program is one sequence of calls, in program order: `For` repeats its body, `When` keeps
calls of the first, last or later iterations of named loops, `Issue` is one call of an instruction.
Each call goes to the queue of its instruction's unit; a queue runs its calls in program order,
queues run beside each other (see docs/timing.md). All addresses and strides are bytes.

Cores. On a machine with several cores a call belongs to one of them: its position along an axis is
the sum of step * value over the enclosing loops spread over that axis, 0 without any. It runs on
that core's unit and touches that core's memories, if they are the core's own. A multicast call is
outside every loop spread over an axis of its `multicast`, and writes to all cores along it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol, assert_never

from isamap.ir import Affine, Kernel

from .layout import Layout


@dataclass(frozen=True, slots=True)
class Span:
    """A count known at run time: min(limit, ceil((total - offset) / unit)); just `limit` when total
    is None.

    `offset` is affine in enclosing loops. Programs guarantee a value of at least 1.
    """

    limit: int
    total: int | None = None
    offset: Affine = Affine()
    unit: int = 1

    def value(self, values: Mapping[str, int]) -> int:
        """The count, with every enclosing loop's value given; may be below 1 in a wrong program."""
        if self.total is None:
            return self.limit
        return min(self.limit, -((self.offset.evaluate(values) - self.total) // self.unit))

    def substitute(self, values: Mapping[str, Affine]) -> "Span":
        """With loops replaced; itself where it names none of them: most do not."""
        offset = self.offset.substitute(values)
        return self if offset is self.offset else replace(self, offset=offset)


class Edge(Enum):
    """Which iteration of a loop."""

    FIRST = "first"
    LAST = "last"
    LATER = "later"  # any but the first

    def holds(self, value: int, count: int) -> bool:
        """Is a loop of `count` iterations, now at `value`, there?"""
        match self:
            case Edge.FIRST:
                return value == 0
            case Edge.LAST:
                return value == count - 1
            case Edge.LATER:
                return value > 0
            case _:
                assert_never(self)


@dataclass(frozen=True, slots=True)
class Rotation:
    """Multi-buffering: adds (counter mod modulo) * stride_bytes to an address; counter >= 0 is
    affine in enclosing loops."""

    counter: Affine
    modulo: int
    stride_bytes: int


@dataclass(frozen=True, slots=True)
class Address:
    """offset (affine in enclosing loops, its constant is the base) + the rotations, in bytes."""

    offset: Affine
    rotations: tuple[Rotation, ...] = ()

    def value(self, values: Mapping[str, int]) -> int:
        """The byte address, with every enclosing loop's value given."""
        turns = sum(
            rotation.counter.evaluate(values) % rotation.modulo * rotation.stride_bytes
            for rotation in self.rotations
        )
        return self.offset.evaluate(values) + turns

    def substitute(self, values: Mapping[str, Affine]) -> "Address":
        """As of a `Span`; rotations that become constant are added to the offset."""
        offset = self.offset.substitute(values)
        if offset is self.offset and not self.rotations:
            return self
        rotations = []
        for rotation in self.rotations:
            counter = rotation.counter.substitute(values)
            if counter.terms:
                rotations.append(Rotation(counter, rotation.modulo, rotation.stride_bytes))
            else:
                offset = offset + counter.constant % rotation.modulo * rotation.stride_bytes
        return Address(offset, tuple(rotations))

    def interval(self, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Smallest and largest value where each loop runs from the first to the second number, and
        every rotation through all its places."""
        low, high = self.offset.interval(ranges)
        for rotation in self.rotations:
            turn = (rotation.modulo - 1) * rotation.stride_bytes
            low, high = low + min(turn, 0), high + max(turn, 0)
        return low, high


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand of a call: where element (0, .., 0) lies and the byte stride of each operand
    dimension."""

    name: str
    memory: str
    address: Address
    strides_bytes: tuple[int, ...]

    def substitute(self, values: Mapping[str, Affine]) -> "Operand":
        """As of a `Span`."""
        address = self.address.substitute(values)
        return self if address is self.address else replace(self, address=address)


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often a hardware loop of the instruction runs, and each operand's step (in the order of
    `Issue.operands`)."""

    name: str
    span: Span
    strides_bytes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Cycles first, first + step, .. in which `count` consecutive executions of an Issue start."""

    first: int
    step: int
    count: int


@dataclass(frozen=True, slots=True)
class Issue:
    """One call (or, inside loops, a family of calls) of an instruction.

    `operands` in the order of the instruction's operands. `extents`: (instruction loop, count) for
    every loop of the semantics.
    `repeats`: one per RepeatRule of the instruction, outermost first (span 1 where unused).
    `pops`: channels to take one token from before starting; `pushes`: channels to put one token
    into when finished.
    `starts`: on machines with exposed timing, the cycle in which each execution starts, in program
    order; empty elsewhere, and before the calls are timed.
    `task`: the number of the kernel's task it is for, where a program has several: for people only.
    """

    instruction: str
    operands: tuple[Operand, ...]
    extents: tuple[tuple[str, Span], ...]
    repeats: tuple[Repeat, ...] = ()
    immediates: tuple[tuple[str, int | float], ...] = ()
    pops: tuple[str, ...] = ()
    pushes: tuple[str, ...] = ()
    starts: tuple[Run, ...] = ()
    task: int | None = field(default=None, compare=False)

    def substitute(self, values: Mapping[str, Affine]) -> "Issue":
        """With loops replaced in its addresses and counts."""
        return replace(
            self,
            operands=tuple(operand.substitute(values) for operand in self.operands),
            extents=tuple((loop, span.substitute(values)) for loop, span in self.extents),
            repeats=tuple(replace(r, span=r.span.substitute(values)) for r in self.repeats),
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """Each iteration of a loop is one core's: its position along `axis` of the grid of cores
    advances by `step` per iteration."""

    axis: str
    step: int = 1


@dataclass(frozen=True, slots=True)
class For:
    """Run `body` for `loop` = 0 .. span-1. Loop names are unique along any path.

    `spread`: the iterations are shared out over cores; None: the same core runs all of them.
    """

    loop: str
    span: Span
    body: tuple["Node", ...]
    spread: Spread | None = None


@dataclass(frozen=True, slots=True)
class When:
    """Run `body` only if every named enclosing loop is at its first / last / a later iteration
    (last: value == its span - 1; later: value > 0)."""

    conditions: tuple[tuple[str, Edge], ...]
    body: tuple["Node", ...]


Node = For | When | Issue


class Block(Protocol):
    """A node that holds others: `For`, `When`, and what executors add to them."""

    @property
    def body(self) -> tuple["Issue | Block", ...]: ...


def issues(body: tuple[Issue | Block, ...]) -> Iterator[Issue]:
    """Every call that the text of `body` holds, in its order."""
    for node in body:
        if isinstance(node, Issue):
            yield node
        else:
            yield from issues(node.body)


def map_issues(body: tuple[Node, ...], change: Callable[[Issue], Issue]) -> tuple[Node, ...]:
    """The nodes with every call replaced by `change` of it, in the order of `issues`."""
    return tuple(
        change(node)
        if isinstance(node, Issue)
        else replace(node, body=map_issues(node.body, change))
        for node in body
    )


def surrounded_issues(
    body: tuple[Issue | Block, ...], around: tuple[Block, ...] = ()
) -> Iterator[tuple[Issue, tuple[Block, ...]]]:
    """The same with the nodes around each call, outermost first."""
    for node in body:
        if isinstance(node, Issue):
            yield node, around
        else:
            yield from surrounded_issues(node.body, (*around, node))


@dataclass(frozen=True, slots=True)
class Placement:
    """A kernel buffer in the external memory, from byte `address` on, in `layout`.

    An input placement is filled before the run (padding with zeros), an output placement is read
    after it. An InOut buffer has one of each; they may share address and layout.
    """

    buffer: str
    address: int
    layout: Layout

    @property
    def end(self) -> int:
        """The byte behind its last."""
        return self.address + self.layout.size_bytes


@dataclass(frozen=True, slots=True)
class Program:
    """Everything an executor needs beside the hardware and the arrays.

    `scratch`: room in the external memory for what is neither input nor output. `host_calls`: what
    the machine's host runs, each an instruction of that name (`hwdesc.with_host_calls`).
    `may_reassociate`: may these sum floats in any order?
    """

    name: str
    hardware: str
    inputs: tuple[Placement, ...]
    outputs: tuple[Placement, ...]
    body: tuple[Node, ...]
    scratch: tuple[Placement, ...] = ()
    host_calls: tuple[Kernel, ...] = ()
    may_reassociate: bool = False

    @property
    def placements(self) -> tuple[Placement, ...]:
        """All that it has in the external memory."""
        return (*self.inputs, *self.outputs, *self.scratch)

    @property
    def room_bytes(self) -> int:
        """Of the external memory, up to the end of what it has there."""
        return max((place.end for place in self.placements), default=0)
