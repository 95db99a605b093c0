"""Equal kernels within a few steps.

In: a kernel, rewrites, bounds. Out: variants, fewest steps first, each once. Not its job: saying
which is better (what maps and schedules them does).
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from isamap.ir import (
    DTYPES,
    Access,
    Apply,
    Expr,
    Immediate,
    Kernel,
    Literal,
    Role,
    is_float,
)

from .outline import subexpressions
from .table import REWRITES
from .variant import Rewrite, Step, Variant

Key = tuple[object, ...]


@dataclass(slots=True, eq=False)
class Search:
    """Variants of one kernel as an iterator; `cut` says, once it has ended, what was left out.

    `cut` is None when the variants are all that the rewrites reach.
    """

    kernel: Kernel
    rewrites: tuple[Rewrite, ...]
    max_steps: int
    max_variants: int
    cut: str | None = None
    stream: Iterator[Variant] = field(init=False)
    queue: deque[Variant] = field(init=False, default_factory=deque)

    def __post_init__(self) -> None:
        self.stream = self.explore()

    def __iter__(self) -> "Search":
        return self

    def __next__(self) -> Variant:
        return next(self.stream)

    def explore(self) -> Iterator[Variant]:
        """Breadth first, rewrites in the table's order."""
        start = Variant(self.kernel, ())
        self.queue.append(start)
        seen = {identify(self.kernel)}
        yield start
        while self.queue:
            variant = self.queue.popleft()
            if len(variant.steps) == self.max_steps:
                self.add_cut(f"variants of more than {self.max_steps} steps were not tried")
                return
            for found in expand(variant, self.rewrites):
                key = identify(found.kernel)
                if key in seen:
                    continue
                if len(seen) == self.max_variants:
                    self.add_cut(f"stopped at {self.max_variants} variants")
                    return
                seen.add(key)
                self.queue.append(found)
                yield found

    def pass_over(self) -> None:
        """Look for no variants from the last one on."""
        self.queue.pop()

    def add_cut(self, text: str) -> None:
        """Note one more reason why variants are missing."""
        self.cut = text if self.cut is None else f"{self.cut}; {text}"


def variants(
    kernel: Kernel,
    *,
    rewrites: Sequence[Rewrite] = REWRITES,
    max_steps: int = 3,
    max_variants: int = 200,
    may_reassociate: bool = False,
) -> Search:
    """Kernels equal to `kernel`: itself, then those one step away, then two, ..

    Lazy and deterministic. Kernels that differ only in names of temporaries and loops count once.

    Args:
        max_steps, max_variants: bounds, `max_variants` including the kernel itself.
        may_reassociate: rewrites that reassociate are tried on kernels with floats too; only then
            may results differ, by rounding.
    """
    allowed = tuple(
        row for row in rewrites if may_reassociate or not row.reassociates or not has_floats(kernel)
    )
    search = Search(kernel, allowed, max_steps, max_variants)
    if barred := [row.name for row in rewrites if row not in allowed]:
        search.add_cut(f"{', '.join(barred)}: not without permission to reassociate floats")
    return search


def expand(variant: Variant, rewrites: tuple[Rewrite, ...]) -> Iterator[Variant]:
    """Everything one step from a variant."""
    for rewrite in rewrites:
        for site, kernel in rewrite.sites(variant.kernel):
            yield Variant(kernel, (*variant.steps, Step(rewrite.name, site)))


def has_floats(kernel: Kernel) -> bool:
    """Does the kernel compute with floats anywhere?"""
    return any(map(is_float, dtypes_of(kernel)))


def dtypes_of(kernel: Kernel) -> set[str]:
    """The types of its buffers, and those that it casts to."""
    parts = (part for s in kernel.statements for part in subexpressions(s.value))
    casts = {part.op for part in parts if isinstance(part, Apply) and part.op in DTYPES}
    return casts | {buffer.dtype for buffer in kernel.buffers}


def identify(kernel: Kernel) -> Key:
    """A value that is equal for kernels that differ only in names of temporaries and loops."""
    loops: dict[str, int] = {}
    names: dict[str, object] = {b.name: b.name for b in kernel.buffers if b.role is not Role.TEMP}
    shapes = {b.name: (b.dtype, b.shape) for b in kernel.buffers}
    keys: list[Key] = []
    for statement in kernel.statements:
        for loop in statement.loops:
            loops.setdefault(loop.name, len(loops))
        for part in (statement.target, *subexpressions(statement.value)):
            if isinstance(part, Access) and part.buffer not in names:
                names[part.buffer] = (len(names), *shapes[part.buffer])
        nest = tuple((loops[loop.name], loop.extent) for loop in statement.loops)
        target = identify_expr(statement.target, loops, names)
        keys.append((nest, target, statement.update, identify_expr(statement.value, loops, names)))
    return tuple(keys)


def identify_expr(expr: Expr, loops: dict[str, int], names: dict[str, object]) -> Key:
    """The same for an expression, given numbers of loops and names of buffers."""
    match expr:
        case Access(buffer, indices, pad):
            moved = tuple(
                (index.constant, *sorted([(loops[n], c) for n, c in index.terms]))
                for index in indices
            )
            return (names[buffer], moved, pad)
        case Apply(op, args):
            return (op, *(identify_expr(arg, loops, names) for arg in args))
        case Literal(value):
            return (value,)
        case Immediate(name):
            return (name,)
