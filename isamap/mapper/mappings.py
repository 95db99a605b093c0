"""List every way to bind an instruction to a statement, whatever the extents.

In: a kernel, a machine. Out: a stream of mappings, each once. Not its job: tiles, layouts, copies
(`cover_mapping`), what is worth scheduling (`match`).

Rule. A kernel loop belongs to an instruction loop when it moves exactly the operands that the
instruction loop moves. A mapping gives every instruction loop a set of the loops that belong to it,
an empty one (it runs once) only where no loop that is left could be added. Sets, because a group is
tiled jointly: the order inside it is a choice of layout. Loops left over stay outside the call. A
call writes each element of the target in one place.

With `replicate`, inputs may move with more instruction loops than kernel loops (their elements are
copied side by side), so a loop may belong to several instruction loops.

With gather, a copy, a view or a packed layout may form an operand's tile, so sets that split an
index such as p + r between two instruction loops count too. Without, every member of every set must
be part of some binding of one loop each in which each operand is indexed as the instruction's is.

Two mappings are the same when a symmetry of the instruction turns one into the other: renaming its
loops and operands so that nothing changes but the order of an operand's dimensions, as in
transposed(A B) = transposed(B) transposed(A). The one whose operands come in the kernel's order
stands for both.

Source: access matrices as in AMOS (Zheng et al., ISCA 2022, section 4), whose counts without gather
these are; derived here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, combinations, permutations, product

from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Access, Affine, Kernel, LoopKind, Statement, loop_kinds

from .conversions import Conversion, conversions
from .match import Mismatch, unify
from .roles import may_compute

UNBOUND = 80  # progress of what computes the same, over other loops
Groups = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Mapping:
    """Operands to accesses, instruction loops to sets of kernel loops (in the kernel's order).

    `rewrites`: names of the kernel rewrites under which the binding holds. `inlets`: where a
    target's earlier value comes from, if not from the target.
    """

    statement: int
    instruction: str
    operands: tuple[tuple[str, Access], ...]
    immediates: tuple[tuple[str, int | float], ...]
    groups: Groups
    rewrites: tuple[str, ...] = ()
    inlets: tuple[tuple[str, Access], ...] = ()


@dataclass(frozen=True, slots=True)
class _Rule:
    """How an operand's tile may differ from what the kernel's buffer holds."""

    gather: bool
    replicate: bool


@dataclass(frozen=True, slots=True)
class _Symmetry:
    """Operands and loops of an instruction, each with the one that takes its place."""

    operands: tuple[tuple[str, str], ...]
    loops: tuple[tuple[str, str], ...]


def mappings(
    kernel: Kernel,
    hw: Hardware,
    *,
    gather: bool,
    replicate: bool = False,
    rewrites: tuple[str, ...] = (),
) -> Iterator[Mapping]:
    """All distinct mappings of every statement onto every instruction that computes it.

    `gather`: may an operand's tile be formed from elements that the instruction does not index the
    way the kernel does? `replicate`: may its tile hold an element several times? `rewrites`: what
    was done to the kernel before, recorded as it is.
    """
    rule = _Rule(gather, replicate)
    converted = conversions(hw)
    for index in range(len(kernel.statements)):
        for instruction in hw.instructions:
            if may_compute(instruction, kernel.statements[index]):
                yield from _instruction_mappings(
                    kernel, index, instruction, converted, rule, rewrites
                )


def unmatched(
    kernel: Kernel, hw: Hardware, *, gather: bool, replicate: bool = False
) -> tuple[Mismatch, ...]:
    """Why operation trees differ, or loops do, for every statement and instruction that no mapping
    binds."""
    converted, rule = conversions(hw), _Rule(gather, replicate)
    found = (
        _mismatch(kernel, index, instruction, converted, rule)
        for index, statement in enumerate(kernel.statements)
        for instruction in hw.instructions
        if may_compute(instruction, statement)
    )
    return tuple(mismatch for mismatch in found if mismatch is not None)


def _mismatch(
    kernel: Kernel,
    index: int,
    instruction: Instruction,
    converted: frozenset[Conversion],
    rule: _Rule,
) -> Mismatch | None:
    trees, mismatch = unify(kernel, index, instruction, converted=converted)
    if not trees:
        return mismatch
    statement = kernel.statements[index]
    ways = [dict(tree.operands) for tree in trees]
    if any(True for way in ways for _ in _bind(statement, instruction, way, rule)):
        return None
    rows = [loops_of_role(statement, instruction, w, replicate=rule.replicate) for w in ways]
    names = " or ".join(loop.name for loop in instruction.semantics.statements[0].loops)
    reason = f"no loop of the kernel moves the same operands as {names or 'a loop of its'}"
    if any(members for row in rows for _, members in row):
        reason = f"what moves the same operands as {names} indexes them in another way"
    return Mismatch(instruction.name, index, UNBOUND, reason)


def _instruction_mappings(
    kernel: Kernel,
    index: int,
    instruction: Instruction,
    converted: frozenset[Conversion],
    rule: _Rule,
    rewrites: tuple[str, ...],
) -> Iterator[Mapping]:
    """All distinct mappings of one statement onto one instruction."""
    trees, _ = unify(kernel, index, instruction, converted=converted)
    if not trees:
        return
    statement = kernel.statements[index]
    symmetries = _symmetries(instruction)
    for tree in trees:
        for groups in _bind(statement, instruction, dict(tree.operands), rule):
            found = Mapping(
                index,
                instruction.name,
                tree.operands,
                tree.immediates,
                groups,
                rewrites,
                tree.foreign_inlets,
            )
            own = _place(statement, found)
            if all(own <= _place(statement, _turned(found, s)) for s in symmetries):
                yield found


def orientations(instruction: Instruction, mapping: Mapping) -> tuple[Mapping, ...]:
    """The mapping and its images under the instruction's symmetries, itself first."""
    images = (_turned(mapping, symmetry) for symmetry in _symmetries(instruction))
    return tuple(dict.fromkeys((mapping, *images)))


def loops_of_role(
    statement: Statement,
    instruction: Instruction,
    operands: dict[str, Access],
    *,
    replicate: bool = False,
) -> Groups:
    """Per instruction loop the kernel loops that belong to it, in the kernel's order."""
    pattern = instruction.semantics.statements[0]
    free = [loop.name for loop in statement.loops]
    reads = {read.buffer for read in statement.reads}
    if statement.update == "=" or statement.target.buffer in reads:  # else no order matters
        kinds = loop_kinds(statement)
        free = [name for name in free if kinds[name] is not LoopKind.SEQUENTIAL]
    moved_by = {x: {o for o, a in operands.items() if a.moves_with(x)} for x in free}
    rows = []
    for loop in pattern.loops:
        moved = {name for name in operands if instruction.access(name).moves_with(loop.name)}
        extra = moved - {pattern.target.buffer} if replicate else set()
        members = tuple(x for x in free if moved_by[x] and moved - extra <= moved_by[x] <= moved)
        rows.append((loop.name, members))
    return tuple(rows)


def _bind(
    statement: Statement, instruction: Instruction, operands: dict[str, Access], rule: _Rule
) -> Iterator[Groups]:
    """All legal disjoint choices of a subset per instruction loop, empty only where none fits."""
    rows = loops_of_role(statement, instruction, operands, replicate=rule.replicate)
    if not any(members for _, members in rows):
        return
    names = [name for name, _ in rows]
    law = _Law(statement, instruction, operands)
    for choice in product(*(_subsets(members) for _, members in rows)):
        groups = tuple(zip(names, choice, strict=True))
        bound = [name for members in choice for name in members]
        if not bound or len(set(bound)) < len(bound) or not law.allows(groups):
            continue
        if any(law.allows(more) for more in _with_one_more(groups, rows)):
            continue
        if rule.gather or _is_natural(groups, instruction, operands):
            yield groups


def _subsets(members: tuple[str, ...]) -> list[tuple[str, ...]]:
    """All subsets, small ones first."""
    return list(chain.from_iterable(combinations(members, n) for n in range(len(members) + 1)))


def _with_one_more(groups: Groups, rows: Groups) -> Iterator[Groups]:
    """The groups with an empty one given a loop that belongs to it and is bound nowhere."""
    used = {name for _, members in groups for name in members}
    for number, ((loop, members), (_, able)) in enumerate(zip(groups, rows, strict=True)):
        for name in () if members else able:
            if name not in used:
                yield (*groups[:number], (loop, (name,)), *groups[number + 1 :])


def _is_natural(groups: Groups, instruction: Instruction, operands: dict[str, Access]) -> bool:
    """Is every member part of a choice of one loop per group that indexes as the instruction
    does?"""
    taken = [(loop, members) for loop, members in groups if members]
    covered: set[str] = set()
    for choice in product(*(members for _, members in taken)):
        bound = {name: loop for (loop, _), name in zip(taken, choice, strict=True)}
        if not covered.issuperset(choice) and _is_indexed_alike(bound, instruction, operands):
            covered.update(choice)
    return all(covered.issuperset(members) for _, members in taken)


def _is_indexed_alike(
    bound: dict[str, str], instruction: Instruction, operands: dict[str, Access]
) -> bool:
    """Do the bound loops (kernel loop to instruction loop) index each operand as the instruction's
    do, up to the order of dimensions?"""
    for name, access in operands.items():
        moving = {
            loop: loop for kernel_loop, loop in bound.items() if access.moves_with(kernel_loop)
        }
        if _shape(access, bound) != _shape(instruction.access(name), moving):
            return False
    return True


def _shape(access: Access, bound: dict[str, str]) -> list[list[str]]:
    """Which of the bound loops (by their new names) each index depends on, order aside."""
    parts = (sorted(bound[n] for n in index.names if n in bound) for index in access.indices)
    return sorted(part for part in parts if part)


class _Law:
    """What forbids groups though each loop belongs where it is; remembers what it has solved."""

    def __init__(
        self, statement: Statement, instruction: Instruction, operands: dict[str, Access]
    ) -> None:
        self.statement = statement
        self.instruction = instruction
        self.operands = operands
        self.known: dict[frozenset[str], bool] = {}

    def allows(self, groups: Groups) -> bool:
        """Do windows agree, and does a call write each element of the target in one place?"""
        target = self.statement.target
        bound = frozenset(n for _, members in groups for n in members if target.moves_with(n))
        if bound not in self.known:
            self.known[bound] = self._writes_once(bound)
        return self.known[bound] and _fits_windows(groups, self.instruction, self.operands)

    def _writes_once(self, bound: frozenset[str]) -> bool:
        indices = self.statement.target.indices
        if all(len(bound & set(index.names)) < 2 for index in indices):
            return True
        outside = [loop.name for loop in self.statement.loops if loop.name not in bound]
        kinds = loop_kinds(self.statement, outside)
        return all(kinds[name] is LoopKind.PARALLEL for name in bound)


def _fits_windows(groups: Groups, instruction: Instruction, operands: dict[str, Access]) -> bool:
    """Where the instruction adds several bound loops in one index, does the kernel do the same?

    Each must be bound to one loop, and these move the operand in the same proportion.
    """
    bound = {loop: members for loop, members in groups if members}
    for name, access in operands.items():
        for index in instruction.access(name).indices:
            terms = tuple(term for term in index.terms if term[0] in bound)
            if len(terms) < 2:
                continue
            if any(len(bound[loop]) > 1 for loop, _ in terms):
                return False
            steps = tuple((bound[loop][0], coefficient) for loop, coefficient in terms)
            if not _is_proportional(steps, access):
                return False
    return True


def _is_proportional(steps: tuple[tuple[str, int], ...], access: Access) -> bool:
    """Do the kernel loops move `access` by `steps`, up to a factor per dimension?"""
    (first, scale), *others = steps
    return all(
        index.coefficient(name) * scale == index.coefficient(first) * coefficient
        for index in access.indices
        for name, coefficient in others
    )


def _symmetries(instruction: Instruction) -> tuple[_Symmetry, ...]:
    """All symmetries of the instruction but the identity."""
    pattern = instruction.semantics.statements[0]
    trees, _ = unify(instruction.semantics, 0, instruction)
    names = [loop.name for loop in pattern.loops]
    found = []
    for tree in (tree for tree in trees if not tree.foreign_inlets):
        operands = tuple((name, access.buffer) for name, access in tree.operands)
        for order in permutations(names):
            loops = dict(zip(names, order, strict=True))
            is_identity = operands == tuple((a, a) for a, _ in operands) and tuple(names) == order
            if not is_identity and _is_symmetric(instruction, dict(operands), loops):
                found.append(_Symmetry(operands, tuple(loops.items())))
    return tuple(found)


def _is_symmetric(
    instruction: Instruction, operands: dict[str, str], loops: dict[str, str]
) -> bool:
    if any(_limits(instruction, a) != _limits(instruction, b) for a, b in loops.items()):
        return False
    renamed = {name: Affine.var(other) for name, other in loops.items()}
    for name, other in operands.items():
        own = [str(index.substitute(renamed)) for index in instruction.access(name).indices]
        if sorted(own) != sorted(str(index) for index in instruction.access(other).indices):
            return False
    return True


def _limits(instruction: Instruction, loop: str) -> tuple[object, ...]:
    rule = instruction.extent(loop)
    return rule.kind, rule.maximum, rule.multiple


def _turned(mapping: Mapping, symmetry: _Symmetry) -> Mapping:
    """The mapping with each operand and loop given what its image has."""
    operands, groups = dict(mapping.operands), dict(mapping.groups)
    others, loops = dict(symmetry.operands), dict(symmetry.loops)
    return Mapping(
        mapping.statement,
        mapping.instruction,
        tuple((name, operands[others[name]]) for name, _ in mapping.operands),
        mapping.immediates,
        tuple((name, groups[loops[name]]) for name, _ in mapping.groups),
        mapping.rewrites,
        mapping.inlets,
    )


def _place(statement: Statement, mapping: Mapping) -> tuple[object, ...]:
    """Sorts a mapping whose operands stand in the kernel's order before its images."""
    reads = statement.accesses
    return [reads.index(access) for _, access in mapping.operands], mapping.groups
