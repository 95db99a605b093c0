"""Execute a Python file that a user chose to run.

In: a path. Out: its module. Not its job: what the module is for, telling its errors.
"""

import importlib.util
import sys
from os import PathLike
from pathlib import Path
from types import ModuleType


def import_file(path: str | PathLike[str], prefix: str) -> ModuleType:
    """The file's module, called `<prefix>_<stem>`; dataclasses and pickle find it there.

    Raises:
        ImportError: it is no .py file.
        Exception: whatever the file raises.
    """
    name = f"{prefix}_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError("it must be a .py file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
