"""Executes programs: `run` for their values, `time_program` for their time."""

from .check import check_program
from .region import find_regions
from .result import PortTime, RunResult, Timing, Traffic, UnitTime
from .run import run
from .set_starts import set_starts
from .time_program import time_program

__all__ = [
    "PortTime",
    "RunResult",
    "Timing",
    "Traffic",
    "UnitTime",
    "check_program",
    "find_regions",
    "run",
    "set_starts",
    "time_program",
]
