"""An answer as one table: a row per task and one for the whole.

In: a Result or a PlanResult. Out: CSV text. Not its job: writing files.
"""

import csv
from collections.abc import Iterator
from io import StringIO

from isamap.compile import PlanResult, Result
from isamap.ir import Kernel, pretty_statement
from isamap.mapper import Covering, Task
from isamap.planner import PlannedTask
from isamap.scheduler import Schedule

from .describe import tile_iterations

COLUMNS = (
    "kernel", "hardware", "task", "runs", "binding", "tiles", "outer", "inner",
    "analytical_cycles", "bound_cycles", "status", "emulated_cycles", "emulated_seconds",
    "energy_pj", "external_read_bytes", "external_written_bytes", "verified", "statements",
)  # fmt: skip
Cell = str | int | float
TOTAL = "total"


def summary_text(result: Result | PlanResult) -> str:
    """A header, a row per task (what only the whole program has is empty there), and the total."""
    file = StringIO()
    writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    names: dict[str, Cell] = {"kernel": result.kernel.name, "hardware": result.hardware.name}
    for row in _task_rows(result):
        writer.writerow({**names, **row})
    writer.writerow({**names, **_total_row(result)})
    return file.getvalue()


def _task_rows(result: Result | PlanResult) -> Iterator[dict[str, Cell]]:
    if isinstance(result, Result):
        answer = result.answer
        known: dict[str, Cell] = {
            "bound_cycles": answer.bound_cycles, "status": answer.status.value,
        }  # fmt: skip
        yield {**_schedule_cells(Task(result.kernel, 0), result.schedule), **known}
        return
    for planned in result.plan.tasks:
        yield _planned_cells(planned)


def _planned_cells(planned: PlannedTask) -> dict[str, Cell]:
    if planned.on_host:
        row = _task_cells(planned.task)
        return {**row, "runs": "host", "analytical_cycles": planned.cycles}
    assert planned.answer is not None, "a task off the host has a schedule"
    return {
        **_schedule_cells(planned.task, planned.best),
        "bound_cycles": planned.answer.bound_cycles,
        "status": planned.answer.status.value,
    }


def _task_cells(task: Task) -> dict[str, Cell]:
    numbers = [part.number for part in task.parts] or [task.number]
    return {
        "task": " ".join(map(str, numbers)),
        "statements": "; ".join(pretty_statement(s) for s in task.statements),
    }


def _schedule_cells(task: Task, schedule: Schedule) -> dict[str, Cell]:
    covering, tiling = schedule.covering, schedule.tiling
    tiles = [(x.name, tile_iterations(x, tiling.tile(x.name))) for x in covering.loops]
    return {
        **_task_cells(task),
        "runs": covering.instruction,
        "binding": _binding(covering),
        "tiles": " ".join(f"{name}={size}" for name, size in tiles),
        "outer": " ".join(tiling.outer),
        "inner": " ".join(tiling.inner),
        "analytical_cycles": schedule.estimate.cycles,
    }


def _binding(covering: Covering) -> str:
    return " ".join(f"{loop}={'*'.join(group) or '1'}" for loop, group in covering.binding)


def _total_row(result: Result | PlanResult) -> dict[str, Cell]:
    row: dict[str, Cell] = {"task": TOTAL, "verified": str(result.verification.is_verified).lower()}
    kernel = result.plan.kernel if isinstance(result, PlanResult) else result.kernel
    row |= {"analytical_cycles": result.analytical_cycles, "bound_cycles": result.bound_cycles}
    row |= {"status": result.status.value, "statements": _count(kernel)}
    if result.timing is not None:
        timing = result.timing
        moved = timing.moved(result.hardware.external.name)
        row |= {
            "emulated_cycles": timing.cycles,
            "emulated_seconds": timing.cycles / result.hardware.clock_hz,
            "energy_pj": timing.energy_pj,
            "external_read_bytes": moved.read_bytes,
            "external_written_bytes": moved.written_bytes,
        }
    return row


def _count(kernel: Kernel) -> str:
    return f"{len(kernel.statements)} statement{'s' if len(kernel.statements) > 1 else ''}"
