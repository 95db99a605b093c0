"""A cost expression as C.

In: an expression's tree. Out: a C expression of type int64_t, equal to `Expression.evaluate`.
Not its job: declaring the variables; overflow beyond 64 bits.
"""

from collections.abc import Mapping

from .expression_tree import COMPARISONS, Constant, Name, Node, Operation, is_nonnegative

ONE = "1LL"
Ratio = tuple[str, str]  # numerator and positive denominator


def node_to_c(node: Node, names: Mapping[str, str]) -> str:
    """The value rounded up to an integer; `names` gives names that C spells otherwise."""
    return _round_up(_ratio(node, names), is_nonnegative(node))


def _ratio(node: Node, names: Mapping[str, str]) -> Ratio:
    match node:
        case Constant(value):
            return f"{value.numerator}LL", f"{value.denominator}LL"
        case Name(name):
            return names.get(name, name), ONE
        case Operation(op, args):
            ratios = [_ratio(arg, names) for arg in args]
            return _apply(op, args, ratios)


def _apply(op: str, args: tuple[Node, ...], ratios: list[Ratio]) -> Ratio:
    a = ratios[0]
    match op:
        case "neg":
            return f"(-{a[0]})", a[1]
        case "ceil":
            return _round_up(a, is_nonnegative(args[0])), ONE
        case "floor":
            return _round_down(a, is_nonnegative(args[0])), ONE
        case "ceillog2":
            x = _round_up(a, is_nonnegative(args[0]))
            return f"({x} <= 1 ? 0 : 64 - __builtin_clzll((unsigned long long)({x} - 1)))", ONE
        case "min" | "max":
            result = a
            for other in ratios[1:]:
                left, right, below = _common(result, other)
                sign = "<" if op == "min" else ">"
                result = f"({left} {sign} {right} ? {left} : {right})", below
            return result
        case "if":
            left, right, below = _common(ratios[1], ratios[2])
            return f"({a[0]} ? {left} : {right})", below
    return _apply_binary(op, args, a, ratios[1])


def _apply_binary(op: str, args: tuple[Node, ...], a: Ratio, b: Ratio) -> Ratio:
    if op == "*":
        return _times(a[0], b[0]), _times(a[1], b[1])
    if op == "/":
        return _times(a[0], b[1]), _times(a[1], b[0])
    if op in ("//", "%"):
        quotient = _times(a[0], b[1]), _times(a[1], b[0])
        whole = _round_down(quotient, is_nonnegative(args[0]))
        if op == "//":
            return whole, ONE
        return _apply_binary("-", args, a, (_times(b[0], whole), b[1]))
    left, right, below = _common(a, b)
    text = f"({left} {op} {right})"
    return (text, ONE) if op in COMPARISONS else (text, below)


def _times(a: str, b: str) -> str:
    if a == ONE:
        return b
    return a if b == ONE else f"({a} * {b})"


def _common(a: Ratio, b: Ratio) -> tuple[str, str, str]:
    """Both numerators over one denominator."""
    if a[1] == b[1]:
        return a[0], b[0], a[1]
    return _times(a[0], b[1]), _times(b[0], a[1]), _times(a[1], b[1])


def _round_up(a: Ratio, nonnegative: bool) -> str:
    above, below = a
    if below == ONE:
        return above
    positive = f"({above} + {below} - 1) / {below}"
    if nonnegative:
        return f"({positive})"
    return f"({above} > 0 ? {positive} : -(-{above} / {below}))"  # C division truncates


def _round_down(a: Ratio, nonnegative: bool) -> str:
    above, below = a
    if below == ONE:
        return above
    if nonnegative:
        return f"({above} / {below})"
    return f"({above} >= 0 ? {above} / {below} : -((-{above} + {below} - 1) / {below}))"
