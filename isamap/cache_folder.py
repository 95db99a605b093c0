"""Where the user's system keeps what can be made anew.

In: the environment. Out: isamap's own folder there. Not its job: making it, what is in it.
"""

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """isamap's folder among the user's caches; it need not exist."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "isamap"
