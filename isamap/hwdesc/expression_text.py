"""A cost expression as text.

In: an expression's tree. Out: its one normalised spelling, which `Expression.parse` reads back.
Not its job: reading, C (`expression_c`).
"""

from fractions import Fraction

from .expression_tree import COMPARISONS, Constant, Name, Node, Number, Operation

PRECEDENCE = {"+": 2, "-": 2, "*": 3, "/": 3, "//": 3, "%": 3}
CONDITION, COMPARISON, UNARY = 0, 1, 4


def node_text(node: Node, outer: int = 0) -> str:
    """Text of `node`, in brackets if it binds weaker than `outer`."""
    match node:
        case Constant(value):
            return _bracket(_number_text(value), UNARY if value < 0 else UNARY + 1, outer)
        case Name(name):
            return name
        case Operation("if", (condition, then, otherwise)):
            parts = [node_text(then, 1), node_text(condition, 1), node_text(otherwise)]
            return _bracket(f"{parts[0]} if {parts[1]} else {parts[2]}", CONDITION, outer)
        case Operation("neg", (arg,)):
            return _bracket("-" + node_text(arg, UNARY), UNARY, outer)
        case Operation(op, (left, right)) if op in PRECEDENCE:
            own = PRECEDENCE[op]
            text = f"{node_text(left, own)} {op} {node_text(right, own + 1)}"
            return _bracket(text, own, outer)
        case Operation(op, (left, right)) if op in COMPARISONS:
            text = f"{node_text(left, COMPARISON + 1)} {op} {node_text(right, COMPARISON + 1)}"
            return _bracket(text, COMPARISON, outer)
        case Operation(op, args):
            return f"{op}({', '.join(node_text(arg) for arg in args)})"


def _bracket(text: str, own: int, outer: int) -> str:
    return f"({text})" if own < outer else text


def _number_text(value: Number) -> str:
    if isinstance(value, int):
        return str(value)
    decimal = repr(float(value))
    return decimal if Fraction(decimal) == value else f"({value.numerator} / {value.denominator})"
