"""A YAML file as plain data that remembers where everything stood.

In: a path. Out: a `Document`. Scalars as in YAML 1.2 (`on`, `no` mean themselves, `010` is ten),
duplicate keys are errors. Nothing is constructed but dict, list, str, int, float, bool and None.
Not its job: what keys mean.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

import yaml

from isamap.errors import Loc, SpecError

from .problems import Problems

Path = tuple[str | int, ...]  # keys and positions from the top of the file
Data = None | bool | int | float | str | list["Data"] | dict[str, "Data"]
MAX_NODES = 200_000  # aliases may repeat an entry, but not explode

MAX_DIGITS = 100
BOOLEANS = {"true": True, "True": True, "false": False, "False": False}
NULLS = ("", "~", "null", "Null")
INTEGER = re.compile(r"[-+]?[0-9]+|0x[0-9a-fA-F]+|0o[0-7]+|0b[01]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
SYNTAX_HINT = "check the indentation, brackets and quotes just above"
SYNTAX_HINTS = (
    (
        "cannot start any token",
        "indent with spaces, and put text that begins with @ or ` in quotes",
    ),
    ("tab character", "indent with spaces"),
    ("mapping values are not allowed", "put text that contains ': ' in quotes"),
    ("undefined alias", "put text that begins with * in quotes"),
    ("that YAML forbids", "remove it"),
)
TAGS = ("str", "seq", "map")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes only; plain scalars are text until `_scalar` decides."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


@dataclass(frozen=True, slots=True)
class Document:
    """`data` is the file; `nodes` and `keys` give the YAML node of a path's value and key."""

    file: str
    lines: tuple[str, ...]
    data: Data
    nodes: Mapping[Path, yaml.Node]
    keys: Mapping[Path, yaml.Node]

    def loc(self, path: Path) -> Loc:
        """Where the value at `path` begins (inside quotes), or its nearest parent."""
        while path not in self.nodes:
            path = path[:-1]
        node = self.nodes[path]
        quoted = isinstance(node, yaml.ScalarNode) and node.style in ("'", '"')
        return self.at(node.start_mark.line, node.start_mark.column + quoted)

    def key_loc(self, path: Path) -> Loc:
        """Where the key at the end of `path` begins (list entries: the value), or its parent."""
        while path and path not in self.nodes:
            path = path[:-1]
        if path not in self.keys:
            return self.loc(path)
        mark = self.keys[path].start_mark
        return self.at(mark.line, mark.column)

    def at(self, line: int, column: int) -> Loc:
        """A position, both counted from 0."""
        text = self.lines[line] if line < len(self.lines) else ""
        return Loc(self.file, line + 1, column + 1, text)

    def is_block(self, path: Path) -> bool:
        """Is the value a `|` block, whose lines are the file's lines?"""
        node = self.nodes[path]
        return isinstance(node, yaml.ScalarNode) and node.style == "|"

    def loc_inside(self, path: Path, text: str, offset: int) -> Loc:
        """Where character `offset` of the value `text` at `path` stands; of a folded one, where it
        begins."""
        start = self.loc(path)
        while path not in self.nodes:
            path = path[:-1]
        if self.is_block(path):
            line, indent = self.block_start(path)
            before = text[:offset]
            column = indent + offset - before.rfind("\n") - 1
            return self.at(line + before.count("\n"), column)
        if "\n" in text[:offset] or text not in start.text:
            return start
        return self.at(start.line - 1, start.column - 1 + offset)

    def block_start(self, path: Path) -> tuple[int, int]:
        """Line (from 0) of the first line of a `|` block, and its indentation."""
        node = self.nodes[path]
        first = node.start_mark.line + 1
        texts = [line for line in self.lines[first : node.end_mark.line + 1] if line.strip()]
        indent = len(texts[0]) - len(texts[0].lstrip(" ")) if texts else 0
        return first, indent


def read_document(path: FilePath, problems: Problems) -> Document | None:
    """Read a YAML file; None if it cannot even be parsed (a problem says why).

    Errors recorded: unreadable file, YAML syntax, duplicate keys, non-text keys, tags, endless
    aliases, top level not a mapping.
    """
    file = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        problems.add(SpecError(f"cannot read {file}: {reason}"))
        return None
    lines = tuple(text.split("\n"))
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        problems.add(_syntax_error(error, Document(file, lines, None, {}, {})))
        return None
    if not isinstance(root, yaml.MappingNode):
        hint = "begin with 'name: ...'"
        problems.add(SpecError(f"{file} is not a mapping of keys to values", hint=hint))
        return None
    return _Builder(file, lines, problems).build(root)


def _syntax_error(error: yaml.YAMLError, document: Document) -> SpecError:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        what = error.problem or "syntax error"
        loc = document.at(error.problem_mark.line, error.problem_mark.column)
    else:
        what = "a character that YAML forbids"
        places = ((n, _forbidden(line)) for n, line in enumerate(document.lines))
        loc = document.at(*next((place for place in places if place[1] >= 0), (0, 0)))
    hint = next((hint for part, hint in SYNTAX_HINTS if part in what), SYNTAX_HINT)
    return SpecError(f"not valid YAML: {what}", loc=loc, hint=hint)


def _forbidden(line: str) -> int:
    """Column of the first character that YAML forbids, or -1."""
    return next((i for i, c in enumerate(line) if not c.isprintable() and c != "\t"), -1)


class _Builder:
    """Walks the YAML nodes of one file once."""

    def __init__(self, file: str, lines: tuple[str, ...], problems: Problems) -> None:
        self.problems = problems
        self.nodes: dict[Path, yaml.Node] = {}
        self.keys: dict[Path, yaml.Node] = {}
        self.open: list[yaml.Node] = []  # from the top to here: finds an alias to its own parent
        self.places = Document(file, lines, None, self.nodes, self.keys)

    def build(self, root: yaml.Node) -> Document:
        data = self.value(root, ())
        return Document(self.places.file, self.places.lines, data, self.nodes, self.keys)

    def error(self, message: str, node: yaml.Node, hint: str = "") -> None:
        mark = node.start_mark
        loc = self.places.at(mark.line, mark.column)
        self.problems.add(SpecError(message, loc=loc, hint=hint))

    def value(self, node: yaml.Node, path: Path) -> Data:
        self.nodes[path] = node
        if node in self.open or len(self.nodes) > MAX_NODES:
            self.error("an alias repeats itself without end", node, "write the entry out")
            return None
        tag = node.tag.rpartition(":")[2]
        if tag not in TAGS:
            self.error(f"tag '{node.tag}' is not allowed", node, "remove it")
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        self.open.append(node)
        result = self.children(node, path)
        self.open.pop()
        return result

    def children(self, node: yaml.Node, path: Path) -> Data:
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
        result: dict[str, Data] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.error("a key must be plain text", key)
                continue
            here = (*path, key.value)
            if key.value in result:
                first = self.keys[here].start_mark.line + 1
                message = f"duplicate key '{key.value}', first on line {first}"
                self.error(message, key, "remove or rename one of the two")
                continue
            self.keys[here] = key
            result[key.value] = self.value(value, here)
        return result


def _scalar(node: yaml.ScalarNode) -> Data:
    """YAML 1.2 core schema for plain scalars; text for quoted ones and blocks."""
    text: str = node.value
    if node.style:
        return text
    if text in NULLS:
        return None
    if text in BOOLEANS:
        return BOOLEANS[text]
    if INTEGER.fullmatch(text) and len(text) <= MAX_DIGITS:
        return int(text, 0) if text[:2] in ("0x", "0o", "0b") else int(text)
    return float(text) if FLOAT.fullmatch(text) else text
