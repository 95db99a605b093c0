"""Cut a kernel of several statements into tasks: statements that are mapped one by one.

In: a verified kernel. Out: a tree of tasks under the loops that they must share. Not its job:
mapping a task, where its data stay.

Loop distribution: neighbours that share loops are torn apart wherever `may_distribute` allows it,
integers being summed in any order.
A shared loop that ties statements together (a time step) is *held*: it runs one iteration at a time
around all of them, and outside of shared loops whose iterations do not depend on each other. So is
a loop that ties a statement to itself.
Source: Kennedy and Allen, Optimizing Compilers for Modern Architectures, section 5.3; adapted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from isamap.ir import (
    Access,
    Expr,
    Kernel,
    Literal,
    Loop,
    LoopKind,
    Role,
    Statement,
    carrying_loop,
    is_copy,
    is_integer,
    kind_within,
    leaves_elements,
    may_distribute,
    may_permute,
    move_out,
)

NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ends:
    """What a summing task takes over from its neighbours (`join_tasks`), in its own loops.

    `inlet`: where the sums begin (None: as the task's kernel says). `outlet` takes `value`, in
    which the sum's target stands for the finished sum (None: the sum is stored as it is).
    """

    inlet: Access | None
    outlet: Access | None
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a kernel's coverings depend on beside itself and the machine.

    `held`, `volatile`, `ends`, `late`: as in a `Task`. `homes`: buffers with the managed memories
    where they lie between tasks, sorted; all others are in the external memory. `begins`: another
    statement goes on with what this one copies.
    """

    held: tuple[str, ...] = ()
    volatile: tuple[tuple[str, str], ...] = ()
    ends: Ends | None = None
    homes: tuple[tuple[str, str], ...] = ()
    late: tuple[str, ...] = ()
    begins: bool = False


ALONE = Setting()


@dataclass(frozen=True, slots=True)
class Task:
    """One statement as a kernel of its own, its buffers with the roles they have at that point.

    `held`: loops that run one iteration at a time, outermost; other tasks may run in between.
    `volatile`: (buffer, held loop) pairs where other tasks under the loop write what this one
    touches, or read what it writes, at the same place in every iteration: nothing of it may stay on
    chip from one iteration to the next. `ends`, `parts`: what it takes over, and the tasks that it
    stands for then. `late`: buffers, sorted, whose values are not there in time for entries of a
    fifo that must be (`Fifo.within_cycles`). `begins`: as in a `Setting`.
    """

    kernel: Kernel
    number: int
    held: tuple[str, ...] = ()
    volatile: tuple[tuple[str, str], ...] = ()
    ends: Ends | None = None
    parts: tuple["Task", ...] = ()
    late: tuple[str, ...] = ()
    begins: bool = False
    _touched: frozenset[str] = field(init=False, repr=False, compare=False)  # often asked for

    def __post_init__(self) -> None:
        object.__setattr__(self, "_touched", self._find_touched())

    def setting(self, homes: Mapping[str, str] = NOTHING) -> Setting:
        """What surrounds the task's kernel, with some buffers in these memories."""
        homes_of = tuple(sorted(homes.items()))
        return Setting(self.held, self.volatile, self.ends, homes_of, self.late, self.begins)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements that the task computes, in program order."""
        return tuple(part.statement for part in self.parts) or (self.statement,)

    @property
    def touched(self) -> frozenset[str]:
        """Buffers in the external memory that the task reads or writes."""
        return self._touched

    def _find_touched(self) -> frozenset[str]:
        names = {name for s in self.statements for name in s.touched}
        own = self.statement.target.buffer
        stays = (
            self.ends is not None
            and self.ends.outlet is not None
            and (not self.ends.inlet or self.ends.inlet.buffer != own)
        )
        return frozenset(names - {own} if stays else names)

    @property
    def statement(self) -> Statement:
        """The one statement."""
        return self.kernel.statements[0]


@dataclass(frozen=True, slots=True)
class TaskLoop:
    """A held loop around tasks."""

    loop: Loop
    body: tuple["TaskNode", ...]


TaskNode = Task | TaskLoop


def cut_tasks(kernel: Kernel) -> tuple[TaskNode, ...]:
    """The tasks of a kernel in program order."""
    return _Cutter(kernel).cut(tuple(range(len(kernel.statements))), 0, ())


def flatten(nodes: tuple[TaskNode, ...]) -> Iterator[Task]:
    """All tasks, in program order."""
    for node in nodes:
        if isinstance(node, Task):
            yield node
        else:
            yield from flatten(node.body)


class _Cutter:
    """Cuts one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.statements = list(kernel.statements)  # with loops in the order in which they are held

    def cut(
        self, numbers: tuple[int, ...], depth: int, held: tuple[str, ...]
    ) -> tuple[TaskNode, ...]:
        """Nodes of neighbours that share their first `depth` loops, all of them held."""
        nodes: list[TaskNode] = []
        for group in self._neighbours(numbers, depth):
            for part in self._distribute(group, held):
                if len(part) == 1:
                    nodes.append(self._single(part[0], held))
                    continue
                loop = self._hold(part, depth, held)
                nodes.append(TaskLoop(loop, self.cut(part, depth + 1, (*held, loop.name))))
        return tuple(nodes)

    def _hold(self, numbers: tuple[int, ...], depth: int, held: tuple[str, ...]) -> Loop:
        """The loop that ties statements together, from now on at `depth` in each of them."""
        tied = [self.statements[number] for number in numbers]
        loop = carrying_loop(tied, held) or tied[0].loops[depth]
        for number, statement in zip(numbers, tied, strict=True):
            self.statements[number] = move_out(statement, loop, depth)
        return loop

    def _neighbours(self, numbers: tuple[int, ...], depth: int) -> list[tuple[int, ...]]:
        """Runs of statements with the same loop at `depth`."""
        groups: list[list[int]] = []
        previous: Loop | None = None
        for number in numbers:
            loops = self.statements[number].loops
            loop = loops[depth] if len(loops) > depth else None
            if groups and loop is not None and loop == previous:
                groups[-1].append(number)
            else:
                groups.append([number])
            previous = loop
        return [tuple(group) for group in groups]

    def _distribute(self, group: tuple[int, ...], held: tuple[str, ...]) -> list[tuple[int, ...]]:
        """Cut a run wherever every statement before may run wholly before every one after."""
        parts: list[list[int]] = []
        end = 0  # positions before are in the same part as one before them
        for position, number in enumerate(group):
            if position == end:
                parts.append([])
            parts[-1].append(number)
            later = range(len(group) - 1, max(end - 1, position), -1)
            tied = (b for b in later if not self._may_part(number, group[b], held))
            end = max(end, next(tied, position) + 1)
        return [tuple(part) for part in parts]

    def _may_part(self, a: int, b: int, held: tuple[str, ...]) -> bool:
        first, second = self.statements[a], self.statements[b]
        names = [loop.name for loop in first.loops]
        shared = tuple(x.name for x in second.loops if x.name in names and x.name not in held)
        is_exact = is_integer(self.kernel.buffer(first.target.buffer).dtype)  # in any order
        return may_distribute(first, second, shared, held, may_reassociate=is_exact)

    def _single(self, number: int, held: tuple[str, ...]) -> TaskNode:
        """The task of one statement, under the loops that its own dependences hold."""
        statement = self.statements[number]
        tied = _tied_loops(statement, held)
        rest = tuple(x.name for x in statement.loops if x.name not in (*held, *tied))
        if not may_permute(statement, (*held, *tied, *rest), may_reassociate=True):
            tied = tuple(loop.name for loop in statement.loops if loop.name not in held)
        loops = {loop.name: loop for loop in statement.loops}
        order = (*held, *tied, *(name for name in loops if name not in (*held, *tied)))
        ordered = replace(statement, loops=tuple(loops[name] for name in order))
        node: TaskNode = self._task(number, ordered, (*held, *tied))
        for name in reversed(tied):
            node = TaskLoop(loops[name], (node,))
        return node

    def _task(self, number: int, statement: Statement, held: tuple[str, ...]) -> Task:
        volatile = self._volatile(number, held)
        target = statement.target.buffer
        role = self._target_role(number, held, volatile)
        buffers = tuple(
            replace(b, role=role if b.name == target else Role.IN)
            for b in self.kernel.buffers
            if b.name in statement.touched
        )
        kernel = Kernel(f"{self.kernel.name}_{number}", buffers, (statement,))
        return Task(kernel, number, held, volatile, begins=self._begins(statement))

    def _begins(self, statement: Statement) -> bool:
        """Does another statement go on with what this one copies?"""
        updated = {other.target.buffer for other in self.statements if other.update != "="}
        return is_copy(statement) and statement.target.buffer in updated

    def _target_role(
        self, number: int, held: tuple[str, ...], volatile: tuple[tuple[str, str], ...]
    ) -> Role:
        """OUT where nothing that was there before matters, or where it is zero."""
        statement = self.statements[number]
        target = statement.target
        if statement.update == "=":
            buffer = self.kernel.buffer(target.buffer)
            is_read = any(access.buffer == target.buffer for access in statement.reads)
            is_part = leaves_elements(statement, buffer)
            return Role.INOUT if is_read or is_part else Role.OUT
        is_fresh = not self.kernel.buffer(target.buffer).role.is_given
        others = [s for s in self.statements if s.target.buffer == target.buffer]
        is_first = others[0] is statement and not any(
            _writes_before(other, statement, held) for other in others[1:]
        )
        comes_back = any((target.buffer, loop) in volatile for loop in held)
        is_zero = statement.update == "+=" and not overlaps(target)
        return Role.OUT if is_fresh and is_first and is_zero and not comes_back else Role.INOUT

    def _volatile(self, number: int, held: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
        statement = self.statements[number]
        pairs: dict[tuple[str, str], None] = {}
        for depth, loop in enumerate(held):
            others = [
                other
                for position, other in enumerate(self.statements)
                if position != number and loop in [x.name for x in other.loops]
            ]
            for access in statement.accesses:
                is_written = access == statement.target
                rivals = _rivals(access, is_written, statement, others)
                is_hit = any(not _is_elsewhere(access, rival, held[:depth]) for rival in rivals)
                if not access.moves_with(loop) and is_hit:
                    pairs[access.buffer, loop] = None
        return tuple(pairs)


def _tied_loops(statement: Statement, held: tuple[str, ...]) -> tuple[str, ...]:
    """Loops that tie a statement to itself, outermost first, each where those before it are held:
    in steps of a stencil, `u[s + 1, i] = u[s, i] + u[s, i + 1]`, only the step."""
    tied: list[str] = []
    for name in (loop.name for loop in statement.loops if loop.name not in held):
        if kind_within([statement], name, (*held, *tied)) is LoopKind.SEQUENTIAL:
            tied.append(name)
    return tuple(tied)


def overlaps(access: Access) -> bool:
    """May different loops lead to the same element, so that it is visited in several tiles?"""
    names = [name for index in access.indices for name in index.names]
    return any(len(index.terms) > 1 for index in access.indices) or len(set(names)) < len(names)


def _writes_before(later: Statement, statement: Statement, held: tuple[str, ...]) -> bool:
    """Does a later statement write, in an earlier iteration of held loops, where this one does?"""
    shared = tuple(name for name in held if name in [loop.name for loop in later.loops])
    mine, theirs = (replace(s, update="=", value=Literal(0)) for s in (statement, later))
    return not may_distribute(mine, theirs, shared)


def _rivals(
    access: Access, is_written: bool, own: Statement, others: list[Statement]
) -> Iterator[Access]:
    """Where another statement writes the buffer, or reads it if it is written. Or this one itself
    through another access."""
    for other in (*others, own):
        if other.target.buffer == access.buffer and not (other is own and is_written):
            yield other.target
        if is_written:
            yield from (read for read in other.reads if read.buffer == access.buffer)


def _is_elsewhere(access: Access, other: Access, fixed: tuple[str, ...]) -> bool:
    """Do both differ in an index that only loops in `fixed` move, however these stand?"""
    return any(
        mine.terms == theirs.terms
        and mine.constant != theirs.constant
        and set(mine.names) <= set(fixed)
        for mine, theirs in zip(access.indices, other.indices, strict=True)
    )
