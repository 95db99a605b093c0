"""The answer of `isamap map` for scripts.

In: a Result. Out: dictionaries, lists, strings and numbers. Not its job: writing files.
"""

from importlib.metadata import PackageNotFoundError, version
from platform import python_version

from isamap import __version__
from isamap.compile import Result
from isamap.costmodels import Tiling
from isamap.emulator import Timing
from isamap.ir import pretty
from isamap.mapper import Covering
from isamap.scheduler import used_bytes
from isamap.verify import Verification

from .show_mapping import show_layouts, show_route

SCHEMA_VERSION = 1
LIBRARIES = ("numpy", "ortools")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def result_to_json(result: Result) -> dict[str, Json]:
    """Everything in the answer; every key with a unit says it."""
    answer, schedule, request = result.answer, result.schedule, result.request
    tiling = schedule.solution.tiling
    assert tiling is not None, "a schedule has a tiling"
    used = used_bytes(schedule.covering, tiling)
    return {
        "schema": "isamap-result",
        "schema_version": SCHEMA_VERSION,
        "versions": _versions(),
        "request": {
            "kernel": request.kernel,
            "hardware": request.hardware,
            "sizes": dict(request.sizes),
            "cost": request.cost,
            "layout": request.layouts,
            "verify": request.check.value,
            "time_limit_s": request.time_limit_s,
            "workers": request.workers,
            "seed": request.seed,
            "may_reassociate": request.may_reassociate,
        },
        "kernel": pretty(result.kernel),
        "clock_hz": result.hardware.clock_hz,
        "mapping": _mapping(schedule.covering, result.hardware.external.name),
        "tiling": _tiling(tiling),
        "analytical_cycles": schedule.estimate.cycles,
        "bound_cycles": answer.bound_cycles,
        "status": answer.status.value,
        "roofline": {"cycles": result.roofline.cycles, "limit": result.roofline.limit},
        "emulated": _timing(result.timing) if result.timing else None,
        "memory_bytes": dict(used.items()),
        "fastest_packed_cycles": answer.fastest.estimate.cycles if answer.fastest else None,
        "alternatives": [
            {
                **_mapping(other.covering, result.hardware.external.name),
                "bound_cycles": other.bound_cycles,
                "cycles": other.cycles,
            }
            for other in answer.alternatives
        ],
        "num_coverings": answer.num_coverings,
        "is_complete": answer.is_complete,
        "solver_seconds": answer.seconds,
        "verification": _verification(result.verification),
    }


def _versions() -> dict[str, Json]:
    found: dict[str, Json] = {"isamap": __version__, "python": python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    return found


def _mapping(covering: Covering, external: str) -> dict[str, Json]:
    return {
        "statement": covering.statement,
        "instruction": covering.instruction,
        "binding": {loop: list(group) for loop, group in covering.binding},
        "loops": [
            {"name": x.name, "extent": x.kernel_extent, "executed": x.extent, "block": x.block}
            for x in covering.loops
        ],
        "operands": [
            {
                "name": plan.name,
                "buffer": plan.buffer,
                "inlet_buffer": plan.inlet_buffer,
                "route": show_route(plan, external),
                "layout": show_layouts(plan),
            }
            for plan in covering.operands
        ],
    }


def _tiling(tiling: Tiling) -> dict[str, Json]:
    return {
        "tiles": dict(tiling.tiles),
        "outer": list(tiling.outer),
        "inner": list(tiling.inner),
        "stays": [
            {
                "operand": stay.operand,
                "residence": stay.residence,
                "level": stay.level,
                "slots": stay.slots,
                "kept": list(stay.kept),
            }
            for stay in tiling.stays
        ],
    }


def _timing(timing: Timing) -> dict[str, Json]:
    return {
        "cycles": timing.cycles,
        "units": {u.unit: {"busy_cycles": u.busy_cycles, "utilisation": u.utilisation}
                  for u in timing.unit_busy},
        "ports": {f"{p.memory}.{p.port}": p.busy_cycles for p in timing.ports},
        "traffic": {t.memory: {"read_bytes": t.read_bytes, "written_bytes": t.written_bytes}
                    for t in timing.traffic},
        "calls": dict(timing.calls),
        "energy_pj": timing.energy_pj,
    }  # fmt: skip


def _verification(found: Verification) -> dict[str, Json]:
    wrong = found.mismatch
    return {
        "check": found.check.value,
        "is_verified": found.is_verified,
        "is_wrong": found.is_wrong,
        "sizes": dict(found.sizes),
        "tolerance": found.tolerance,
        "failure": found.failure,
        "reference": found.reference.value,
        "mismatch": None
        if wrong is None
        else {
            "buffer": wrong.buffer,
            "index": list(wrong.index),
            "got": wrong.got,
            "expected": wrong.expected,
            "source": wrong.source,
        },
    }
