"""Element values: syntax nodes to `Expr`.

In: the right-hand side of an assignment. Out: a tree of accesses, literals, immediates and
operations. Not its job: integer arithmetic (`scope`), types and bounds (`verify`).
"""

import ast
import math

from isamap.errors import closest

from .kernel import Access, Apply, Expr, Immediate, Literal
from .ops import OPS
from .scope import Scope, read_affine

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Div: "/",
    ast.RShift: ">>", ast.LShift: "<<", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
COMPARE: dict[type[ast.cmpop], tuple[str, bool]] = {  # operation, operands swapped?
    ast.Lt: ("<", False), ast.LtE: ("<=", False), ast.Eq: ("==", False),
    ast.Gt: ("<", True), ast.GtE: ("<=", True),
}  # fmt: skip


def parse_expr(node: ast.expr, scope: Scope) -> Expr:
    """Tree of the element value written at `node`."""
    source = scope.source
    if (number := read_number(node)) is not None:
        return Literal(number)
    if (size := fold_sizes(node, scope)) is not None:
        return Literal(size)
    match node:
        case ast.Name(id=name):
            return parse_name(name, node, scope)
        case ast.Subscript():
            return parse_access(node, scope)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Apply("neg", (parse_expr(operand, scope),))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            return Apply(BINARY[type(op)], (parse_expr(left, scope), parse_expr(right, scope)))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARE:
            name, is_swapped = COMPARE[type(op)]
            pair = parse_expr(left, scope), parse_expr(right, scope)
            return Apply(name, pair[::-1] if is_swapped else pair)
        case ast.Call(func=ast.Attribute(attr="at")):
            return parse_padded(node, scope)
        case ast.Call(func=ast.Name(id=name)):
            return parse_call(name, node, scope)
        case ast.IfExp(test=test, body=body, orelse=other):
            chosen = ", ".join(ast.unparse(part) for part in (test, body, other))
            raise source.error(
                f"not an element value: {ast.unparse(node)}", node, hint=f"write select({chosen})"
            )
        case _:
            raise source.error(
                f"not an element value: {ast.unparse(node)}",
                node,
                hint="use accesses, numbers, + - * / // << >> & | ^ < <= == and known functions",
            )


def read_number(node: ast.expr) -> int | float | None:
    """Value of a number with or without a minus sign, or of `inf`; None for other nodes."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id="inf"):
            return math.inf
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() | ast.Name(id="inf") as operand):
            positive = read_number(operand)
            return None if positive is None else -positive
        case _:
            return None


def fold_sizes(node: ast.expr, scope: Scope) -> int | None:
    """Value of arithmetic over sizes that mentions at least one; None for anything else.

    `n * n` in a kernel of sizes is one literal, while `2 + 3` stays two: printed kernels have no
    sizes.
    """
    if not isinstance(node, ast.Name | ast.BinOp | ast.UnaryOp):
        return None
    leaves = [leaf for leaf in ast.walk(node) if isinstance(leaf, ast.expr)]
    names = [leaf.id for leaf in leaves if isinstance(leaf, ast.Name)]
    is_plain = all(
        isinstance(leaf, ast.Name | ast.BinOp | ast.UnaryOp)
        or (isinstance(leaf, ast.Constant) and type(leaf.value) is int)
        for leaf in leaves
    )
    has_division = any(isinstance(n, ast.Div | ast.LShift | ast.RShift) for n in ast.walk(node))
    if not names or not is_plain or has_division:
        return None
    if any(name not in scope.integers or scope.integers[name].terms for name in names):
        return None
    return read_affine(node, scope, "a literal").constant


def parse_name(name: str, node: ast.expr, scope: Scope) -> Expr:
    """An immediate; anything else that is a bare name is a mistake."""
    if name in scope.immediates:
        return Immediate(name)
    kind = scope.kind_of(name)
    if kind == "buffer":
        raise scope.source.error(
            f"buffer {name!r} needs indices", node, hint=f"write {name}[...] or {name}[()]"
        )
    if kind:
        raise scope.source.error(
            f"{kind} {name!r} is not an element value",
            node,
            hint="loops may stand in indices only: let an input hold their values",
        )
    raise scope.unknown(name, node)


def parse_access(node: ast.Subscript, scope: Scope) -> Access:
    """`A[i, j]`, or `s[()]` for a buffer without dimensions."""
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return build_access(node.value, list(indices), None, node, scope)


def parse_padded(node: ast.Call, scope: Scope) -> Access:
    """`A.at(i, j, pad=0)`."""
    assert isinstance(node.func, ast.Attribute)
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if set(keywords) != {"pad"}:
        raise scope.source.error("'.at' needs the keyword 'pad' and no other", node,
                                 hint="write A.at(i, j, pad=0)")  # fmt: skip
    number = read_number(keywords["pad"])
    pad = fold_sizes(keywords["pad"], scope) if number is None else number
    if pad is None:
        raise scope.source.error("'pad' must be a number", keywords["pad"])
    return build_access(node.func.value, node.args, pad, node, scope)


def build_access(
    buffer: ast.expr, indices: list[ast.expr], pad: float | None, node: ast.expr, scope: Scope
) -> Access:
    """An access, checked for a known buffer and the right number of indices."""
    if not isinstance(buffer, ast.Name):
        raise scope.source.error(f"not a buffer: {ast.unparse(buffer)}", buffer)
    if buffer.id not in scope.buffers:
        if kind := scope.kind_of(buffer.id):
            raise scope.source.error(f"{kind} {buffer.id!r} is not a buffer", buffer)
        raise scope.unknown(buffer.id, buffer)
    shape = scope.buffers[buffer.id].shape
    if len(indices) != len(shape):
        raise scope.source.error(
            f"{buffer.id!r} has {len(shape)} dimension(s), but {len(indices)} index(es) are given",
            node,
            hint=f"its shape is {list(shape)}",
        )
    values = tuple(read_affine(index, scope, f"an index of {buffer.id!r}") for index in indices)
    return Access(buffer.id, values, pad)


def parse_call(name: str, node: ast.Call, scope: Scope) -> Expr:
    """A call of an operation of the table; max and min of more than two nest to the left."""
    if name not in OPS or not name.isidentifier():
        calls = [op for op in OPS if op.isidentifier()]
        hint = closest(name, calls) or f"functions are {', '.join(calls)}; sums are y[i] += x[i, j]"
        raise scope.source.error(f"unknown function {name!r}", node, hint=hint)
    if node.keywords:
        raise scope.source.error(f"{name} takes no keywords", node)
    args = [parse_expr(arg, scope) for arg in node.args]
    arity = OPS[name].arity
    if name in ("max", "min") and len(args) > 2:
        result = args[0]
        for arg in args[1:]:
            result = Apply(name, (result, arg))
        return result
    if len(args) != arity:
        raise scope.source.error(f"{name} takes {arity} argument(s), not {len(args)}", node)
    return Apply(name, tuple(args))
