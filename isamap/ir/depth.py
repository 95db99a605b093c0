"""How deep expressions nest: the steps after reading recurse over them.

In: expressions, syntax trees. Out: those that nest too deep. Not its job: positions, raising.

Python allows 1000 calls within each other, and takes four per level to compare two expressions;
the exact form of one is up to twice as deep.
"""

import ast
from collections.abc import Iterable

from .kernel import Apply, Expr

MAX_DEPTH = 100  # operations
MAX_SYNTAX_DEPTH = 150  # syntax nodes: operations, and below them indices
TOO_DEEP = f"an expression has more than {MAX_DEPTH} operations within each other"
TOO_DEEP_HINT = (
    "keep parts of it in a Temp; of a sum of many terms, each addition lies within the next"
)


def is_too_deep(expr: Expr) -> bool:
    """Are more than `MAX_DEPTH` operations within each other?"""
    left = [(expr, 0)]
    while left:
        node, depth = left.pop()
        if depth > MAX_DEPTH:
            return True
        if isinstance(node, Apply):
            left.extend((arg, depth + 1) for arg in node.args)
    return False


def find_too_deep(nodes: Iterable[ast.AST]) -> ast.expr | None:
    """A whole expression that nests more than `MAX_SYNTAX_DEPTH` deep, if there is one."""
    left: list[tuple[ast.AST, ast.expr | None, int]] = [(node, None, 0) for node in nodes]
    while left:
        node, whole, depth = left.pop()
        if isinstance(node, ast.expr):
            whole, depth = whole or node, depth + 1
        if depth > MAX_SYNTAX_DEPTH:
            return whole
        left.extend((child, whole, depth) for child in ast.iter_child_nodes(node))
    return None
