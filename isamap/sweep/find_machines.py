"""Machines of a sweep by what a user typed.

In: paths, bundled names, `native`. Out: the same, `native` by the name of what it is. Not its job:
reading them.
"""

from collections.abc import Iterable

from isamap.processor import NATIVE, find_machine


def find_machines(names: Iterable[str]) -> list[str]:
    """As they are named in the answer.

    Raises:
        IsamapError: there is none of that name.
    """
    found = [(name, find_machine(name)) for name in names]
    return [path.stem if name == NATIVE else name for name, path in found]
