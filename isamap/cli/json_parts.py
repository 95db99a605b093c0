"""Parts of an answer as JSON values, the same in every kind of answer.

In: requests, coverings, tilings, timings, verifications. Out: dictionaries, lists, strings and
numbers; every key with a unit says it. Not its job: whole answers, writing files.
"""

from importlib.metadata import PackageNotFoundError, version
from platform import python_version

from isamap import __version__
from isamap.compile import Request
from isamap.costmodels import Costs, Tiling
from isamap.emulator import Timing
from isamap.mapper import Covering, show_layouts, show_route
from isamap.verify import Verification

SCHEMA_VERSION = 1  # of `isamap-result` and `isamap-plan` alike
LIBRARIES = ("numpy", "ortools")

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def request_to_json(request: Request) -> dict[str, Json]:
    """What was asked."""
    return {
        "kernel": request.kernel,
        "hardware": request.hardware,
        "sizes": dict(request.sizes),
        "cost": request.cost,
        "layout": request.layouts,
        "verify": request.check.value,
        "time_limit_s": request.time_limit_s,
        "effort": request.effort,
        "workers": request.workers,
        "seed": request.seed,
        "may_reassociate": request.may_reassociate,
        "objective": {metric.value: weight for metric, weight in request.aim.weights},
        "limits": {metric.value: most for metric, most in request.aim.limits},
        "max_bytes": dict(request.max_bytes),
    }


def costs_to_json(costs: Costs) -> dict[str, Json]:
    """Under the closed form."""
    return {
        "cycles": costs.cycles,
        "energy_pj": costs.energy_pj,
        "dram_bytes": costs.dram_bytes,
    }


def versions_to_json() -> dict[str, Json]:
    """Of isamap, Python and the libraries that decide."""
    found: dict[str, Json] = {"isamap": __version__, "python": python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    return found


def mapping_to_json(covering: Covering, external: str) -> dict[str, Json]:
    """Instruction, binding, loops, routes and layouts."""
    return {
        "statement": covering.statement,
        "instruction": covering.instruction,
        "binding": {loop: list(group) for loop, group in covering.binding},
        "loops": [
            {
                "name": x.name,
                "extent": x.kernel_extent,
                "executed": x.total_extent,
                "block": x.block,
            }
            for x in covering.loops
        ],
        "cores": [
            {"loop": share.loop, "axis": share.axis, "count": share.count, "step": share.step}
            for share in covering.shares
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


def tiling_to_json(tiling: Tiling) -> dict[str, Json]:
    """Tile sizes, orders and what stays where."""
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


def timing_to_json(timing: Timing) -> dict[str, Json]:
    """What the emulator counted."""
    return {
        "cycles": timing.cycles,
        "units": {u.unit: {"busy_cycles": u.busy_cycles, "utilisation": u.utilisation,
                           "core_cycles": list(u.core_cycles)}
                  for u in timing.unit_busy},
        "ports": {f"{p.memory}.{p.port}": p.busy_cycles for p in timing.ports},
        "traffic": {t.memory: {"read_bytes": t.read_bytes, "written_bytes": t.written_bytes}
                    for t in timing.traffic},
        "calls": dict(timing.calls),
        "energy_pj": timing.energy_pj,
    }  # fmt: skip


def verification_to_json(found: Verification) -> dict[str, Json]:
    """What was executed and what it showed."""
    wrong = found.mismatch
    return {
        "check": found.check.value,
        "is_verified": found.is_verified,
        "is_wrong": found.is_wrong,
        "sizes": dict(found.sizes),
        "tolerance": found.tolerance,
        "failure": found.failure,
        "subject": found.subject,
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
