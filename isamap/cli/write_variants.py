"""Files of a sweep, among them a hardware file of every variant on the front.

In: a comparison, a folder, other texts. Out: the files, all or none. Not its job: what they say.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from isamap.hwdesc import variant_text
from isamap.resources import bundled, find_hardware
from isamap.sweep import Comparison, Variant
from isamap.write_all import make_folder, write_all


def variant_files(folder: Path, found: Comparison, others: Mapping[str, str]) -> None:
    """The other texts by name, and `variant_<number>.yaml` for the front: `isamap map --hw` takes
    it.

    Raises:
        IsamapError: one of them cannot be written.
    """
    make_folder(folder)
    variants = [found.total(number).variant for number in found.front]
    texts = {f"variant_{v.number}.yaml": _text(v, folder) for v in variants}
    write_all({folder / name: text for name, text in {**others, **texts}.items()})


def _text(variant: Variant, folder: Path) -> str:
    path = find_hardware(variant.hardware)
    is_bundled = path in bundled("hw_specs", ".yaml").values()
    base = path.stem if is_bundled else os.path.relpath(path, folder)
    name = f"{path.stem}_{variant.number}"
    return variant_text(path, variant.settings, name, base)
