"""The one IR: kernels and the semantics of instructions are both a `Kernel`.

In: nothing but these nodes. Out: frozen values, compared by value (positions excluded).
Not its job: reading text (`parse`), rules (`verify`), meaning (`interp`), text (`pretty`).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import assert_never

from isamap.errors import Loc

from .affine import Affine


class Role(Enum):
    """How a buffer meets the world; the value is its name in the surface language."""

    IN = "In"
    OUT = "Out"  # starts as zeros
    INOUT = "InOut"
    TEMP = "Temp"  # starts as zeros, not visible outside

    @property
    def is_given(self) -> bool:
        """Does it start as the caller says? Else as zeros."""
        return self in (Role.IN, Role.INOUT)

    @property
    def is_returned(self) -> bool:
        """Does the caller see what was written?"""
        return self in (Role.OUT, Role.INOUT)


@dataclass(frozen=True, slots=True)
class Loop:
    """One rectangular loop: `name` takes the values 0 .. extent-1, in this order."""

    name: str
    extent: int

    def __post_init__(self) -> None:
        assert self.extent > 0, f"loop {self.name}: extent {self.extent}"


@dataclass(frozen=True, slots=True)
class Buffer:
    """A named dense array; `dtype` is a row of the scalar type table."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: Role
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Access:
    """One element of a buffer. With `pad`, a read outside the buffer gives that value; without, it
    is an error."""

    buffer: str
    indices: tuple[Affine, ...]
    pad: int | float | None = None

    def moves_with(self, loop: str) -> bool:
        """Does the element depend on `loop`?"""
        for index in self.indices:  # asked for millions of times
            for name, _ in index.terms:
                if name == loop:
                    return True
        return False

    def step(self, loop: str, strides: Iterable[int]) -> int:
        """How far an iteration of `loop` moves the element in an array whose neighbours lie
        `strides` apart, by dimension."""
        return sum(i.coefficient(loop) * s for i, s in zip(self.indices, strides, strict=True))


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; its type is that of the other operand, or of the cast around it."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Immediate:
    """A scalar that each issue of an instruction chooses (an encoded field); only in
    `semantics`."""

    name: str


@dataclass(frozen=True, slots=True)
class Apply:
    """A scalar operation of the operation table (arithmetic, casts, max, relu, ...) on its
    arguments."""

    op: str
    args: tuple["Expr", ...]


Expr = Access | Literal | Immediate | Apply


@dataclass(frozen=True, slots=True)
class Statement:
    """For all values of `loops` in order (first is outermost): `target update value`.

    `update` is "=", "+=", "*=", "max=" or "min=". `reads`: what `value` reads, left to right.
    `touched`: buffers that it writes or reads.
    """

    loops: tuple[Loop, ...]
    target: Access
    update: str
    value: Expr
    loc: Loc | None = field(default=None, compare=False)
    reads: tuple[Access, ...] = field(init=False, repr=False, compare=False)
    touched: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # every question of what depends on what begins with these
        reads = accesses(self.value)
        object.__setattr__(self, "reads", reads)
        names = [self.target.buffer, *[access.buffer for access in reads]]
        object.__setattr__(self, "touched", frozenset(names))

    @property
    def accesses(self) -> tuple[Access, ...]:
        """The element that is written, then those that `value` reads, left to right."""
        return (self.target, *self.reads)

    @property
    def reads_target(self) -> bool:
        """Does what it writes depend on what was there?"""
        return self.update != "=" or self.target in self.reads

    @property
    def extents(self) -> dict[str, int]:
        """Of its loops, by name."""
        return {loop.name: loop.extent for loop in self.loops}

    def extent(self, name: str) -> int:
        """Extent of the loop called `name`."""
        return self.extents[name]


@dataclass(frozen=True, slots=True)
class Kernel:
    """Statements over buffers; neighbours that start with the same loops (same name and extent)
    share them."""

    name: str
    buffers: tuple[Buffer, ...]
    statements: tuple[Statement, ...]
    immediates: tuple[str, ...] = ()
    _buffer_of: dict[str, Buffer] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_buffer_of", {buffer.name: buffer for buffer in self.buffers})

    @property
    def extents(self) -> dict[str, int]:
        """Of all its loops, by name, in order of appearance."""
        return {loop.name: loop.extent for s in self.statements for loop in s.loops}

    def buffer(self, name: str) -> Buffer:
        """The buffer called `name`."""
        return self._buffer_of[name]


def accesses(expr: Expr) -> tuple[Access, ...]:
    """All accesses in `expr`, left to right."""
    found: list[Access] = []
    left = [expr]
    while left:  # asked for hundreds of thousands of times
        match left.pop():
            case Access() as access:
                found.append(access)
            case Apply(_, args):
                left.extend(reversed(args))
            case _:
                pass
    return tuple(found)


def map_accesses(expr: Expr, change: Callable[[Access], Expr]) -> Expr:
    """`expr` with every access replaced by `change` of it."""
    match expr:
        case Access():
            return change(expr)
        case Apply(op, args):
            return Apply(op, tuple(map_accesses(arg, change) for arg in args))
        case Literal() | Immediate():
            return expr
        case _:
            assert_never(expr)
