"""Sweeps of machines' descriptions: what kernels take on every variant.

In: kernels, machines, settings. Out: points, their comparison, rows. Not its job: printing.
"""

from .ask import Asking
from .compare import Comparison, Total, check_cost, compare
from .explore import explore
from .find_machines import find_machines
from .keep import Kept
from .measure_machine import MANAGED, cost_of, machine_numbers
from .outcome import Outcome, Standing
from .table import Cell, rows, table_text
from .variant import Axis, Variant, Workload, combine
from .visit import Point, visit

__all__ = [
    "Asking",
    "Axis",
    "Cell",
    "Comparison",
    "Kept",
    "MANAGED",
    "Outcome",
    "Point",
    "Standing",
    "Total",
    "Variant",
    "Workload",
    "check_cost",
    "combine",
    "compare",
    "cost_of",
    "explore",
    "find_machines",
    "machine_numbers",
    "rows",
    "table_text",
    "visit",
]
