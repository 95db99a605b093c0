"""A YAML file, or several in layers, as plain data that remembers where everything stood.

In: a path. Out: a `Document`. Scalars as in YAML 1.2 (`on`, `no` mean themselves, `010` is ten),
duplicate keys are errors. Nothing is constructed but dict, list, str, int, float, bool and None.
Not its job: what keys mean, laying files over each other (`overlay`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path as FilePath

import yaml

from isamap.errors import Loc, SpecError

from .problems import Problems

Path = tuple[str | int, ...]  # keys and positions from the top of the file
Data = None | bool | int | float | str | list["Data"] | dict[str, "Data"]
MAX_NODES = 200_000  # aliases may repeat an entry, but not explode
MAX_DEPTH = 100  # entries within each other, over which all readers recurse
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
    (
        "mapping values are not allowed",
        "indent keys of one entry alike, and put text that contains ': ' in quotes",
    ),
    ("undefined alias", "put text that begins with * in quotes"),
    ("that YAML forbids", "remove it"),
)
TAGS = ("str", "seq", "map")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes only; plain scalars are text until `_scalar` decides."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's name and lines."""

    file: str
    lines: tuple[str, ...]

    def at(self, line: int, column: int) -> Loc:
        """A position, both counted from 0."""
        text = self.lines[line] if line < len(self.lines) else ""
        return Loc(self.file, line + 1, column + 1, text)


@dataclass(frozen=True, slots=True)
class Place:
    """A YAML node and the file that it stands in."""

    text: TextFile
    node: yaml.Node

    @property
    def loc(self) -> Loc:
        """Where the node begins, inside quotes."""
        quoted = isinstance(self.node, yaml.ScalarNode) and self.node.style in ("'", '"')
        return self.text.at(self.node.start_mark.line, self.node.start_mark.column + quoted)

    @property
    def is_block(self) -> bool:
        """Is it a `|` block, whose lines are the file's lines?"""
        return isinstance(self.node, yaml.ScalarNode) and self.node.style == "|"

    @property
    def block_start(self) -> tuple[int, int]:
        """Line (from 0) of the first line of a `|` block, and its indentation."""
        first = self.node.start_mark.line + 1
        lines = self.text.lines[first : self.node.end_mark.line + 1]
        texts = [line for line in lines if line.strip()]
        indent = len(texts[0]) - len(texts[0].lstrip(" ")) if texts else 0
        return first, indent


@dataclass(frozen=True, slots=True)
class Document:
    """`data` is what the file says; `nodes` and `keys` say where a path's value and key stand.

    texts: the file, then those that it builds on. removed: keys that take away what those say.
    """

    texts: tuple[TextFile, ...]
    data: Data
    nodes: Mapping[Path, Place]
    keys: Mapping[Path, Place]
    removed: Mapping[Path, Place] = field(default_factory=dict)

    @property
    def files(self) -> tuple[str, ...]:
        """The file, then those that it builds on."""
        return tuple(text.file for text in self.texts)

    def place(self, path: Path) -> Place:
        """Where the value at `path` stands, or its nearest parent."""
        while path not in self.nodes:
            path = path[:-1]
        return self.nodes[path]

    def loc(self, path: Path) -> Loc:
        """Where the value at `path` begins (inside quotes), or its nearest parent."""
        return self.place(path).loc

    def key_loc(self, path: Path) -> Loc:
        """Where the key at the end of `path` begins (list entries: the value), or its parent."""
        while path and path not in self.nodes:
            path = path[:-1]
        return (self.keys if path in self.keys else self.nodes)[path].loc

    def missing_loc(self, path: Path) -> Loc:
        """Where to say that there is nothing at `path`: where it was taken away, or its parent."""
        return self.removed[path].loc if path in self.removed else self.key_loc(path[:-1])

    def loc_inside(self, path: Path, text: str, offset: int) -> Loc:
        """Where character `offset` of the value `text` at `path` stands; of a folded one, where it
        begins."""
        place = self.place(path)
        start = place.loc
        if place.is_block:
            line, indent = place.block_start
            before = text[:offset]
            column = indent + offset - before.rfind("\n") - 1
            return place.text.at(line + before.count("\n"), column)
        if "\n" in text[:offset] or text not in start.text:
            return start
        return place.text.at(start.line - 1, start.column - 1 + offset)


def read_document(
    path: FilePath, problems: Problems, asked: Loc | None = None, first: str = "name: ..."
) -> Document | None:
    """Read a YAML file; None if it cannot even be parsed (a problem says why).

    Args:
        asked: where another file names this one.
        first: how such files begin.

    Errors recorded: unreadable file, YAML syntax, duplicate keys, non-text keys, tags, endless
    aliases, too many entries or too many within each other, top level not a mapping.
    """
    file = str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        problems.add(SpecError(f"cannot read {file}: {reason}", loc=asked))
        return None
    source = TextFile(file, tuple(text.split("\n")))
    try:
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        problems.add(_syntax_error(error, source))
        return None
    if not isinstance(root, yaml.MappingNode):
        message = f"{file} is {'not a mapping of keys to values' if root else 'empty'}"
        problems.add(SpecError(message, loc=asked, hint=f"begin with '{first}'"))
        return None
    return _Builder(source, problems).build(root)


def _syntax_error(error: yaml.YAMLError, source: TextFile) -> SpecError:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        what = error.problem or "syntax error"
        loc = source.at(error.problem_mark.line, error.problem_mark.column)
    else:
        what = "a character that YAML forbids"
        places = ((n, _forbidden(line)) for n, line in enumerate(source.lines))
        loc = source.at(*next((place for place in places if place[1] >= 0), (0, 0)))
    hint = next((hint for part, hint in SYNTAX_HINTS if part in what), SYNTAX_HINT)
    return SpecError(f"not valid YAML: {what}", loc=loc, hint=hint)


def _forbidden(line: str) -> int:
    """Column of the first character that YAML forbids, or -1."""
    return next((i for i, c in enumerate(line) if not c.isprintable() and c != "\t"), -1)


class _Builder:
    """Walks the YAML nodes of one file once."""

    def __init__(self, source: TextFile, problems: Problems) -> None:
        self.source = source
        self.problems = problems
        self.nodes: dict[Path, Place] = {}
        self.keys: dict[Path, Place] = {}
        self.open: list[yaml.Node] = []  # from the top to here: finds an alias to its own parent
        self.is_full = False

    def build(self, root: yaml.Node) -> Document:
        data = self.value(root, ())
        return Document((self.source,), data, self.nodes, self.keys)

    def error(self, message: str, node: yaml.Node, hint: str = "") -> None:
        mark = node.start_mark
        loc = self.source.at(mark.line, mark.column)
        self.problems.add(SpecError(message, loc=loc, hint=hint))

    def value(self, node: yaml.Node, path: Path) -> Data:
        self.nodes[path] = Place(self.source, node)
        if not self.may_read(node, path):
            return None
        tag = node.tag.rpartition(":")[2]
        if tag not in TAGS:
            self.error(f"tag '{node.tag}' is not allowed", node, "remove it")
        if isinstance(node, yaml.ScalarNode):
            return read_scalar(node)
        self.open.append(node)
        result = self.children(node, path)
        self.open.pop()
        return result

    def may_read(self, node: yaml.Node, path: Path) -> bool:
        """Has the file an end, and is it small enough? Said once that it is too large."""
        if node in self.open:
            self.error("an alias repeats itself without end", node, "write the entry out")
        elif len(path) > MAX_DEPTH:
            self.error(f"more than {MAX_DEPTH} entries within each other", node, "check brackets")
        elif len(self.nodes) > MAX_NODES:
            if not self.is_full:
                hint = "an entry that an alias repeats counts each time: write fewer"
                self.error(f"more than {MAX_NODES} entries", node, hint)
            self.is_full = True
        else:
            return True
        return False

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
                first = self.keys[here].node.start_mark.line + 1
                message = f"duplicate key '{key.value}', first on line {first}"
                self.error(message, key, "remove or rename one of the two")
                continue
            self.keys[here] = Place(self.source, key)
            result[key.value] = self.value(value, here)
        return result


def read_scalar(node: yaml.ScalarNode) -> Data:
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
    is_number = FLOAT.fullmatch(text) and isfinite(float(text))  # 1e400 stays what it is
    return float(text) if is_number else text
