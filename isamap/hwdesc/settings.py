"""Values laid over a hardware file without another file: `memories.sram.size=128KiB`.

In: a document, settings. Out: the document with them, or the text of a file that says the same. Not
its job: where settings come from, what keys mean, how files merge (`overlay`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import yaml

from isamap.errors import Loc, SpecError, closest

from .document import Data, Document, Path, Place, TextFile, read_scalar
from .overlay import BASE, OWN, SOURCE, overlay
from .problems import Problems

NAMED_DEPTH = 2  # `memories.sram`: such keys are names that the file gives, not the schema
SET = "by a setting"


@dataclass(frozen=True, slots=True)
class Setting:
    """Keys joined by dots, and what stands there instead; `null` takes the entry away.

    `loc`: where the keys begin; the value begins at column `value_column` of the same line.
    """

    path: str
    value: str
    loc: Loc
    value_column: int

    @staticmethod
    def of(path: str, value: object) -> "Setting":
        """One that stands in no text."""
        said = "null" if value is None else str(value)
        text = f"{path}={said}"
        return Setting(path, said, Loc("setting", 1, 1, text), len(path) + 2)

    @property
    def keys(self) -> Path:
        """From the top of the file."""
        return tuple(self.path.split("."))

    def __str__(self) -> str:
        return f"{self.path}={self.value}"


def lay_settings(base: Document, settings: Sequence[Setting], problems: Problems) -> Document:
    """The base with all settings, whose entries say in their `source` that they were set.

    Errors recorded: keys that lead nowhere, settings that contradict each other; all at the
    setting.
    """
    before = problems.count
    for number, setting in enumerate(settings):
        _check(setting, base, settings[:number], problems)
    if problems.count > before or not settings:
        return base
    patch = _Patch(base)
    for setting in settings:
        patch.set(setting)
    return overlay(base, patch.document(), problems, own=())


def setting_text(base: Document, settings: Sequence[Setting], name: str, path: str) -> str:
    """A hardware file called `name` that builds on the base at `path` and differs by settings."""
    patch = _Patch(base)
    for setting in settings:
        patch.set(setting)
    data = {BASE: path, "name": name, SOURCE: _source(base.data), **patch.data}
    return yaml.safe_dump(data, sort_keys=False, width=100)


def _check(setting: Setting, base: Document, others: Sequence[Setting], problems: Problems) -> None:
    """Do the keys lead somewhere? The last one may be one that the file leaves out."""
    keys = setting.keys
    if keys[0] in (BASE, *OWN):
        _fail(setting, 0, f"'{keys[0]}' cannot be set", "name another file", problems)
        return
    for other in others:
        n = min(len(keys), len(other.keys))
        if keys[:n] == other.keys[:n]:
            _fail(setting, 0, f"'{setting.path}' and '{other.path}' are both set", "", problems)
            return
    here = base.data
    for depth, key in enumerate(keys):
        known = here if isinstance(here, dict) else {}
        is_free = depth == len(keys) - 1 and len(keys) != NAMED_DEPTH and isinstance(here, dict)
        if key not in known:
            if not is_free:
                place = ".".join(map(str, keys[:depth])) or "the file"
                names = ", ".join(known) or "nothing below it"
                hint = closest(str(key), known) or f"it has {names}"
                _fail(setting, depth, f"{place} has no '{key}' to set", hint, problems)
            return
        here = known[str(key)]


def _fail(setting: Setting, depth: int, message: str, hint: str, problems: Problems) -> None:
    column = setting.loc.column + sum(len(str(key)) + 1 for key in setting.keys[:depth])
    problems.add(SpecError(message, loc=replace(setting.loc, column=column), hint=hint))


class _Patch:
    """What the settings say, as a document that stands where they stand."""

    def __init__(self, base: Document) -> None:
        self.base = base
        self.data: dict[str, Data] = {}
        self.nodes: dict[Path, Place] = {}
        self.keys: dict[Path, Place] = {}

    def document(self) -> Document:
        nodes = {(): self.base.nodes[()], **self.nodes}
        return Document((), self.data, nodes, self.keys)

    def set(self, setting: Setting) -> None:
        """Put the value at the end of the keys, and a source on the way where there was one."""
        below, above = self.base.data, self.data
        column = setting.loc.column
        for depth, key in enumerate(setting.keys):
            path = setting.keys[: depth + 1]
            self.keys.setdefault(path, _place(setting, column, str(key)))
            column += len(str(key)) + 1
            if depth == len(setting.keys) - 1:
                self.nodes[path] = _place(setting, setting.value_column, setting.value)
                node = self.nodes[path].node
                assert isinstance(node, yaml.ScalarNode)
                above[str(key)] = read_scalar(node)
                return
            self.nodes.setdefault(path, self.keys[path])
            below = below.get(str(key)) if isinstance(below, dict) else None
            deeper = above.setdefault(str(key), {})
            assert isinstance(deeper, dict), "no setting is above another"
            above = deeper
            if isinstance(below, dict) and SOURCE in below:
                above.setdefault(SOURCE, _source(below))
                self.nodes.setdefault((*path, SOURCE), self.keys[path])
                self.keys.setdefault((*path, SOURCE), self.keys[path])


def _source(said: Data) -> str:
    """That something was set, and where the rest comes from."""
    old = said.get(SOURCE) if isinstance(said, dict) else None
    return f"{SET}; otherwise: {old}" if old else SET


def _place(setting: Setting, column: int, text: str) -> Place:
    """A text at a column of the setting's line."""
    loc = setting.loc
    file = TextFile(loc.file, (*[""] * (loc.line - 1), loc.text))
    mark = yaml.Mark(loc.file, 0, loc.line - 1, column - 1, "", 0)
    return Place(file, yaml.ScalarNode("tag:yaml.org,2002:str", text, mark, mark))
