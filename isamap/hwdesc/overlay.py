"""One hardware file laid over another: a JSON Merge Patch (RFC 7396) that knows its positions.

In: two documents. Out: one. Not its job: finding and reading files (`read_with_bases`), what keys
mean, save that a `source` is the source of what stands beside it.

The order is the base's, new entries after it. Two things are stricter than RFC 7396: removing what
is not there is a mistake, and so are new figures under the old ones' source.
"""

from isamap.errors import SpecError, closest

from .document import Data, Document, Path, Place
from .problems import Problems

BASE, SOURCE = "base", "source"
OWN = ("name", SOURCE)  # what a file does not take from its base


def overlay(
    base: Document, patch: Document, problems: Problems, own: tuple[str, ...] = OWN
) -> Document:
    """What `base` says and `patch` changes: mappings merge, null removes, all else replaces.

    `own`: what the patch has to say itself.

    Errors recorded: a patch without a name or source, nothing there to remove, a changed entry that
    keeps its source.
    """
    return _Overlay(base, patch, problems).document(own)


class _Overlay:
    """Walks both files once."""

    def __init__(self, base: Document, patch: Document, problems: Problems) -> None:
        self.base = base
        self.patch = patch
        self.problems = problems
        self.nodes: dict[Path, Place] = {}
        self.keys: dict[Path, Place] = {}
        self.removed = dict(base.removed)

    def document(self, own: tuple[str, ...]) -> Document:
        said = self.patch.data
        assert isinstance(said, dict)
        for key in own:
            if said.get(key) is None:
                loc = self.patch.key_loc((key,) if key in said else (BASE,))
                message = f"a file with a base has no '{key}' of its own"
                hint = "say what it describes, and where what differs comes from"
                self.problems.add(SpecError(message, loc=loc, hint=hint))
        above = {k: v for k, v in said.items() if k != BASE and (k not in OWN or v is not None)}
        data = self.merge((), self.base.data, above)
        texts = (*self.patch.texts, *self.base.texts)
        return Document(texts, data, self.nodes, self.keys, self.removed)

    def merge(self, path: Path, below: Data, above: Data) -> Data:
        if not isinstance(above, dict):
            self.keep(self.patch, path, above)
            return above
        self.keep_place(self.patch, path)
        known = below if isinstance(below, dict) else {}
        if path and above and SOURCE in known and SOURCE not in above:
            message = f"'{path[-1]}' differs from {self.base.files[0]} and has no 'source'"
            hint = "say where the new figures come from; a guess says 'estimate'"
            self.problems.add(SpecError(message, loc=self.patch.key_loc(path), hint=hint))
        result: dict[str, Data] = {}
        for key, value in known.items():
            here = (*path, key)
            if key not in above:
                self.keep(self.base, here, value)
                result[key] = value
            elif above[key] is None:
                self.removed[here] = self.patch.keys[here]
            else:
                result[key] = self.merge(here, value, above[key])
        for key, value in above.items():
            if value is None and key not in known:
                self.nothing_to_remove((*path, key), list(known))
            elif key not in known:
                result[key] = self.merge((*path, key), None, value)
        return result

    def nothing_to_remove(self, path: Path, known: list[str]) -> None:
        message = f"there is no '{path[-1]}' to remove in {self.base.files[0]}"
        hint = closest(str(path[-1]), known) or "an entry without keys is {}"
        self.problems.add(SpecError(message, loc=self.patch.key_loc(path), hint=hint))

    def keep(self, document: Document, path: Path, value: Data) -> None:
        """Everything at `path` and below stands where it stands in `document`."""
        self.keep_place(document, path)
        if isinstance(value, dict):
            for key, child in value.items():
                self.keep(document, (*path, key), child)
        elif isinstance(value, list):
            for number, child in enumerate(value):
                self.keep(document, (*path, number), child)

    def keep_place(self, document: Document, path: Path) -> None:
        self.nodes[path] = document.nodes[path]
        if path in document.keys:
            self.keys[path] = document.keys[path]
