"""Which processor this is, as far as it says.

In: the system's word. Out: names. Not its job: what it can do (`detect`).
"""

import platform
from functools import cache
from pathlib import Path


@cache
def this_processor() -> tuple[str, tuple[str, ...]]:
    """Its model, and its features where they can be told."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8", errors="replace") if info.exists() else ""
    rows = (line.partition(":") for line in text.splitlines() if ":" in line)
    found: dict[str, str] = {}
    for name, _, value in rows:
        found.setdefault(name.strip(), value.strip())
    names = ("vendor_id", "cpu family", "model", "stepping", "model name", "CPU part")
    known = [found[name] for name in names if name in found]
    model = " ".join(known) or platform.processor() or platform.machine()
    features = found.get("flags") or found.get("Features") or ""
    return model, tuple(sorted(features.split()))
