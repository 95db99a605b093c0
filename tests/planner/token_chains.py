"""Random chains of statements on sums, for machines whose units hand over tokens.

In: something random, the operations that a machine knows. Out: kernels in which temporaries pass
from one statement to the next. Not its job: running them.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from isamap.ir import Kernel, parse_semantics

SIZES = (1, 2, 5, 6, 7, 13, 16, 17, 32)
ROUNDED = "rshift_round({x}, {c})"
SHIFTED = "{x} >> {c}"


@dataclass(frozen=True, slots=True)
class Operations:
    """What follows sums: values of i32 elements, and how they become i8."""

    values: Sequence[str]
    narrowed: Sequence[str]


FUSED = Operations(("{x} + {y}", "{x} + b[j]", "max({x}, {c})", ROUNDED), ("sat_i8({x})",))
LANES = Operations(
    ("{x} + {y}", "max({x}, {c})", "min({x}, {y})", SHIFTED, "{x} + {c}"),
    ("i8({x})", "i8(max({x}, 0))", f"i8({SHIFTED})"),
)
PLAIN = Operations(("{x} + {y}",), ("i8({x})",))


def chain_kernel(rng: random.Random, known: Operations, sizes: Sequence[int] = SIZES) -> Kernel:
    """Sums of one product or more, one to three statements on them, in place or not, and a second
    product or an output; perhaps in time steps, perhaps with an output of what is in between."""
    return parse_semantics(_Text(rng, known, sizes).text(), "chain")


class _Text:
    """Grows the kernel line by line."""

    def __init__(self, rng: random.Random, known: Operations, sizes: Sequence[int]) -> None:
        self.rng = rng
        self.known = known
        self.m, self.n, self.k = (rng.choice(sizes) for _ in range(3))
        self.steps = rng.choice((0, 0, 0, 2, 3))
        self.head: list[str] = []
        self.nests: list[str] = []

    def text(self) -> str:
        """All of it."""
        now = self._sums(self.m, self.n, self.k, "A")
        for _ in range(self.rng.randint(1, 3)):
            now = self._changed(now)
        if self.rng.random() < 0.3:
            self._out("Z", now)
        if self.rng.random() < 0.3:
            narrow = self._buffer("Temp", "i8", self.m, self.n)
            self._each(f"{narrow}[i, j] = {self._narrowed(now)}")
            now = self._sums(self.m, self.n, self.n, narrow)
        self._out("Y", now)
        body = "\n".join(self.nests)
        if self.steps:
            body = f"for t in range({self.steps}):\n  " + body.replace("\n", "\n  ")
        return "\n".join([f"b = In(i32, {self.n})", *self.head, body])

    def _buffer(self, role: str, dtype: str, *shape: int) -> str:
        name = f"{role[0]}{len(self.head)}"
        self.head.append(f"{name} = {role}({dtype}, {', '.join(map(str, shape))})")
        return name

    def _each(self, line: str) -> None:
        self.nests.append(f"for i, j in grid({self.m}, {self.n}):\n  {line}")

    def _sums(self, m: int, n: int, k: int, left: str) -> str:
        """One product or two, from zeros that are there, zeros that are made, or an array."""
        sums = self._buffer("Temp", "i32", m, n)
        if self.rng.random() < 0.7:
            self._each(f"{sums}[i, j] = {self.rng.choice(('0', self._array()))}")
        for _ in range(self.rng.choice((1, 1, 2))):
            first = self._buffer("In", "i8", m, k) if left == "A" else left
            second = self._buffer("In", "i8", k, n)
            line = f"{sums}[i, j] += i32({first}[i, p]) * i32({second}[p, j])"
            self.nests.append(f"for i, j, p in grid({m}, {n}, {k}):\n  {line}")
        return sums

    def _array(self) -> str:
        """An element of an array of the caller's, one per time step or for all of them."""
        if self.steps and self.rng.random() < 0.5:
            return self._buffer("In", "i32", self.steps, self.m, self.n) + "[t, i, j]"
        return self._buffer("In", "i32", self.m, self.n) + "[i, j]"

    def _value(self, form: str, x: str) -> str:
        y = self._array() if "{y}" in form else ""
        return form.format(x=f"{x}[i, j]", y=y, c=self.rng.randint(1, 6))

    def _changed(self, now: str) -> str:
        target = now if self.rng.random() < 0.5 else self._buffer("Temp", "i32", self.m, self.n)
        self._each(f"{target}[i, j] = {self._value(self.rng.choice(self.known.values), now)}")
        return target

    def _narrowed(self, now: str) -> str:
        return self._value(self.rng.choice(self.known.narrowed), now)

    def _out(self, name: str, now: str) -> None:
        dtype = self.rng.choice(("i8", "i8", "i32"))
        value = self._narrowed(now) if dtype == "i8" else f"{now}[i, j]"
        shape = [self.steps] * bool(self.steps) + [self.m, self.n]
        self.head.append(f"{name} = Out({dtype}, {', '.join(map(str, shape))})")
        self._each(f"{name}[{'t, ' if self.steps else ''}i, j] = {value}")
