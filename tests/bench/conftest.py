"""Lets tests import the benchmarks, which are scripts and not a package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
