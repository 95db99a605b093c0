"""Find every way in which one instruction computes one statement.

In: a statement of a kernel, an instruction. Out: matches (operands to accesses, instruction loops
to groups of kernel loops), or the first condition that failed. Not its job: copies, layouts, costs,
legality between statements.

Rules. The instruction's operation tree equals the statement's up to commutativity, types included
unless ranges prove that neither wraps nor saturates (`exact_form`).
An update equals its spelled-out form; `spelling` has further laws. Where the instruction reads its
own target, the kernel may read another buffer instead: the target's inlet.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import assert_never

from isamap.hwdesc import Instruction, immediate_value
from isamap.ir import (
    OPS,
    UPDATES,
    Access,
    Apply,
    Expr,
    Immediate,
    Kernel,
    Literal,
    Statement,
    exact_form,
    is_cast,
    is_widening,
    normalise_update,
    pretty_expr,
    saturations,
    without_casts,
)

from .bind_loops import bind_loops
from .conversions import Conversion
from .named_number import named_number
from .spelling import firm_operations, instruction_spellings, kernel_spellings, with_numbers


@dataclass(frozen=True, slots=True)
class Match:
    """One instruction on one statement: operand name -> access, instruction loop -> kernel
    loops.

    `inlets`: the access that a target's earlier value comes from, where that is not the target.
    """

    instruction: Instruction
    operands: tuple[tuple[str, Access], ...]
    immediates: tuple[tuple[str, int | float], ...]
    binding: tuple[tuple[str, tuple[str, ...]], ...]
    inlets: tuple[tuple[str, Access], ...] = ()

    @property
    def updates_target(self) -> bool:
        """Does the instruction read what it writes, through the same operand?"""
        (statement, *_), result = self.instruction.semantics.statements, self.instruction.result
        return statement.update != "=" or result.buffer in dict(self.inlets)

    @property
    def is_whole(self) -> bool:
        """Does one call compute several statements, sums to their end included?"""
        return len(self.instruction.semantics.statements) > 1


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why an instruction does not compute a statement; `progress` counts the conditions that
    held."""

    instruction: str
    statement: int
    progress: int
    reason: str


@dataclass(frozen=True, slots=True)
class Bindings:
    """Operand accesses and immediates bound so far."""

    operands: tuple[tuple[str, Access], ...] = ()
    immediates: tuple[tuple[str, int | float], ...] = ()
    inlets: tuple[tuple[str, Access], ...] = ()

    @property
    def foreign_inlets(self) -> tuple[tuple[str, Access], ...]:
        """Inlets that are not the target itself."""
        return tuple(pair for pair in self.inlets if pair not in self.operands)


def match_statement(
    kernel: Kernel,
    index: int,
    instruction: Instruction,
    held: tuple[str, ...] = (),
    *,
    explains: bool = True,
    converted: frozenset[Conversion] = frozenset(),
) -> tuple[tuple[Match, ...], Mismatch | None]:
    """All matches of `instruction` on statement `index`, or the nearest reason why there is none.

    Loops in `held` stay outside. `explains`: is the reason wanted? It takes most of the time.
    `converted`: by copies of the machine; the kernel's `f32(x)` may then be an f32 operand that is
    bound to x.
    """
    trees, mismatch = unify(kernel, index, instruction, explains=explains, converted=converted)
    statement = kernel.statements[index]
    different = dict.fromkeys((t.operands, t.immediates, t.foreign_inlets) for t in trees)
    found = tuple(
        Match(instruction, operands, immediates, binding, inlets)
        for operands, immediates, inlets in different
        for binding in bind_loops(statement, instruction, dict(operands), held)
    )
    return found, mismatch


def several(instruction: Instruction) -> str:
    """Why an instruction of several statements computes none of them alone."""
    statements = instruction.semantics.statements
    result = statements[0].target
    together = f"computes {len(statements)} statements at once; together are matched only"
    first, *others = (s.target for s in statements if s.target.buffer == result.buffer)
    if statements[0].update == "=" and any(_loops(other) != _loops(first) for other in others):
        return f"{together} statements under the same loops: write {result.buffer} in one nest"
    if sum(statement.update == "+=" for statement in statements) < 2:
        return f"{together} a sum and what follows"
    return f"{together} one sum and what follows: describe one instruction per sum"


def _loops(target: Access) -> list[str]:
    return [name for index in target.indices for name in index.names]


def unify(
    kernel: Kernel,
    index: int,
    instruction: Instruction,
    *,
    explains: bool = True,
    converted: frozenset[Conversion] = frozenset(),
) -> tuple[tuple[Bindings, ...], Mismatch | None]:
    """All ways in which the instruction's operation tree is that of statement `index`, loops
    aside; why there is none if `explains`."""
    statement = kernel.statements[index]
    if len(instruction.semantics.statements) != 1:
        return (), Mismatch(instruction.name, index, 0, several(instruction))
    pattern, subject = instruction.semantics.statements[0], statement
    if pattern.update != statement.update:
        if not _may_spell_out(pattern, statement):
            if not explains:
                return (), None
            reason = _saturation(kernel, statement, instruction)
            reason = reason or _update_reason(pattern, statement)
            return (), Mismatch(instruction.name, index, 1, reason)
        pattern, subject = spelled_update(pattern), spelled_update(statement)
    if not explains and firm_operations(pattern.value) != firm_operations(subject.value):
        return (), None
    unifier = Unifier(kernel, instruction, converted)
    trees = tuple(dict.fromkeys(unifier.unify_statement(pattern, subject)))
    if trees:
        return trees, None
    dtypes = {buffer.name: buffer.dtype for buffer in kernel.buffers}
    exact = (_exact(pattern, instruction.semantics), _exact(subject, kernel))
    folded = (pattern, replace(subject, value=with_numbers(subject.value, dtypes)))
    for pair in (exact, folded):
        if pair != (pattern, subject) and not trees:
            again = Unifier(kernel, instruction, converted)
            trees = tuple(dict.fromkeys(again.unify_statement(*pair)))
    if trees or not explains:
        return trees, None
    reason = _saturation(kernel, statement, instruction) or unifier.reason
    own = instruction.semantics.statements[0]
    if own.update != statement.update and _summed(statement):
        reason = _update_reason(own, statement)
    return (), Mismatch(instruction.name, index, 2 + unifier.depth, reason)


def _exact(statement: Statement, kernel: Kernel) -> Statement:
    """The statement with its value in exact form: casts that change nothing are gone."""
    return replace(statement, value=exact_form(statement.value, kernel))


def _saturation(kernel: Kernel, statement: Statement, instruction: Instruction) -> str:
    """That the instruction saturates, if this is all that keeps it from computing the statement."""
    pattern = instruction.semantics.statements[0]
    own = exact_form(pattern.value, instruction.semantics)
    theirs = exact_form(statement.value, kernel)
    lost = [op for op in saturations(own) if op not in saturations(theirs)]
    if not lost:
        return ""
    update, value = normalise_update(pattern.target, pattern.update, without_casts(own))
    bare = replace(pattern, update=update, value=value)
    subject = replace(statement, value=without_casts(theirs))
    unified = Unifier(kernel, instruction).unify_statement(bare, subject)
    if update != statement.update or next(unified, None) is None:
        return ""
    return (
        f"saturates ({lost[0]} in {pretty_expr(pattern.value)}), the kernel does not,"
        " and the operands' types do not exclude that it happens"
    )


def _may_spell_out(pattern: Statement, statement: Statement) -> bool:
    """May the two differ in spelling only? An instruction that assigns never sums up over several
    calls."""
    if pattern.update != "=":
        return statement.update == "="
    return not _summed(statement)


def _update_reason(pattern: Statement, statement: Statement) -> str:
    summed = _summed(statement)
    over = f" over {', '.join(summed)}" if summed else ""
    if summed and statement.update == "=":
        over += ", of which only the last counts"
    return f"updates its target by '{pattern.update}', the kernel by '{statement.update}'{over}"


def _summed(statement: Statement) -> list[str]:
    """Loops that do not move the target."""
    return [x.name for x in statement.loops if not statement.target.moves_with(x.name)]


def spelled_update(statement: Statement) -> Statement:
    """`x += e` as `x = x + e`, and where something negative is added, as `x = x - e`."""
    operation, value = UPDATES[statement.update], statement.value
    if operation is not None:
        value = Apply(operation, (statement.target, value))
    match value:
        case Apply("+", (left, Apply("neg", (right,)))) | Apply(
            "+", (Apply("neg", (right,)), left)
        ):
            value = Apply("-", (left, right))
    return replace(statement, update="=", value=value)


class Unifier:
    """Unifies operation trees and remembers the deepest failure for the explanation."""

    def __init__(
        self,
        kernel: Kernel,
        instruction: Instruction,
        converted: frozenset[Conversion] = frozenset(),
    ) -> None:
        self.converted = converted
        self.kernel = kernel
        self.instruction = instruction
        self.rules = {rule.name: rule for rule in instruction.immediates}
        self.target = instruction.semantics.statements[0].target
        self.depth = -1
        self.reason = ""

    def unify_statement(self, pattern: Statement, subject: Statement) -> Iterator[Bindings]:
        """All bindings under which the pattern's target and value are the subject's."""
        for bound in self._unify(pattern.target, subject.target, Bindings(), 0):
            yield from self.unify_value(pattern.value, subject.value, bound)

    def unify_value(self, pattern: Expr, subject: Expr, bound: Bindings) -> Iterator[Bindings]:
        """All extensions of `bound` under which one expression is the other, by `spelling`."""
        dtypes = {buffer.name: buffer.dtype for buffer in self.kernel.buffers}
        wanted = instruction_spellings(pattern, self.instruction)
        given = kernel_spellings(subject, dtypes)
        for pair in product(wanted, given):
            told = self.depth, self.reason
            yield from self._unify(*pair, bound, 1)
            if pair != (wanted[0], given[0]):  # reasons speak of what stands there
                self.depth, self.reason = told

    def _fail(self, depth: int, reason: str) -> None:
        if depth > self.depth:
            self.depth, self.reason = depth, reason

    def _unify(
        self, pattern: Expr, subject: Expr, bound: Bindings, depth: int
    ) -> Iterator[Bindings]:
        if isinstance(subject, Literal):
            named = named_number(pattern, subject.value, self.rules)
            if named is not None:
                yield from self._unify_immediate(*named, bound, depth)
                return
        match pattern:
            case Access():
                yield from self._unify_access(pattern, subject, bound, depth)
            case Literal(value):
                if isinstance(subject, Literal) and subject.value == value:
                    yield bound
                else:
                    self._fail(
                        depth,
                        f"has the constant {value} where the kernel has {pretty_expr(subject)}",
                    )
            case Immediate():
                self._fail(depth, f"takes an immediate where the kernel has {pretty_expr(subject)}")
            case Apply(op, args):
                if not isinstance(subject, Apply) or subject.op != op:
                    self._fail(
                        depth,
                        f"computes {pretty_expr(pattern)}, the kernel {pretty_expr(subject)}",
                    )
                    return
                orders = [subject.args]
                if is_cast(op) and (inner := self._widened(args[0], subject.args[0])):
                    orders = [(inner,)]
                if OPS[op].is_commutative and len(args) == 2 and args[0] != args[1]:
                    orders.append(subject.args[::-1])
                for order in orders:
                    yield from self._unify_all(args, order, bound, depth + 1)
            case _:
                assert_never(pattern)

    def _unify_all(
        self, patterns: tuple[Expr, ...], subjects: tuple[Expr, ...], bound: Bindings, depth: int
    ) -> Iterator[Bindings]:
        if not patterns:
            yield bound
            return
        for first in self._unify(patterns[0], subjects[0], bound, depth):
            yield from self._unify_all(patterns[1:], subjects[1:], first, depth)

    def _unify_access(
        self, pattern: Access, subject: Expr, bound: Bindings, depth: int
    ) -> Iterator[Bindings]:
        needs = self.instruction.semantics.buffer(pattern.buffer).dtype
        brought = self._brought(pattern, subject, needs)
        subject = subject if brought is None else brought
        if not isinstance(subject, Access):
            self._fail(depth, f"reads {pattern.buffer} where the kernel has {pretty_expr(subject)}")
            return
        has = self.kernel.buffer(subject.buffer).dtype
        if brought is None and needs != has:
            self._fail(depth, f"operand {pattern.buffer} is {needs}, {subject.buffer} is {has}")
            return
        if pattern != self.instruction.access(pattern.buffer):
            self._fail(
                depth, f"reads {pattern.buffer} at two places at once: make them two operands"
            )
            return
        is_read = pattern == self.target  # the target itself comes first, in its own call
        known = dict(bound.operands).get(pattern.buffer)
        inlet = dict(bound.inlets).get(pattern.buffer)
        if known is None:
            yield replace(bound, operands=(*bound.operands, (pattern.buffer, subject)))
        elif is_read and inlet is None and (subject == known or subject.buffer != known.buffer):
            yield replace(bound, inlets=(*bound.inlets, (pattern.buffer, subject)))
        elif subject == (inlet or known):
            yield bound
        else:
            both = f"{pretty_expr(inlet or known)} and {pretty_expr(subject)}"
            self._fail(depth, f"operand {pattern.buffer} would be both {both}")

    def _widened(self, pattern: Expr, subject: Expr) -> Expr | None:
        """Inside a cast, which sees values only: x, cast to an operand's type that holds them, if
        copies convert so."""
        match pattern, subject:
            case Access(operand), Access(buffer):
                needs = self.instruction.semantics.buffer(operand).dtype
                has = self.kernel.buffer(buffer).dtype
                wide = Apply(needs, (subject,))
                may = is_widening(has, needs) and self._brought(pattern, wide, needs) is not None
                return wide if may else None
            case _:
                return None

    def _brought(self, pattern: Access, subject: Expr, needs: str) -> Access | None:
        """What copies bring, where they convert it as the kernel does on the way to an operand that
        is only read."""
        if not self.converted or pattern == self.target:
            return None
        memories = {rule.name: rule.memory for rule in self.instruction.operands}
        match subject:
            case Apply(op, (Access(buffer) as read,)) if op == needs:
                way = (memories.get(pattern.buffer), self.kernel.buffer(buffer).dtype, needs)
                return read if way in self.converted else None
            case _:
                return None

    def _unify_immediate(
        self, name: str, number: int | float, bound: Bindings, depth: int
    ) -> Iterator[Bindings]:
        rule = self.rules[name]
        value = immediate_value(rule, number)
        if value is None:
            limits = f"{rule.minimum} to {rule.maximum}"
            self._fail(depth, f"immediate {name} takes {limits}, not {number}")
        elif dict(bound.immediates).get(name, value) == value:
            values = dict(bound.immediates) | {name: value}
            ordered = (r.name for r in self.instruction.immediates if r.name in values)
            yield replace(bound, immediates=tuple((n, values[n]) for n in ordered))
        else:
            self._fail(depth, f"immediate {name} would have two values")
