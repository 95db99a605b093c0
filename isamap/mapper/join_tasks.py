"""Join a sum with the statement that says where it begins and the one that says what becomes of it.

In: the tasks of a kernel. Out: for a summing task, the task that takes its neighbours over. Not its
job: whether instructions can do it (`coverings`), whether it pays (the scheduler).

`T = b; T += ..; D = f(T)`, with these elements of T in no other statement: the sum begins from b,
and D is stored instead of T. `f(T + b)` is read as `f(T)` with T begun from b, which is the same
for integers, whose sums may be rearranged.
"""

from dataclasses import dataclass, replace
from itertools import takewhile

from isamap.ir import (
    Access,
    Affine,
    Apply,
    Expr,
    Kernel,
    LoopKind,
    Order,
    Role,
    Statement,
    accesses,
    conflict,
    index_range,
    is_float,
    leaves_elements,
    map_accesses,
    may_swap,
)
from isamap.rewrites import substitute_access

from .tasks import Ends, Task, TaskNode, flatten


def join_tasks(kernel: Kernel, siblings: tuple[Task, ...], position: int) -> tuple[Task, ...]:
    """The sum at `position` of tasks under the same held loops, with all that it can take over,
    and with its beginning only.

    None at all: it is no sum, or nothing can be taken over.
    """
    total = siblings[position]
    if total.statement.update != "+=" or not _is_plain(total.statement.target):
        return ()
    ways = _join_finish(kernel, siblings, total), _join_beginning(kernel, siblings, total)
    return tuple(task for task in ways if task is not None)


def _join_beginning(kernel: Kernel, siblings: tuple[Task, ...], total: Task) -> Task | None:
    """The sum with the statement that says where it begins; it is stored as it is."""
    before = [number for number in _users(kernel, total) if number < total.number]
    beginning = next((task for task in siblings if [task.number] == before), None)
    inlet = _begin(total, beginning) if beginning else None
    if beginning is None or inlet is None or not _may_join(kernel, total, (beginning,)):
        return None
    return _joined(kernel, total, (beginning,), Ends(inlet, None, None))


def _users(kernel: Kernel, total: Task) -> list[int]:
    """Numbers of the statements that touch elements that the sum is added to."""
    return [
        number
        for number, statement in enumerate(kernel.statements)
        if any(_meets(total.statement, statement, access) for access in statement.accesses)
    ]


def _meets(total: Statement, other: Statement, access: Access) -> bool:
    """May an access of another statement lead to an element of the sum's target?"""
    if access.buffer != total.target.buffer:
        return False
    extents = [statement.extents for statement in (total, other)]
    for mine, theirs in zip(total.target.indices, access.indices, strict=True):
        (low, high), (first, last) = index_range(mine, extents[0]), index_range(theirs, extents[1])
        if high < first or last < low:
            return False
    return True


def _join_finish(kernel: Kernel, siblings: tuple[Task, ...], total: Task) -> Task | None:
    """The sum into a temporary with what becomes of it, and with where it begins."""
    name = total.statement.target.buffer
    users = _users(kernel, total)
    own = {task.number: task for task in siblings}
    is_temporary = kernel.buffer(name).role is Role.TEMP
    after = [number for number in users if number > total.number]
    if not is_temporary or len(after) != 1 or after[0] not in own:
        return None
    before = [number for number in users if number < total.number]
    finish = _Finish.read(kernel, total, own[after[0]])
    if finish is None:
        return None
    inlet, taken = finish.addend, [own[after[0]]]
    if before:
        if inlet is not None:
            return None
        beginning = own.get(before[0]) if len(before) == 1 else None
        inlet = _begin(total, beginning) if beginning else None
        if beginning is not None and inlet is not None:
            taken.append(beginning)
        else:
            inlet = total.statement.target  # from what others left there
    if not _begins_anew(total, [own.get(number) for number in before]):
        return None
    if not _may_join(kernel, total, tuple(taken)):
        return None
    return _joined(kernel, total, tuple(taken), Ends(inlet, finish.target, finish.value))


def keeps_order(kernel: Kernel, nodes: tuple[TaskNode, ...]) -> bool:
    """May the tasks, some of them joined, run in this order? Joins move statements both ways, so
    that two of them may pass each other."""
    parts = [
        [part for task in flatten((node,)) for part in (task.parts or (task,))] for node in nodes
    ]
    return all(
        _may_pass(kernel, second, first.number, first.held)
        for position, before in enumerate(parts)
        for after in parts[position + 1 :]
        for first in before
        for second in after
        if first.number > second.number
    )


def _may_pass(kernel: Kernel, task: Task, number: int, held: tuple[str, ...]) -> bool:
    """May the task run on the other side of another statement, in every iteration of the loops
    that are held around both?"""
    low, high = sorted((task.number, number))
    nests = [[x.name for x in kernel.statements[n].loops] for n in range(low, high + 1)]
    shared = takewhile(lambda names: len(set(names)) == 1, zip(*nests, strict=False))
    fixed = [name for name, *_ in shared if name in held and name in task.held]
    other = kernel.statements[number]
    return may_swap(task.statement, other, may_reassociate=True, fixed=fixed)


def _begins_anew(total: Task, before: list[Task | None]) -> bool:
    """Does no iteration of a held loop use what an earlier one left in the sum?

    It would be gone: a joined sum is not stored. `before`: the other tasks on it that precede the
    sum, None for one that is not under the same held loops.
    """
    target = total.statement.target
    held = [name for name in total.held if total.statement.extent(name) > 1]
    if not held:
        return True
    for task in before:
        if task is None or not _is_plain(task.statement.target):
            return False
        reads = {a for a in accesses(task.statement.value) if a.buffer == target.buffer}
        if reads or _renaming(total, task, task.statement.target) is None:
            return False
    first = next(iter(before), None)
    is_set = first is not None and first.statement.update == "="
    return is_set or all(target.moves_with(name) for name in held)


@dataclass(frozen=True, slots=True)
class _Finish:
    """What becomes of a sum, in the sum's loops: `target = value`; `addend`: added to it first."""

    target: Access
    value: Expr
    addend: Access | None

    @staticmethod
    def read(kernel: Kernel, total: Task, task: Task) -> "_Finish | None":
        """The finish that a task computes, None if it does anything else."""
        statement = task.statement
        name = total.statement.target.buffer
        reads = [a for a in statement.reads if a.buffer == name]
        if statement.update != "=" or len(set(reads)) != 1:
            return None
        if statement.target.buffer == name or not _is_plain(reads[0]):
            return None
        renaming = _renaming(total, task, reads[0])
        if renaming is None:
            return None
        value = map_accesses(statement.value, lambda a: substitute_access(a, renaming))
        target = substitute_access(statement.target, renaming)
        whole = total.statement.target
        dtype = kernel.buffer(whole.buffer).dtype
        is_once = accesses(value).count(whole) == 1
        addend = _find_addend(value, whole) if is_once and not is_float(dtype) else None
        if addend is not None:
            if kernel.buffer(addend.buffer).dtype != dtype:
                return None
            value = _without(value, whole, addend)
        others = {access for access in accesses(value) if access != whole}
        return None if others else _Finish(target, value, addend)


def _is_plain(access: Access) -> bool:
    """Does every dimension move with a loop of its own?"""
    names = [index.names for index in access.indices]
    single = all(len(n) == 1 for n in names) and len({n[0] for n in names}) == len(names)
    steps = all(index.coefficient(index.names[0]) == 1 for index in access.indices if single)
    return single and steps and access.pad is None


def _renaming(total: Task, task: Task, read: Access) -> dict[str, Affine] | None:
    """Loops of the finishing task as loops of the sum; None if they are not the sum's."""
    renaming: dict[str, str] = {}
    for mine, theirs in zip(total.statement.target.indices, read.indices, strict=True):
        if mine.constant != theirs.constant:
            return None
        renaming[theirs.names[0]] = mine.names[0]
    for loop in task.statement.loops:
        if loop.name in task.held:
            if renaming.setdefault(loop.name, loop.name) != loop.name:
                return None
        elif loop.name not in renaming:
            return None
        if loop.extent != total.statement.extent(renaming[loop.name]):
            return None
    return {old: Affine.var(new) for old, new in renaming.items()}


def _begin(total: Task, task: Task) -> Access | None:
    """The access that a task copies into the sum before it begins."""
    statement = task.statement
    if statement.update != "=" or not isinstance(statement.value, Access):
        return None
    if not _is_plain(statement.target) or statement.value.pad is not None:
        return None
    renaming = _renaming(total, task, statement.target)
    return None if renaming is None else substitute_access(statement.value, renaming)


def _find_addend(value: Expr, total: Access) -> Access | None:
    """The access that `value` adds to the sum before anything else."""
    match value:
        case Apply("+", (left, right)) if left == total and isinstance(right, Access):
            return right
        case Apply("+", (left, right)) if right == total and isinstance(left, Access):
            return left
        case Apply(_, args):
            found = [_find_addend(arg, total) for arg in args]
            return next((access for access in found if access is not None), None)
        case _:
            return None


def _without(value: Expr, total: Access, addend: Access) -> Expr:
    if not isinstance(value, Apply):
        return value
    if value.op == "+" and set(value.args) == {total, addend}:
        return total
    return Apply(value.op, tuple(_without(arg, total, addend) for arg in value.args))


def _may_join(kernel: Kernel, total: Task, taken: tuple[Task, ...]) -> bool:
    """May the statements run together, tile by tile of the sum, past everything between them?"""
    held = dict.fromkeys(total.held, Order.EQUAL)
    name = total.statement.target.buffer
    for task in taken:
        low, high = sorted((task.number, total.number))
        if not all(_may_pass(kernel, task, n, total.held) for n in range(low + 1, high)):
            return False
        bare = _without_buffer(task.statement, name, "this one's")
        for partner in (total, *taken):
            if partner is not task:
                other = _without_buffer(partner.statement, name, "the other's")
                if conflict(bare, other, held) is not LoopKind.PARALLEL:
                    return False
    return True


def _without_buffer(statement: Statement, name: str, label: str) -> Statement:
    """The statement as far as other buffers are concerned; `label` stands for a target left out."""
    others = [access for access in statement.reads if access.buffer != name]
    value: Expr = Apply("+", tuple(others)) if others else Apply("+", ())
    target = statement.target
    if target.buffer == name:
        target = Access(label, ())
    return replace(statement, target=target, value=value)


def _joined(kernel: Kernel, total: Task, taken: tuple[Task, ...], ends: Ends) -> Task:
    extra = [access.buffer for access in (ends.inlet, ends.outlet) if access is not None]
    known = {buffer.name: buffer for buffer in total.kernel.buffers}
    name = total.statement.target.buffer
    begins = ends.inlet is not None and ends.inlet.buffer == name
    known[name] = replace(known[name], role=Role.INOUT if begins else Role.OUT)
    for other in extra:
        role = Role.OUT if ends.outlet and other == ends.outlet.buffer else Role.IN
        known.setdefault(other, replace(kernel.buffer(other), role=role))
    for task in (total, *taken):
        target = kernel.buffer(task.statement.target.buffer)
        if target.name in known and leaves_elements(task.statement, target):
            known[target.name] = replace(known[target.name], role=Role.INOUT)
    buffers = tuple(known[b.name] for b in kernel.buffers if b.name in known)
    volatile = dict.fromkeys(pair for task in (total, *taken) for pair in task.volatile)
    return Task(
        replace(total.kernel, buffers=buffers),
        total.number,
        total.held,
        tuple(pair for pair in volatile if pair[0] in known),
        ends,
        tuple(sorted((total, *taken), key=lambda task: task.number)),
        tuple(sorted({name for task in (total, *taken) for name in task.late})),
    )
