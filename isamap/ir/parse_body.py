"""Bodies of kernels: declarations, loops and assignments.

In: syntax trees of the surface language's one grammar. Out: buffers and flat statements.
Not its job: finding the body in a file (`parse`), rules about the result (`verify`).
"""

import ast
from dataclasses import dataclass, field

from isamap.errors import closest

from .dtypes import DTYPES
from .kernel import Apply, Buffer, Expr, Loop, Role, Statement
from .normalise_update import normalise_update
from .parse_expr import parse_access, parse_expr
from .scope import RECTANGULAR, Scope, read_affine, read_integer

ROLES = {role.value: role for role in Role}


@dataclass(slots=True)
class Body:
    """What has been read so far; statements in text order."""

    scope: Scope
    statements: list[Statement] = field(default_factory=list)


def parse_body(nodes: list[ast.stmt], scope: Scope) -> tuple[Statement, ...]:
    """Read a body; buffers end up in `scope.buffers`, in order of declaration."""
    body = Body(scope)
    for node in nodes:
        parse_node(node, body, ())
    return tuple(body.statements)


def parse_node(node: ast.stmt, body: Body, loops: tuple[Loop, ...]) -> None:
    """Read one syntax statement inside `loops`."""
    match node:
        case ast.For():
            parse_loop(node, body, loops)
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            add_statement(node, target, "=", parse_expr(value, body.scope), body, loops)
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            update, expr = parse_update(node, op, parse_expr(value, body.scope), body.scope)
            add_statement(node, target, update, expr, body, loops)
        case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=value):
            parse_definition(node, target, value, body, loops)
        case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
            return  # a docstring or `pass`
        case ast.If(test=test):
            raise body.scope.source.error(
                f"if is not part of the language: {first_line(node)}",
                node,
                hint=f"choose between values: y[..] = select({ast.unparse(test)}, new, old)",
            )
        case _:
            raise body.scope.source.error(
                f"{type(node).__name__} is not part of the language: {first_line(node)}",
                node,
                hint="use declarations, for loops over range() or grid(), assignments to elements",
            )


def first_line(node: ast.AST) -> str:
    """The first line of a node's text."""
    return ast.unparse(node).splitlines()[0]


def parse_definition(
    node: ast.Assign, target: ast.expr, value: ast.expr, body: Body, loops: tuple[Loop, ...]
) -> None:
    """`A = In(...)`, `A, B = In(...), Out(...)` or `rows = h // 2`."""
    source = body.scope.source
    targets = target.elts if isinstance(target, ast.Tuple) else [target]
    values = [value]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        values = value.elts
    if len(targets) != len(values):
        raise source.error(f"{len(targets)} names, but {len(values)} value(s)", node)
    for name_node, value_node in zip(targets, values, strict=True):
        if not isinstance(name_node, ast.Name):
            raise source.error(f"cannot define {ast.unparse(name_node)}", name_node)
        body.scope.check_free(name_node.id, name_node)
        match value_node:
            case ast.Call(func=ast.Name(id=role)) if role in ROLES:
                if loops:
                    raise source.error("buffers are declared outside loops", value_node)
                buffer = parse_buffer(name_node, ROLES[role], value_node, body.scope)
                body.scope.buffers[buffer.name] = buffer
            case _ if any(
                isinstance(n, ast.Subscript | ast.Attribute) for n in ast.walk(value_node)
            ):
                raise source.error(
                    f"{name_node.id!r} can only name an integer or a buffer",
                    name_node,
                    hint=f"write the elements where they are used, or declare a buffer, "
                    f"{name_node.id} = Temp(type, ...)",
                )
            case _:
                what = f"{name_node.id!r}"
                body.scope.integers[name_node.id] = read_affine(value_node, body.scope, what)


def parse_buffer(name: ast.Name, role: Role, call: ast.Call, scope: Scope) -> Buffer:
    """`In(i8, m, k)`."""
    source = scope.source
    if not call.args or call.keywords:
        raise source.error(
            f"{role.value} takes a type and extents", call, hint=f"write {role.value}(i8, 16, 16)"
        )
    match call.args[0]:
        case ast.Name(id=dtype) | ast.Constant(value=str(dtype)):
            if dtype not in DTYPES:
                raise source.error(
                    f"unknown scalar type {dtype!r}",
                    call.args[0],
                    hint=closest(dtype, DTYPES) or f"types are {', '.join(DTYPES)}",
                )
        case other:
            raise source.error(f"not a scalar type: {ast.unparse(other)}", other)
    shape = tuple(read_extent(node, scope, f"an extent of {name.id!r}") for node in call.args[1:])
    return Buffer(name.id, dtype, shape, role, loc=source.loc_of(name))


def read_extent(node: ast.expr, scope: Scope, what: str) -> int:
    """A positive integer."""
    extent = read_integer(node, scope, what)
    if extent < 1:
        raise scope.source.error(
            f"{what} must be at least 1, but {ast.unparse(node)} is {extent}", node,
            hint="check the sizes",
        )  # fmt: skip
    return extent


def parse_loop(node: ast.For, body: Body, loops: tuple[Loop, ...]) -> None:
    """`for i in range(n):` or `for i, j in grid(n, m):`, and everything inside."""
    scope, source = body.scope, body.scope.source
    if node.orelse:
        raise source.error("a loop has no 'else'", node.orelse[0])
    names = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    match node.iter:
        case ast.Call(func=ast.Name(id="range" | "grid" as iterator), args=args, keywords=[]):
            pass
        case _:
            raise source.error(
                f"a loop runs over range(n) or grid(n, m), not {ast.unparse(node.iter)}", node.iter
            )
    if iterator == "range" and len(args) != 1:
        named = {part.id for part in ast.walk(node.iter) if isinstance(part, ast.Name)}
        shifted = "loops start at 0 with step 1: shift and scale the index instead"
        hint = shifted if named.isdisjoint(scope.loops) else RECTANGULAR
        raise source.error(f"range takes one extent, not {len(args)}", node.iter, hint=hint)
    if len(names) != len(args):
        raise source.error(f"{len(names)} loop name(s), but {len(args)} extent(s)", node.iter)
    opened: list[str] = []
    inner = loops
    for name, extent_node in zip(names, args, strict=True):
        if not isinstance(name, ast.Name):
            raise source.error(f"not a loop name: {ast.unparse(name)}", name)
        extent = read_extent(extent_node, scope, f"the extent of loop {name.id!r}")
        scope.check_free(name.id, name)
        inner = (*inner, Loop(scope.open_loop(name.id), extent))
        opened.append(name.id)
    for child in node.body:
        parse_node(child, body, inner)
    for closed in opened:
        del scope.loops[closed]


def parse_update(
    node: ast.AugAssign, op: ast.operator, value: Expr, scope: Scope
) -> tuple[str, Expr]:
    """`+=`, `*=`, and `-=` as `+=` of the negated value."""
    match op:
        case ast.Add():
            return "+=", value
        case ast.Sub():
            return "+=", Apply("neg", (value,))
        case ast.Mult():
            return "*=", value
        case _:
            raise scope.source.error(
                "unknown update", node, hint="use =, +=, -=, *=, or x = max(x, ...), min(x, ...)"
            )


def add_statement(
    node: ast.stmt,
    target: ast.Subscript,
    update: str,
    value: Expr,
    body: Body,
    loops: tuple[Loop, ...],
) -> None:
    """Append one statement in normal form."""
    access = parse_access(target, body.scope)
    update, value = normalise_update(access, update, value)
    loc = body.scope.source.loc_of(node)
    body.statements.append(Statement(loops, access, update, value, loc=loc))
