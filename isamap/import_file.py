"""Execute a Python file that a user chose to run.

In: a path. Out: its module. Not its job: what the module is for, telling its errors.
"""

import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from os import PathLike
from pathlib import Path
from types import CodeType, ModuleType

_neighbours: dict[str, ModuleType] = {}  # what imported files brought from their folders


class _AsItIs(SourceFileLoader):
    """Compiles the text each time: kept bytecode is taken for that of any text of the same length
    that was written in the same second."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def import_file(path: str | PathLike[str], prefix: str) -> ModuleType:
    """The file's module, called `<prefix>_<stem>`; dataclasses and pickle find it there.

    It imports its neighbours as it would if it were run; a file of a package (`__init__.py` lies
    beside it) as its modules do, by relative imports too.

    Raises:
        ImportError: it is no .py file.
        Exception: whatever the file raises.
    """
    place = Path(path).resolve()
    packages = list(_packages(place))
    name = ".".join([*(folder.name for folder in reversed(packages)), f"{prefix}_{place.stem}"])
    if place.suffix != ".py":
        raise ImportError("it must be a .py file")
    spec = importlib.util.spec_from_file_location(name, path, loader=_AsItIs(name, str(path)))
    assert spec is not None and spec.loader is not None, "a loader that is given is taken"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    root = packages[-1].parent if packages else place.parent
    _forget_namesakes(root)
    before = set(sys.modules)
    sys.path.append(str(root))  # last: what lies there hides nothing that is installed
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(str(root))
        for new in sys.modules.keys() - before:
            if _lies_in(root, new, sys.modules[new]):
                _neighbours[new] = sys.modules[new]
    return module


def _forget_namesakes(root: Path) -> None:
    """Neighbours of files in other folders are imported anew where this folder has a module of
    that name, too."""
    here = {file.stem for file in root.glob("*.py")}
    here |= {file.parent.name for file in root.glob("*/__init__.py")}
    for name, module in list(_neighbours.items()):
        if name.split(".")[0] in here and not _lies_in(root, name, module):
            del _neighbours[name]
            if sys.modules.get(name) is module:
                del sys.modules[name]


def _lies_in(folder: Path, name: str, module: ModuleType) -> bool:
    """Is the module one of this folder's own, and not of an environment below it?"""
    file, top = Path(getattr(module, "__file__", None) or ""), folder / name.split(".")[0]
    return file == top.with_suffix(".py") or top in file.parents


def _packages(file: Path) -> Iterator[Path]:
    """Folders of the packages around a file, the innermost first."""
    for folder in file.parents:
        if not (folder / "__init__.py").is_file():
            return
        yield folder
