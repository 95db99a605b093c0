"""Scalar expressions of the IR as C: one variable per operation, rounded and wrapped as the table
says.

In: statements. Out: C text, and the helper functions it calls. Not its job: loops around it, where
arrays lie.
"""

from .functions import FAST_FUNCTIONS, LIBRARY
from .helpers import HELPERS, used_helpers
from .joins import JOINS_LIBRARY
from .writer import StatementWriter, is_within, storage_type, value_type

__all__ = [
    "FAST_FUNCTIONS",
    "HELPERS",
    "JOINS_LIBRARY",
    "LIBRARY",
    "StatementWriter",
    "is_within",
    "storage_type",
    "used_helpers",
    "value_type",
]
