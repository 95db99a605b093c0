"""The tree of a cost expression and what it means.

In: nodes over integer names (each at least 1) and exact constants. Out: exact values and signs.
Not its job: reading text (`expression`), C (`expression_c`).
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

Number = int | Fraction


@dataclass(frozen=True, slots=True)
class Constant:
    """An exact number."""

    value: Number


@dataclass(frozen=True, slots=True)
class Name:
    """An integer of at least 1: a loop extent or a repeat count."""

    name: str


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of `OPERATIONS` or of `COMPARISONS`, or "if" with arguments (condition, then, else)."""

    op: str
    args: tuple["Node", ...]


Node = Constant | Name | Operation


def divide(a: Number, b: Number) -> Number:
    """Exact quotient."""
    return exact(Fraction(a) / b)


def exact(value: Number) -> Number:
    """The same number, as an int when it is whole."""
    return value.numerator if value.denominator == 1 else value


def ceil_log2(a: Number) -> int:
    """Smallest n >= 0 with 2**n >= a."""
    return (max(math.ceil(a), 1) - 1).bit_length()


OPERATIONS: Mapping[str, Callable[..., Number]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": divide,
    "//": operator.floordiv,
    "%": operator.mod,
    "neg": operator.neg,
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
    "ceillog2": ceil_log2,
}
COMPARISONS: Mapping[str, Callable[[Number, Number], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
FUNCTIONS: Mapping[str, Callable[..., Number]] = {**OPERATIONS, **COMPARISONS}


def operation(op: str, *args: Node) -> Node:
    """An operation, or its value where that is known already (divisors are not 0)."""
    if op == "if" and isinstance(args[0], Operation) and _are_constant(args[0].args):
        return args[1] if evaluate_node(args[0], {}) else args[2]
    node = Operation(op, args)
    if op in OPERATIONS and _are_constant(args):
        return Constant(evaluate_node(node, {}))
    return node


def _are_constant(nodes: tuple[Node, ...]) -> bool:
    return all(isinstance(node, Constant) for node in nodes)


def evaluate_node(node: Node, values: Mapping[str, int]) -> Number:
    """Exact value with every name bound."""
    match node:
        case Constant(value):
            return value
        case Name(name):
            return values[name]
        case Operation("if", (condition, then, otherwise)):
            return evaluate_node(then if evaluate_node(condition, values) else otherwise, values)
        case Operation(op, args):
            arguments = [evaluate_node(arg, values) for arg in args]
            return FUNCTIONS[op](*arguments)


def node_names(node: Node) -> frozenset[str]:
    """All names in the tree."""
    match node:
        case Constant():
            return frozenset()
        case Name(name):
            return frozenset((name,))
        case Operation(_, args):
            return frozenset().union(*(node_names(arg) for arg in args))


def plain_factors(node: Node) -> frozenset[str]:
    """Names of which the value is a whole multiple, and the same one whatever they are."""
    factors: list[Node] = []
    left = [node]
    while left:
        match left.pop():
            case Operation("*", args):
                left.extend(args)
            case other:
                factors.append(other)
    if not all(map(_is_whole, factors)):
        return frozenset()
    used = [name for factor in factors for name in node_names(factor)]
    alone = (factor.name for factor in factors if isinstance(factor, Name))
    return frozenset(name for name in alone if used.count(name) == 1)


def _is_whole(node: Node) -> bool:
    """Is every value in it provably an integer?"""
    match node:
        case Constant(value):
            return isinstance(value, int)
        case Name():
            return True
        case Operation(op, args):
            return op != "/" and all(map(_is_whole, args))


def is_positive(node: Node) -> bool:
    """Is the value provably above 0 for all names >= 1?"""
    match node:
        case Constant(value):
            return value > 0
        case Name():
            return True
        case Operation("+", args):
            return all(map(is_nonnegative, args)) and any(map(is_positive, args))
        case Operation("*" | "/" | "ceil" | "min", args):
            return all(map(is_positive, args))
        case Operation("max", args):
            return any(map(is_positive, args))
        case Operation("if", (_, then, otherwise)):
            return is_positive(then) and is_positive(otherwise)
        case Operation():
            return False


def is_nonnegative(node: Node) -> bool:
    """Is the value provably at least 0 for all names >= 1? (`parse` keeps divisors positive.)"""
    match node:
        case Constant(value):
            return value >= 0
        case Name() | Operation("%" | "ceillog2"):
            return True
        case Operation("+" | "*" | "/" | "//" | "ceil" | "floor" | "min", args):
            return all(map(is_nonnegative, args))
        case Operation("max", args):
            return any(map(is_nonnegative, args))
        case Operation("if", (_, then, otherwise)):
            return is_nonnegative(then) and is_nonnegative(otherwise)
        case Operation():
            return False
