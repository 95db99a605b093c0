"""Answers as files, and back."""

from .evaluate import Evaluation, evaluate
from .schedule_text import schedule_text
from .schema import Recorded
from .summary import summary_text
from .timeloop import TIMELOOP_FILES, timeloop_files

__all__ = [
    "Evaluation",
    "Recorded",
    "TIMELOOP_FILES",
    "evaluate",
    "schedule_text",
    "summary_text",
    "timeloop_files",
]
