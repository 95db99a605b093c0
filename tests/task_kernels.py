"""Random kernels of several statements that tasks, joins and shared loops are made of.

In: something that chooses. Out: verified integer kernels. Not its job: arbitrary accesses and
operations (`strategies`), running them.

Unlike the kernels of `strategies`, these have products that instructions compute, with bias,
activation and requantisation around them, recurrences, windows, and temporaries with few readers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Buffer,
    Expr,
    Kernel,
    Literal,
    Loop,
    Role,
    Statement,
    accesses,
    normalise_update,
    verify,
)

T = TypeVar("T")
SIZES = (1, 2, 3, 4, 5, 6, 7, 3, 4, 17, 33)
STEPS = (1, 2, 3)
TIME = "t"


class Choose(Protocol):
    """Picks one of several: `random.Random.choice`, or a draw."""

    def __call__(self, options: Sequence[T]) -> T:
        """One of `options`."""


@dataclass(slots=True)
class _Maker:
    """Grows a kernel statement by statement; axes i, j, k, t have one extent each."""

    choose: Choose
    extents: dict[str, int]
    shapes: dict[str, tuple[str, tuple[tuple[str, int], ...]]] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    suffix: int = 0
    is_timed: bool = False

    def buffer(self, dtype: str, axes: tuple[tuple[str, int], ...], *, fresh: bool = False) -> str:
        """A buffer of that type over axes, each (axis, further positions): old or new."""
        old = [name for name, row in self.shapes.items() if row == (dtype, axes)]
        if old and not fresh and self.choose((True, True, True, False)):
            return self.choose(old[::-1])
        name = f"B{len(self.shapes)}"
        self.shapes[name] = (dtype, axes)
        return name

    def loop(self, axis: str) -> Loop:
        """The loop over an axis; time is always the same one, others change with `suffix`."""
        name = axis if axis == TIME else f"{axis}_{self.suffix}"
        return Loop(name, self.extents[axis])

    def loops(self, axes: Sequence[str]) -> tuple[Loop, ...]:
        """Loops over axes under the time loop, if it is open."""
        inner = tuple(self.loop(axis) for axis in axes if axis != TIME)
        return (self.loop(TIME), *inner) if self.is_timed else inner

    def space(self, axes: Sequence[str]) -> tuple[tuple[str, int], ...]:
        """Axes of a buffer, time among them or not."""
        plain = tuple((axis, 0) for axis in axes)
        if not self.is_timed:
            return plain
        return self.choose((plain, plain, ((TIME, 1), *plain), ((TIME, 0), *plain)))

    def access(self, name: str, *, is_target: bool = False) -> Access:
        """The buffer's element of this iteration; time before, or after what is written."""
        _, axes = self.shapes[name]
        indices = []
        for axis, extra in axes:
            offset = extra if is_target else self.choose((0, extra)) if extra else 0
            if axis == TIME and extra and is_target:
                offset = 1
            is_inside = axis != TIME or self.is_timed
            term = Affine.var(self.loop(axis).name) if is_inside else Affine((), 0)
            indices.append(term + offset)
        return Access(name, tuple(indices))

    def add(self, axes: Sequence[str], target: Access, update: str, value: Expr) -> None:
        """A statement in normal form, if it is one."""
        update, value = normalise_update(target, update, value)
        self.statements.append(Statement(self.loops(axes), target, update, value))
        self.written.append(target.buffer)

    def init(self, name: str, axes: tuple[str, ...]) -> None:
        """Begin sums somewhere: at a vector, an array, a number."""
        dtype, own = self.shapes[name]
        some = self.choose((own[-1:], own[-1:], own, own[:1]))
        kind = self.choose(("access", "access", "access", "zero", "seven"))
        value: Expr = Literal(7 if kind == "seven" else 0)
        if kind == "access":
            value = self.access(self.buffer(dtype, some))
        self.add(axes, self.access(name, is_target=True), "=", value)

    def sum(self, name: str, axes: tuple[str, ...]) -> None:
        """A product summed over k, as matrix, vector or window product."""
        target = self.access(name, is_target=True)
        left, right = (axes[0], "k"), ("k", *axes[1:])
        kind = self.choose(("plain", "plain", "plain", "left", "right", "window", "extra"))
        if kind == "left":
            left = left[::-1]
        if kind == "right":
            right = right[::-1]
        first = self.access(self.buffer("i8", self.space(left)))
        second = self.access(self.buffer("i8", self.space(right)))
        if kind == "window":
            axis = self.loop(axes[0]).name
            index = Affine.of([(axis, 1), (self.loop("k").name, 1)], self.choose((0, -1)))
            size = self.buffer("i8", ((axes[0], self.choose((0, 1))),))
            first = Access(size, (index,), 0)
        update = self.choose(("+=", "+=", "+=", "+=", "+=", "max="))
        value = Apply("*", (Apply("i32", (first,)), Apply("i32", (second,))))
        if kind == "extra" and self.shapes[name][1]:
            value = Apply("*", (Apply("i32", (first,)), Literal(1)))
        self.add((*axes, "k"), target, update, value)

    def finish(self, source: str, axes: tuple[str, ...], target: str, *, flips: bool) -> None:
        """Something elementwise of a buffer into another one."""
        read = self.access(source)
        if flips:
            read = Access(source, read.indices[::-1])
        value = self.tail(read, self.shapes[source][0], axes, self.shapes[target][0])
        self.add(axes, self.access(target, is_target=True), self.update(), value)

    def update(self) -> str:
        """Mostly an assignment."""
        return self.choose(("=",) * 7 + ("+=", "max="))

    def tail(self, read: Access, dtype: str, axes: tuple[str, ...], result: str) -> Expr:
        """What becomes of an element: a few operations, then the type of the result."""
        value: Expr = read
        for _ in range(self.choose((0, 1, 1, 2, 3))):
            match self.choose(("bias", "bias", "relu", "relu", "shift", "max", "min", "twice")):
                case "bias":
                    vector = self.choose((axes[-1:], axes, axes[:1]))
                    other = self.access(self.buffer(dtype, self.space(vector)))
                    value = Apply("+", self.choose(((value, other), (other, value))))
                case "relu":
                    value = Apply("relu", (value,))
                case "shift":
                    name = self.choose(("rshift_round", ">>"))
                    value = Apply(name, (value, Literal(self.choose((1, 2, 5, 0)))))
                case "max" | "min" as name:
                    value = Apply(name, (value, Literal(self.choose((0, 3, -5, 127)))))
                case _:
                    value = Apply(self.choose(("+", "max", "-")), (value, read))
        if result == dtype:
            return value
        return Apply(self.choose((result, f"sat_{result}")), (value,))


def make_kernel(choose: Choose) -> Kernel | None:
    """A kernel of one to six statements; None where the choices make none."""
    maker = _Maker(choose, {axis: choose(SIZES) for axis in "ijk"} | {TIME: choose(STEPS)})
    begins = choose((0, 0, 9, 9, 1))  # where time begins
    count = choose((1, 2, 3, 3, 4, 5))
    recent: list[tuple[str, tuple[str, ...]]] = []
    if choose((True, False)):
        maker.is_timed = choose((False, False, True))
        return _finished(maker, _chain(maker))
    while len(maker.statements) < count:
        maker.is_timed = len(maker.statements) >= begins
        if not choose((True, False, False)):
            maker.suffix += 1
        _grow(maker, recent)
    return _finished(maker, "")


def _chain(maker: _Maker) -> str:
    """A sum, perhaps begun somewhere, and what becomes of it, with strangers in between; returns
    the sum's name."""
    choose = maker.choose
    axes = choose((("i", "j"), ("i", "j"), ("i",)))
    name = maker.buffer("i32", maker.space(axes), fresh=True)
    recent = [(name, axes)]
    steps = choose((("sum", "finish"), ("init", "sum", "finish"), ("init", "sum", "sum", "finish")))
    for step in steps:
        maker.suffix += 1
        if step == "init":
            maker.init(name, axes)
        elif step == "sum":
            maker.sum(name, axes)
        else:
            target = maker.buffer(choose(("i8", "i32")), maker.space(axes), fresh=True)
            maker.finish(name, axes, target, flips=False)
        if choose((False, False, False, True)):
            maker.suffix += 1
            _grow(maker, recent)
    return name


def _grow(maker: _Maker, recent: list[tuple[str, tuple[str, ...]]]) -> None:
    """One step: an initialisation, a sum, or something elementwise of what is there."""
    choose = maker.choose
    axes = choose((("i", "j"), ("i", "j"), ("i",)))
    kinds = ("init", "sum", "sum") if not recent else ("finish", "finish", "sum", "init", "again")
    kind = choose(kinds)
    if kind in ("finish", "again") and recent:
        source, axes = choose(recent[-2:])
        flips = (
            len(axes) == 2 and len(maker.shapes[source][1]) == 2 and choose((False,) * 5 + (True,))
        )
        dtype = choose(("i8", "i8", "i32"))
        shape = maker.space(axes)
        target = maker.buffer(dtype, shape, fresh=choose((True, True, False)))
        if kind == "again":
            target = source
        maker.finish(source, axes, target, flips=flips)
        recent.append((target, axes))
        return
    reuse = [(n, a) for n, a in recent[-2:] if maker.shapes[n][0] == "i32"]
    if reuse and choose((True, True, False)):
        name, axes = choose(reuse)
    else:
        name = maker.buffer("i32", maker.space(axes), fresh=True)
    if kind == "init":
        maker.init(name, axes)
    else:
        maker.sum(name, axes)
    recent.append((name, axes))


def _finished(maker: _Maker, temporary: str) -> Kernel | None:
    """The kernel with roles for its buffers; None if it breaks a rule. `temporary`: one of them."""
    statements = tuple(maker.statements)
    read = {a.buffer for s in statements for a in accesses(s.value)}
    buffers = []
    for name, (dtype, axes) in maker.shapes.items():
        if name not in read and name not in maker.written:
            continue
        shape = tuple(maker.extents[axis] + extra for axis, extra in axes)
        role = Role.IN
        if name in maker.written:
            seen = [Role.OUT, Role.OUT, Role.INOUT]
            role = maker.choose([Role.TEMP] * 6 + seen if name in read else seen)
            role = Role.TEMP if name == temporary else role
        buffers.append(Buffer(name, dtype, shape, role))
    kernel = Kernel("random", tuple(buffers), statements)
    if not any(b.role in (Role.OUT, Role.INOUT) for b in buffers):
        last = statements[-1].target.buffer
        buffers = [
            Buffer(b.name, b.dtype, b.shape, Role.OUT) if b.name == last else b for b in buffers
        ]
        kernel = Kernel("random", tuple(buffers), statements)
    try:
        verify(kernel)
    except KernelError:
        return None
    return kernel
