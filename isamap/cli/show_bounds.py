"""What limits a schedule: lower bounds beside what it takes.

In: a Result. Out: lines of text, JSON values. Not its job: the bounds themselves.
"""

from isamap.compile import Result
from isamap.costmodels import find_bounds

from .json_parts import Json
from .units import align, show_count, show_share


def bound_lines(result: Result) -> list[str]:
    """Per unit, port and chain of calls the cycles that it alone takes, the largest first."""
    cycles = result.timing.cycles if result.timing else result.schedule.estimate.cycles
    rows = [
        (row.name, f"{show_count(row.cycles)} cycles", show_share(row.cycles / max(1, cycles)))
        + (row.reason,)
        for row in find_bounds(result.schedule.covering, result.schedule.work, result.hardware)
        if row.cycles
    ]
    return align(rows, right=(1, 2))


def bounds_to_json(result: Result) -> list[Json]:
    """The same rows."""
    found = find_bounds(result.schedule.covering, result.schedule.work, result.hardware)
    return [{"name": row.name, "cycles": row.cycles, "reason": row.reason} for row in found]
