"""Executes programs: `run` for their values, `time_program` for their time."""

from .check import check_program
from .region import deal_ports, find_regions
from .result import PortTime, RunResult, Timing, Traffic, UnitTime
from .run import run
from .set_starts import set_starts, time_scheduled
from .time_program import time_program
from .trace import Family, Place, Trace, TracedCall
from .trace_program import MAX_CALLS, trace_program
from .waits import Wait

__all__ = [
    "MAX_CALLS",
    "Family",
    "Place",
    "PortTime",
    "RunResult",
    "Timing",
    "Trace",
    "TracedCall",
    "Traffic",
    "UnitTime",
    "Wait",
    "check_program",
    "deal_ports",
    "find_regions",
    "run",
    "set_starts",
    "time_program",
    "time_scheduled",
    "trace_program",
]
