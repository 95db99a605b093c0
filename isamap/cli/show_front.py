"""A Pareto front on a terminal and for scripts.

In: a FrontResult. Out: lines of text, JSON values. Not its job: finding it.
"""

from rich.console import Console
from rich.text import Text

from isamap.costmodels import Metric, pretty_cost
from isamap.pareto import FrontResult
from isamap.planner import Plan
from isamap.scheduler import Answer

from .json_parts import SCHEMA_VERSION, Json, costs_to_json, tiling_to_json, versions_to_json
from .units import align, show_seconds


def print_front(result: FrontResult, console: Console) -> None:
    """A row per point, then whether that is all."""
    front, names = result.front, ", ".join(metric.value for metric in result.front.metrics)
    console.print(Text(f"{result.kernel.name} on {result.hardware.name}: front of {names}"))
    console.print()
    for line in front_lines(result):
        console.print(Text(line), soft_wrap=True)
    count = f"{len(front.points)} point{'s' if len(front.points) != 1 else ''}"
    word = "complete" if front.is_complete else f"not complete: {front.cut}"
    console.print()
    console.print(Text(f"{count}, {word}; {show_seconds(front.seconds)} (closed form)"))


def front_lines(result: FrontResult) -> list[str]:
    """The metrics of the front first, then the other costs; what computes."""
    front = result.front
    metrics = (*front.metrics, *(metric for metric in Metric if metric not in front.metrics))
    rows = [(*(metric.value for metric in metrics), "by")]
    for point, costs in zip(front.points, front.costs, strict=True):
        rows.append((*(pretty_cost(m, costs.of(m)) for m in metrics), _computed_by(point)))
    return align(rows, right=tuple(range(len(metrics))))


def _computed_by(point: Answer | Plan) -> str:
    if isinstance(point, Answer):
        return point.best.covering.instruction
    names = (t.best.covering.instruction for t in point.tasks if not t.on_host)
    return ", ".join(dict.fromkeys(names)) or "host"


def front_to_json(result: FrontResult) -> dict[str, Json]:
    """Everything in the answer; every key with a unit says it."""
    front = result.front
    return {
        "schema": "isamap-front",
        "schema_version": SCHEMA_VERSION,
        "versions": versions_to_json(),
        "kernel": result.kernel.name,
        "hardware": result.hardware.name,
        "metrics": [metric.value for metric in front.metrics],
        "points": [
            {
                **costs_to_json(costs),
                "instruction": _computed_by(point),
                "status": point.status.value,
                "tiling": _tiling(point),
            }
            for point, costs in zip(front.points, front.costs, strict=True)
        ],
        "is_complete": front.is_complete,
        "not_looked_at": front.cut,
        "solver_seconds": front.seconds,
    }


def _tiling(point: Answer | Plan) -> Json:
    if isinstance(point, Plan):
        return None
    return tiling_to_json(point.best.tiling)
