"""Find the instructions that turn finished sums into what is stored.

In: an expression over a sum, a machine, the memory the sum lies in. Out: sequences of instructions
that update the sum in place, and the one that stores it. Not its job: blocks, layouts, costs.

The store computes the outermost operations, each instruction before it the next ones inside. An
expression is also tried as `spelling` has it, and with saturating casts and rounding shifts spelled
out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from isamap.hwdesc import Hardware, ImmediateRule, Instruction, immediate_value
from isamap.ir import (
    DTYPES,
    OPS,
    Access,
    Apply,
    Expr,
    Literal,
    accesses,
    integer_range,
)

from .match import spelled_update
from .named_number import named_number
from .passage import onward_copies, source_memory, target_memory
from .roles import InstructionRole, Mover
from .spelling import instruction_spellings, kernel_spellings, plain, with_numbers

MAX_STEPS = 8  # instructions between a sum and its store

Immediates = tuple[tuple[str, int | float], ...]


@dataclass(frozen=True, slots=True)
class FinishStep:
    """One instruction and the numbers that it is given."""

    mover: Mover
    immediates: Immediates


@dataclass(frozen=True, slots=True)
class Finish:
    """Updates in place, in order, and the store."""

    updates: tuple[FinishStep, ...]
    store: FinishStep


def find_finishes(
    value: Expr, total: Access, dtypes: tuple[str, str], ends: tuple[str, str], hw: Hardware
) -> Iterator[Finish]:
    """All ways to compute and store `value`, fewest operations spelled out first.

    Args:
        total: the access in `value` that stands for the sum.
        dtypes: of the sum, and of what is stored.
        ends: the memory where the sum lies, and the one where it is stored, straight or through a
            memory that a copy takes it on from.
    """
    here, home = ends
    ways = {home, *map(source_memory, onward_copies(hw, dtypes[1], home))} - {here}
    stores = [s for s in map(_as_store, hw.instructions) if s and _runs(s, dtypes, here, ways)]
    inside = (dtypes[0], dtypes[0])
    updates = [u for u in map(_as_update, hw.instructions) if u and _stays(u, inside, here)]
    seen: set[Finish] = set()
    known = {total.buffer: dtypes[0]}
    spelled = (*kernel_spellings(value, known), plain(spelled_out(value)))
    forms = (*spelled, *(with_numbers(each, known) for each in spelled))
    for form in dict.fromkeys(forms):
        for store in stores:
            for rest, given in _peel(store, form):
                for steps in _updates(rest, total, updates, MAX_STEPS):
                    found = Finish(steps, FinishStep(store, given))
                    if found not in seen:
                        seen.add(found)
                        yield found


def spelled_out(value: Expr) -> Expr:
    """`sat_i8(x)` as `i8(min(max(x, -128), 127))`, `rshift_round(x, n)` as `((x >> n-1) + 1) >> 1`.

    The second holds for n >= 2 without overflow: x >> 1 leaves room for the 1. Both are exact.
    """
    if not isinstance(value, Apply):
        return value
    args = tuple(spelled_out(arg) for arg in value.args)
    if OPS[value.op].is_saturating:
        dtype = OPS[value.op].result
        low, high = integer_range(dtype)
        raised = args[0] if _is_nonnegative(args[0]) else Apply("max", (args[0], Literal(low)))
        return Apply(dtype, (Apply("min", (raised, Literal(high))),))
    if value.op == "rshift_round":
        match args[1]:
            case Literal(int() as count) if count >= 2:
                halved = Apply("+", (Apply(">>", (args[0], Literal(count - 1))), Literal(1)))
                return Apply(">>", (halved, Literal(1)))
            case _:
                pass
    return Apply(value.op, args)


def _is_nonnegative(value: Expr) -> bool:
    """Is the value certainly 0 or more, wrap-around included?"""
    match value:
        case Apply("relu"):
            return True
        case Apply(">>", (inner, _)):
            match inner:
                case Apply("+", (Apply(">>", (halved, Literal(int() as count))), Literal(1))):
                    return count > 0 and _is_nonnegative(halved)
                case _:
                    return _is_nonnegative(inner)
        case _:
            return False


def _updates(
    value: Expr, total: Access, updates: list[Mover], left: int
) -> Iterator[tuple[FinishStep, ...]]:
    """Sequences of updates that make `value` of the sum; the last one computes its outside."""
    if value == total:
        yield ()
        return
    if left == 0:
        return
    for update in updates:
        for rest, given in _peel(update, value):
            for before in _updates(rest, total, updates, left - 1):
                yield (*before, FinishStep(update, given))


def _peel(mover: Mover, value: Expr) -> Iterator[tuple[Expr, Immediates]]:
    """What the instruction's source must hold so that it computes `value`."""
    statement = spelled_update(mover.instruction.semantics.statements[0])
    source = mover.source or mover.target
    rules = {rule.name: rule for rule in mover.instruction.immediates}
    for pattern in instruction_spellings(statement.value, mover.instruction):
        for rest, given in _match(pattern, value, source, rules):
            if rest is not None and len(given) == len(rules):
                yield rest, tuple((name, given[name]) for name in rules)


def _match(
    pattern: Expr, value: Expr, source: str, rules: dict[str, ImmediateRule]
) -> Iterator[tuple[Expr | None, dict[str, int | float]]]:
    """(what stands where the pattern reads its source, immediates): None if it does not."""
    if isinstance(value, Literal) and (named := named_number(pattern, value.value, rules)):
        number = immediate_value(rules[named[0]], named[1])
        if number is not None:
            yield None, {named[0]: number}
        return
    match pattern:
        case Access():
            if pattern.buffer == source:
                yield value, {}
        case Literal():
            if pattern == value:
                yield None, {}
        case Apply(op, args):
            if not isinstance(value, Apply) or value.op != op:
                return
            orders = [value.args]
            if OPS[op].is_commutative and len(args) == 2:
                orders.append(value.args[::-1])
            for order in dict.fromkeys(orders):
                yield from _match_all(args, order, source, rules)


def _match_all(
    patterns: tuple[Expr, ...],
    values: tuple[Expr, ...],
    source: str,
    rules: dict[str, ImmediateRule],
) -> Iterator[tuple[Expr | None, dict[str, int | float]]]:
    if not patterns:
        yield None, {}
        return
    for first, given in _match(patterns[0], values[0], source, rules):
        for rest, more in _match_all(patterns[1:], values[1:], source, rules):
            is_twice = first is not None and rest is not None and first != rest
            clashes = any(given[name] != more[name] for name in given.keys() & more.keys())
            if not is_twice and not clashes:
                yield first if first is not None else rest, given | more


def _as_store(instruction: Instruction) -> Mover | None:
    """An instruction that reads one operand, computes on each element, and writes another."""
    statements = instruction.semantics.statements
    if len(statements) != 1 or statements[0].update != "=":
        return None
    reads = {access.buffer for access in accesses(statements[0].value)}
    target = statements[0].target.buffer
    if len(reads) != 1 or target in reads:
        return None
    return Mover(instruction, InstructionRole.COMPUTE, target, next(iter(reads)))


def _as_update(instruction: Instruction) -> Mover | None:
    """An instruction that computes on each element of one operand, in place."""
    statements = instruction.semantics.statements
    if len(statements) != 1:
        return None
    target = statements[0].target
    reads = set(accesses(spelled_update(statements[0]).value))
    if reads != {target}:
        return None
    return Mover(instruction, InstructionRole.COMPUTE, target.buffer, None)


def _runs(store: Mover, dtypes: tuple[str, str], here: str, ways: set[str]) -> bool:
    instruction, source = store.instruction, str(store.source)
    is_there = source_memory(store) == here and target_memory(store) in ways
    return is_there and _types(instruction, source, store.target) == dtypes


def _stays(update: Mover, dtypes: tuple[str, str], memory: str) -> bool:
    instruction = update.instruction
    there = instruction.operand(update.target).memory
    return there == memory and _types(instruction, update.target, update.target) == dtypes


def _types(instruction: Instruction, source: str, target: str) -> tuple[str, str]:
    buffer = instruction.semantics.buffer
    assert buffer(source).dtype in DTYPES, "operands have scalar types"
    return buffer(source).dtype, buffer(target).dtype
