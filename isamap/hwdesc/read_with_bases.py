"""A hardware file and those it builds on, as one document.

In: a path. Out: a `Document` with every base below it. Not its job: what laying one over the other
means (`overlay`), what keys mean.
"""

from pathlib import Path

from isamap.errors import SpecError, closest
from isamap.resources import bundled

from .document import Document, read_document
from .overlay import BASE, overlay
from .problems import Problems

SUFFIX = ".yaml"


def read_with_bases(path: Path, problems: Problems) -> Document | None:
    """Read a file and the chain of its bases; None if there is no whole (a problem says why).

    Errors recorded: what `read_document` and `overlay` record; a base that is not there or builds
    on itself.
    """
    return _read(path, problems, (), None)


def _read(
    path: Path, problems: Problems, above: tuple[Path, ...], asked: Document | None
) -> Document | None:
    """`above`: the files that build on this one; `asked`: the nearest of them."""
    before = problems.count
    document = read_document(path, problems, asked.loc((BASE,)) if asked else None)
    if document is None or not isinstance(document.data, dict) or BASE not in document.data:
        return document
    chain = (*above, path)
    found = _find(document.data[BASE], document, chain, problems)
    base = _read(found, problems, chain, document) if found else None
    if base is None or problems.count > before:
        return None
    merged = overlay(base, document, problems)
    return None if problems.count > before else merged


def _find(
    name: object, document: Document, chain: tuple[Path, ...], problems: Problems
) -> Path | None:
    """The file that `name` is: a path from the file's folder, or a bundled one's name."""

    def fail(message: str, hint: str) -> None:
        problems.add(SpecError(message, loc=document.loc((BASE,)), hint=hint))

    if not isinstance(name, str) or not name:
        fail("'base' must be text", "a path from this file's folder, or the name of a bundled file")
        return None
    folder, known = chain[-1].parent, bundled("hw_specs", SUFFIX)
    beside = (folder / name, folder / f"{name}{SUFFIX}")
    found = next((path for path in beside if path.is_file()), known.get(name))
    if found is None:
        names = [*(path.name for path in sorted(folder.glob(f"*{SUFFIX}"))), *known]
        hint = closest(name, names) or f"bundled ones are {', '.join(known)}"
        fail(f"no hardware file '{name}' to build on", hint)
        return None
    if found.resolve() in [path.resolve() for path in chain]:
        names = [path.name for path in (*chain, found)]
        fail(f"{found} builds on itself: {' on '.join(names)}", "name another file, or none")
        return None
    return found
