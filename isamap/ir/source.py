"""Text with positions: what the parser's messages point at.

In: text and where it stands in its file. Out: syntax trees and `Loc`s of their nodes.
Not its job: the meaning of any node.
"""

import ast
import functools
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO

from isamap.errors import KernelError, Loc

from .depth import TOO_DEEP, TOO_DEEP_HINT, find_too_deep

LAYOUT = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True, slots=True)
class SourceText:
    """Text in the language; its line n is line n + line_offset of `file`, likewise columns."""

    text: str
    file: str
    line_offset: int = 0
    column_offset: int = 0

    def loc(self, line: int, column: int) -> Loc:
        """Position of 1-based `line` and 0-based `column` of the text."""
        lines = self.text.splitlines()
        shown = lines[line - 1] if 1 <= line <= len(lines) else ""
        return Loc(
            self.file,
            line + self.line_offset,
            column + 1 + self.column_offset,
            " " * self.column_offset + shown,
        )

    def loc_of(self, node: ast.AST) -> Loc:
        """Position of a syntax node that has one."""
        return self.loc(getattr(node, "lineno", 1), getattr(node, "col_offset", 0))

    def error(self, message: str, node: ast.AST, hint: str = "") -> KernelError:
        """A KernelError pointing at `node`."""
        return KernelError(message, loc=self.loc_of(node), hint=hint)

    def parse(self) -> ast.Module:
        """Syntax tree of the text; KernelError where Python's grammar breaks."""
        try:
            return _tree(self.text)
        except SyntaxError as error:
            where = self.loc(error.lineno or 1, max((error.offset or 1) - 1, 0))
            raise KernelError(f"syntax error: {error.msg}", loc=where) from error
        except ValueError as error:  # null bytes
            raise KernelError(f"not readable as text: {error}", loc=self.loc(1, 0)) from error
        except (RecursionError, MemoryError):  # what Python's parser gives up with
            where = self.loc(*_longest_statement(self.text))
            raise KernelError(TOO_DEEP, loc=where, hint=TOO_DEEP_HINT) from None

    def check_depth(self, nodes: Iterable[ast.AST]) -> None:
        """KernelError where an expression nests too deep to be read."""
        if found := find_too_deep(nodes):
            raise self.error(TOO_DEEP, found, TOO_DEEP_HINT)


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> ast.Module:
    """Its constants, kernels and reference are read one after the other, from the same tree."""
    return ast.parse(text)


def _longest_statement(text: str) -> tuple[int, int]:
    """Line and column where the statement of the most tokens begins: there is no tree to ask."""
    lengths = {(1, 0): 0}
    start: tuple[int, int] | None = None
    try:
        for token in tokenize.generate_tokens(StringIO(text).readline):
            if token.type == tokenize.NEWLINE:
                start = None
            elif token.type not in LAYOUT:
                start = start or token.start
                lengths[start] = lengths.get(start, 0) + 1
    except (tokenize.TokenError, SyntaxError):
        pass  # what has been read tells enough
    return max(lengths, key=lengths.__getitem__)
