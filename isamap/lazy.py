"""Names of a package that are loaded when they are first asked for (PEP 562).

In: a package, where its names are. Out: the names. Not its job: deciding which of them cost
start-up time.
"""

import sys
from collections.abc import Mapping
from importlib import import_module


def load_name(package: str, modules: Mapping[str, str], name: str) -> object:
    """What `name` is in the package's module `modules[name]`; kept in the package from then on.

    `partial(load_name, __name__, modules)` is a package's `__getattr__`.
    """
    if name not in modules:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value: object = getattr(import_module(modules[name], package), name)
    setattr(sys.modules[package], name, value)
    return value
