"""What candidates take on this processor: a cost model that compiles, times and remembers, and one
that learns from what was remembered.

In: candidates, a machine whose programs run here. Out: prices. Not its job: making candidates.
"""

from .correlate import correlate_ranks
from .cost_model import Measured
from .database import Database, Outcome, default_path
from .learned import Learned
from .subject import Subject, digest, make_subject
from .timer import Measurement, ProcessTimer, Timer

__all__ = [
    "Database",
    "Learned",
    "Measured",
    "Measurement",
    "Outcome",
    "ProcessTimer",
    "Subject",
    "Timer",
    "correlate_ranks",
    "default_path",
    "digest",
    "make_subject",
]
