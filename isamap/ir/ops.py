"""The table of scalar operations.

In: an operation's name. Out: its row: arity, notation, algebra, typing rule, C text.
Not its job: evaluating (`interp`), typing whole expressions (`type_of`), printing (`pretty`).

Meaning. Integers wrap in two's complement after every operation. Floats round to their own type
after every operation; exp, tanh, sigmoid and sqrt are computed in f64 and rounded once. `//` is
floor division, `>>` an arithmetic shift; a negative shift count and an integer division by zero
are errors. Comparisons give i8 0 or 1. `i8(x)` and the other casts wrap integers; from floats they
truncate toward zero and saturate (NaN gives 0). `sat_i8(x)` saturates. `rshift_round(x, n)` is
floor((x + 2**(n-1)) / 2**n) without overflow in between.
"""

from dataclasses import dataclass
from enum import Enum

from .dtypes import DTYPES, is_float

SHIFTS = ("<<", ">>", "rshift_round")  # by a count that is not negative


class Notation(Enum):
    """How an operation is written."""

    INFIX = "infix"
    PREFIX = "prefix"
    CALL = "call"


class Domain(Enum):
    """Which operand types an operation takes."""

    ANY = "any"
    INTEGER = "integer"
    FLOAT = "float"


class Typing(Enum):
    """How the result's type follows from the operands'."""

    SAME = "same"  # all operands and the result have one type
    COMPARE = "compare"  # operands have one type, the result is i8
    SELECT = "select"  # the first operand is an integer, the others and the result have one type
    CAST = "cast"  # the result has the type `Operation.result`


@dataclass(frozen=True, slots=True)
class Operation:
    """One row. `symbol` is the infix or prefix sign; `precedence` grows with binding strength.

    `c_integer`, `c_float`: C expression over {0}, {1}, .. with {T} the result's C type, {U} the
    unsigned type it computes in (uint32_t, or uint64_t for i64), {LOW}, {HIGH} the integer result's
    range; `isamap_*` are helper functions the code generator brings along. Empty: not defined for
    these types.
    """

    name: str
    arity: int
    notation: Notation = Notation.CALL
    symbol: str = ""
    precedence: int = 100
    domain: Domain = Domain.ANY
    typing: Typing = Typing.SAME
    result: str = ""
    is_commutative: bool = False
    is_saturating: bool = False
    c_integer: str = ""
    c_float: str = ""


def infix(
    symbol: str,
    precedence: int,
    *,
    domain: Domain = Domain.ANY,
    typing: Typing = Typing.SAME,
    is_commutative: bool = False,
    c_integer: str = "",
    c_float: str = "",
) -> Operation:
    """A row for a two-operand operation written between its operands; its name is its symbol."""
    return Operation(
        symbol, 2, Notation.INFIX, symbol, precedence, domain, typing, "", is_commutative, False,
        c_integer, c_float,
    )  # fmt: skip


def wrapping(symbol: str) -> str:
    """C text of a wrapping operation: unsigned arithmetic never overflows."""
    return f"({{T}})(({{U}}){{0}} {symbol} ({{U}}){{1}})"


def plain(symbol: str) -> str:
    """C text of an operation that C already defines."""
    return f"({{T}})({{0}} {symbol} {{1}})"


def float_call(name: str) -> Operation:
    """A row for a function of one float."""
    return Operation(name, 1, domain=Domain.FLOAT, c_float=f"({{T}})isamap_{name}((double){{0}})")


INT, FLOAT, COMPARE = Domain.INTEGER, Domain.FLOAT, Typing.COMPARE
# of zeros of both signs max and min may give either
MAX_C = "(({0}) > ({1}) ? ({0}) : ({1}))"
MIN_C = "(({0}) < ({1}) ? ({0}) : ({1}))"

ARITHMETIC: tuple[Operation, ...] = (
    infix("<", 1, typing=COMPARE, c_integer=plain("<"), c_float=plain("<")),
    infix("<=", 1, typing=COMPARE, c_integer=plain("<="), c_float=plain("<=")),
    infix("==", 1, typing=COMPARE, is_commutative=True, c_integer=plain("=="), c_float=plain("==")),
    infix("|", 2, domain=INT, is_commutative=True, c_integer=plain("|")),
    infix("^", 3, domain=INT, is_commutative=True, c_integer=plain("^")),
    infix("&", 4, domain=INT, is_commutative=True, c_integer=plain("&")),
    infix("<<", 5, domain=INT, c_integer="({T})isamap_shift_left({0}, {1})"),
    infix(">>", 5, domain=INT, c_integer="({T})isamap_shift_right({0}, {1})"),
    infix("+", 6, is_commutative=True, c_integer=wrapping("+"), c_float=plain("+")),
    infix("-", 6, c_integer=wrapping("-"), c_float=plain("-")),
    infix("*", 7, is_commutative=True, c_integer=wrapping("*"), c_float=plain("*")),
    infix("//", 7, domain=INT, c_integer="({T})isamap_floor_divide({0}, {1})"),
    infix("/", 7, domain=FLOAT, c_float=plain("/")),
    Operation("neg", 1, Notation.PREFIX, "-", 8, c_integer="({T})(0u - ({U}){0})",
              c_float="({T})(-{0})"),
    Operation("max", 2, is_commutative=True, c_integer=MAX_C, c_float="({T})isamap_max({0}, {1})"),
    Operation("min", 2, is_commutative=True, c_integer=MIN_C, c_float="({T})isamap_min({0}, {1})"),
    Operation("abs", 1, c_integer="({T})({0} < 0 ? 0u - ({U}){0} : ({U}){0})",
              c_float="({T})isamap_abs({0})"),
    Operation("relu", 1, c_integer="({T})({0} > 0 ? {0} : 0)", c_float="({T})isamap_max({0}, 0)"),
    float_call("exp"), float_call("tanh"), float_call("sigmoid"), float_call("sqrt"),
    Operation("round_even", 1, domain=FLOAT, c_float="({T})isamap_round_even((double){0})"),
    Operation("select", 3, typing=Typing.SELECT, c_integer="({T})({0} ? {1} : {2})",
              c_float="({T})({0} ? {1} : {2})"),
    Operation("rshift_round", 2, domain=INT, c_integer="({T})isamap_rshift_round({0}, {1})"),
)  # fmt: skip


def cast(dtype: str) -> Operation:
    """The row of the cast to `dtype`; integers wrap, floats to integers truncate and saturate."""
    from_float = "({T}){0}" if is_float(dtype) else "({T})isamap_truncate({0}, {LOW}, {HIGH})"
    return Operation(
        dtype, 1, typing=Typing.CAST, result=dtype, c_integer="({T}){0}", c_float=from_float
    )


def saturate(dtype: str) -> Operation:
    """The row of the saturating cast to the integer type `dtype`."""
    return Operation(
        f"sat_{dtype}", 1, typing=Typing.CAST, result=dtype, is_saturating=True,
        c_integer="({T})isamap_clamp({0}, {LOW}, {HIGH})",
        c_float="({T})isamap_truncate({0}, {LOW}, {HIGH})",
    )  # fmt: skip


OPS: dict[str, Operation] = {
    row.name: row
    for row in (
        *ARITHMETIC,
        *(cast(dtype) for dtype in DTYPES),
        *(saturate(dtype) for dtype in DTYPES if not is_float(dtype)),
    )
}

# update of a statement -> the scalar operation that joins the old value and the new one
UPDATES: dict[str, str | None] = {"=": None, "+=": "+", "*=": "*", "max=": "max", "min=": "min"}

# names that mean something in the surface language, so no buffer, loop or size may take them
RESERVED = frozenset(name for name in OPS if name.isidentifier()) | {
    "In", "Out", "InOut", "Temp", "grid", "range", "ceildiv", "kernel", "inf",
}  # fmt: skip


def is_cast(op: str) -> bool:
    """Does the operation only change its operand's type (wrapping or saturating)?"""
    return OPS[op].typing is Typing.CAST
