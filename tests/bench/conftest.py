"""Lets tests import the benchmarks, which are scripts and not a package."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "scheduler")]
