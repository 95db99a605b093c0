"""Find hardware files and kernel files by path or by the name of a bundled one.

In: what a user typed. Out: paths. Not its job: reading the files.
"""

from os import PathLike
from pathlib import Path

from .errors import IsamapError, closest

PACKAGE = Path(__file__).parent


def bundled(kind: str, suffix: str) -> dict[str, Path]:
    """Bundled files by name, sorted; `kind` is "hw_specs" or "kernels".

    They lie in `isamap/data` in an installed package and beside the package in a source tree.
    """
    installed = PACKAGE / "data" / kind
    folder = installed if installed.is_dir() else PACKAGE.parent / kind
    return {path.stem: path for path in sorted(folder.glob(f"*{suffix}"))}


def find_hardware(text: str) -> Path:
    """The hardware file at this path or of this bundled name.

    Raises:
        IsamapError: there is neither.
    """
    return _find(text, "hw_specs", ".yaml", "hardware file")


def find_kernel(given: str | PathLike[str]) -> tuple[Path, str | None]:
    """The kernel file of `FILE` or `FILE:KERNEL`, and the kernel's name if given.

    Raises:
        IsamapError: no such file and no bundled one of that name; or a function.
    """
    if callable(given):
        raise _not_a_function(given)
    text = str(given)
    if Path(text).is_file() or ":" not in text:
        return _find(text, "kernels", ".py", "kernel file"), None
    file, _, name = text.rpartition(":")
    return _find(file, "kernels", ".py", "kernel file"), name


def _not_a_function(given: object) -> IsamapError:
    """Kernels are read from files, as they stand there: a function says which that is, if any."""
    name = getattr(given, "__qualname__", type(given).__qualname__)
    file = getattr(getattr(given, "__code__", None), "co_filename", "")
    if Path(file).is_file() and name.isidentifier():
        hint = f"write '{file}:{name}'"
    else:
        hint = "put it at the top of a .py file, and give the file's path"
    return IsamapError(f"kernel {name!r} is given as a function, expected its file", hint=hint)


def _find(text: str, kind: str, suffix: str, what: str) -> Path:
    path = Path(text)
    if path.is_file():
        return path
    known = bundled(kind, suffix)
    if text in known:
        return known[text]
    hint = closest(text, known) or f"bundled ones are {', '.join(known)}"
    raise IsamapError(f"no {what} {text!r}", hint=hint)
