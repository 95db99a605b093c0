"""Bundled machines without their hosts, to see what the accelerator alone lacks."""

import re
from pathlib import Path

from isamap.resources import find_hardware


def write_hostless(name: str, folder: Path) -> str:
    """Write the bundled machine without `host` into a folder; the path of the file."""
    text = Path(find_hardware(name)).read_text(encoding="utf-8")
    bare, count = re.subn(r"^host:.*?\n(?=instructions:)", "", text, flags=re.M | re.S)
    assert count == 1, f"{name} has no host, or it is not followed by the instructions"
    path = folder / f"{name}.yaml"
    path.write_text(bare, encoding="utf-8")
    return str(path)
