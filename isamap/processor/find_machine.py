"""Find a hardware file by what a user typed, `native` too.

In: a path, a bundled name, or `native`. Out: a path. Not its job: reading it, which machine fits
this processor (`fit`).

Measuring takes seconds, so what `native` means is kept in the cache folder, for this processor and
these bundled files, until `isamap detect` measures again.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from isamap.cache_folder import cache_folder
from isamap.errors import IsamapError
from isamap.hwdesc import load_hardware
from isamap.resources import bundled, find_hardware
from isamap.write_all import make_folder, write_all

from .detect import detect
from .fit import fit
from .this_processor import this_processor

NATIVE = "native"


def find_machine(text: str) -> Path:
    """The hardware file at this path, of this bundled name, or for `native` the bundled one that
    fits this processor best.

    Raises:
        IsamapError: there is none.
    """
    if text != NATIVE or Path(text).is_file():
        return find_hardware(text)
    known = bundled("hw_specs", ".yaml")
    with suppress(OSError):
        name = _note(known).read_text(encoding="utf-8")
        if name in known:
            return known[name]
    found = [one for one in (detect(load_hardware(path)) for path in known.values()) if one]
    best = fit(found)
    if not best:
        reasons = "; ".join(f"{one.hardware.name}: {one.reason}" for one in found)
        raise IsamapError("no bundled machine runs on this processor", hint=reasons)
    remember(best[0].name)
    return known[best[0].name]


def remember(name: str) -> None:
    """From now on, `native` means this bundled machine; no matter where nothing can be kept."""
    note = _note(bundled("hw_specs", ".yaml"))
    with suppress(IsamapError):
        make_folder(note.parent)
        write_all({note: name})


def _note(known: Mapping[str, Path]) -> Path:
    """Where the name is kept: another file for another processor, or other descriptions."""
    texts = (part for name, path in known.items() for part in (name.encode(), path.read_bytes()))
    key = hashlib.sha256(repr((this_processor(), *texts)).encode())
    return cache_folder() / NATIVE / key.hexdigest()[:20]
