"""The answer of `isamap map` for a kernel of several tasks, for scripts.

In: a PlanResult. Out: dictionaries, lists, strings and numbers; keys mean what they mean in
`result_json`. Not its job: writing files.
"""

from isamap.compile import PlanResult
from isamap.ir import pretty, pretty_statement
from isamap.mapper import show_layout_kind
from isamap.planner import PlannedTask, handovers, repacks
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
from .show_measured import contenders_to_json
from .show_tasks import used_schedule, why_on_host


def plan_to_json(result: PlanResult) -> dict[str, Json]:
    """Everything in the answer; every key with a unit says it."""
    plan, hw = result.plan, result.hardware
    return {
        "schema": "isamap-plan",
        "schema_version": SCHEMA_VERSION,
        "versions": versions_to_json(),
        "request": request_to_json(result.request),
        "kernel": pretty(result.kernel),
        "rewrites": [{"rewrite": s.rewrite, "site": s.site} for s in plan.steps],
        "mapped_kernel": pretty(plan.kernel),
        "num_forms": plan.num_forms,
        "not_looked_at": plan.cut,
        "clock_hz": hw.clock_hz,
        "tasks": [_task(task, result) for task in plan.tasks],
        "handovers": [
            {
                "buffer": row.buffer,
                "writers": list(row.writers),
                "readers": list(row.readers),
                "layout": show_layout_kind(row.layout),
                "memory": row.home or hw.external.name,
            }
            for row in handovers(plan)
        ],
        "repacks": [
            {
                "buffer": row.buffer,
                "from_layout": show_layout_kind(row.source),
                "to_layout": show_layout_kind(row.target),
                "calls": row.num_calls,
                "cycles": row.cycles,
            }
            for row in repacks(plan.program, hw)
        ],
        "analytical_cycles": result.plan.cycles,
        "bound_cycles": plan.bound_cycles,
        "bound_limit": plan.bound_limit,
        "analytical": costs_to_json(plan.costs),
        "objective_value": plan.aim.value(plan.costs),
        "status": plan.status.value,
        "is_interrupted": result.is_interrupted,
        "emulated": timing_to_json(result.timing) if result.timing else None,
        "solver_seconds": plan.seconds,
        "verification": verification_to_json(result.verification),
    }


def _task(planned: PlannedTask, result: PlanResult) -> dict[str, Json]:
    """One task; what only a schedule has is null on the host."""
    task, schedule = planned.task, used_schedule(planned)
    found: dict[str, Json] = {
        "number": task.number,
        "joined": [part.number for part in task.parts],
        "statements": [pretty_statement(statement) for statement in task.statements],
        "held": list(task.held),
        "on_host": planned.on_host,
        "reason": why_on_host(planned, result.hardware) if schedule is None else "",
        "analytical_cycles": planned.cycles,
        "mapping": None,
        "tiling": None,
        "memory_bytes": None,
        "bound_cycles": None,
        "status": None,
        "num_coverings": planned.answer.num_coverings if planned.answer else 0,
        "is_complete": planned.answer.is_complete if planned.answer else True,
        "candidates": [],
    }
    if schedule is None or planned.answer is None:
        return found
    return {
        **found,
        "mapping": mapping_to_json(schedule.covering, result.hardware.external.name),
        "tiling": tiling_to_json(schedule.tiling),
        "memory_bytes": dict(used_bytes(schedule.covering, schedule.tiling).items()),
        "bound_cycles": planned.answer.bound_cycles,
        "status": planned.answer.status.value,
        "candidates": contenders_to_json(
            planned.answer.contenders, result.hardware.clock_hz, result.request.cost
        ),
    }
