"""Execute a Python file that a user chose to run.

In: a path. Out: its module. Not its job: what the module is for, telling its errors.
"""

import importlib.util
import sys
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from types import ModuleType


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
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it must be a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    root = str(packages[-1].parent if packages else place.parent)
    _forget_namesakes(Path(root))
    sys.path.append(root)  # last: what lies there hides nothing that is installed
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(root)
    return module


def _forget_namesakes(root: Path) -> None:
    """Modules called as those in this folder that nothing finds any more: they came with a file
    from another folder, and would be taken for these."""
    here = {file.stem for file in root.glob("*.py")}
    here |= {file.parent.name for file in root.glob("*/__init__.py")}
    for top in sorted(here & sys.modules.keys()):
        origin = getattr(sys.modules[top], "__file__", None)
        if origin is None or origin in _origins(top) or root in Path(origin).parents[:2]:
            continue
        for name in [n for n in sys.modules if n == top or n.startswith(f"{top}.")]:
            del sys.modules[name]


def _origins(top: str) -> Iterator[str | None]:
    """Files that an import would take a module from."""
    for finder in sys.meta_path:
        spec = finder.find_spec(top, None)
        if spec is not None:
            yield spec.origin


def _packages(file: Path) -> Iterator[Path]:
    """Folders of the packages around a file, the innermost first."""
    for folder in file.parents:
        if not (folder / "__init__.py").is_file():
            return
        yield folder
