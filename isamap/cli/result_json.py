"""The answer of `isamap map` for scripts.

In: an answer. Out: dictionaries, lists, strings and numbers. Not its job: writing files, kernels of
several tasks (`plan_json`).
"""

from isamap.compile import PlanResult, Result
from isamap.ir import pretty
from isamap.scheduler import used_bytes

from .json_parts import (
    SCHEMA_VERSION,
    Json,
    costs_to_json,
    mapping_to_json,
    request_to_json,
    tiling_to_json,
    timing_to_json,
    verification_to_json,
    versions_to_json,
)
from .plan_json import plan_to_json
from .show_bounds import bounds_to_json
from .show_measured import contenders_to_json


def result_to_json(result: Result | PlanResult) -> dict[str, Json]:
    """Everything in the answer; every key with a unit says it."""
    return plan_to_json(result) if isinstance(result, PlanResult) else _single_to_json(result)


def _single_to_json(result: Result) -> dict[str, Json]:
    answer, schedule, request = result.answer, result.schedule, result.request
    return {
        "schema": "isamap-result",
        "schema_version": SCHEMA_VERSION,
        "versions": versions_to_json(),
        "request": request_to_json(request),
        "kernel": pretty(result.kernel),
        "clock_hz": result.hardware.clock_hz,
        "mapping": mapping_to_json(schedule.covering, result.hardware.external.name),
        "tiling": tiling_to_json(schedule.tiling),
        "analytical_cycles": schedule.estimate.cycles,
        "bound_cycles": answer.bound_cycles,
        "analytical": costs_to_json(schedule.estimate.costs(result.hardware)),
        "objective_value": schedule.solution.value,
        "objective_bound": answer.bound,
        "status": answer.status.value,
        "roofline": {"cycles": result.roofline.cycles, "limit": result.roofline.limit},
        "bounds": bounds_to_json(result),
        "emulated": timing_to_json(result.timing) if result.timing else None,
        "memory_bytes": dict(used_bytes(schedule.covering, schedule.tiling).items()),
        "fastest_packed_cycles": answer.fastest.estimate.cycles if answer.fastest else None,
        "alternatives": [
            {
                **mapping_to_json(other.covering, result.hardware.external.name),
                "bound_cycles": other.bound_cycles,
                "cycles": other.cycles,
            }
            for other in answer.alternatives
        ],
        "candidates": contenders_to_json(answer.contenders, result.hardware.clock_hz, request.cost),
        "num_coverings": answer.num_coverings,
        "is_complete": answer.is_complete,
        "is_interrupted": result.is_interrupted,
        "solver_seconds": answer.seconds,
        "verification": verification_to_json(result.verification),
    }
