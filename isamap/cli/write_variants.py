"""Files of a sweep, among them a hardware file of every variant on the front.

In: a comparison, a folder, other texts. Out: the files, all or none. Not its job: what they say.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from isamap.errors import IsamapError
from isamap.hwdesc import variant_text
from isamap.resources import bundled, find_hardware
from isamap.sweep import Comparison, Variant
from isamap.write_all import make_folder, write_all

from .explore_json import SCHEMA


def variant_files(folder: Path, found: Comparison, others: Mapping[str, str]) -> None:
    """The other texts by name, and `variant_<number>.yaml` for the front: `isamap map --hw` takes
    it. Those that an earlier sweep wrote there go: they would look like this one's.

    Raises:
        IsamapError: one of them cannot be written, or is what the sweep was about.
    """
    variants = [found.total(number).variant for number in found.front]
    texts = {folder / _name(v.number): _text(v, folder) for v in variants}
    read = _read_files(found)
    for path in texts:
        if path.resolve() in read:
            hint = "name another folder by -o; what was answered is kept"
            raise IsamapError(f"{path} is among the hardware files that are swept", hint=hint)
    old = _written_before(folder)
    make_folder(folder)
    write_all({**{folder / name: text for name, text in others.items()}, **texts})
    for path in old:
        if path.is_file() and path not in texts and path.resolve() not in read:
            path.unlink()


def _name(number: int) -> str:
    return f"variant_{number}.yaml"


def _read_files(found: Comparison) -> set[Path]:
    """The hardware files of all variants, and those that they build on."""
    machines = (point.hardware for total in found.totals for point in total.points)
    return {Path(file).resolve() for hw in machines if hw for file in hw.files}


def _written_before(folder: Path) -> list[Path]:
    """Hardware files of the sweep whose answer lies there, as it says itself."""
    try:
        data = json.loads((folder / "explore.json").read_text(encoding="utf-8"))
        front = data["front"] if data["schema"] == SCHEMA else []
        return [folder / _name(int(number)) for number in front]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _text(variant: Variant, folder: Path) -> str:
    path = find_hardware(variant.hardware)
    is_bundled = path in bundled("hw_specs", ".yaml").values()
    base = path.stem if is_bundled else os.path.relpath(path, folder)
    name = f"{path.stem}_{variant.number}"
    return variant_text(path, variant.settings, name, base)
