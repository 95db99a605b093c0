"""A sweep for scripts.

In: a comparison. Out: dictionaries, lists, strings and numbers; every key with a unit says it. Not
its job: writing files.
"""

from collections.abc import Sequence

from isamap.sweep import Comparison, Total, Workload, rows

from .json_parts import Json, versions_to_json

SCHEMA = "isamap-explore"


def explore_to_json(
    found: Comparison, workloads: Sequence[Workload], *, is_whole: bool
) -> dict[str, Json]:
    """Everything; `rows` are those of the CSV file."""
    return {
        "schema": SCHEMA,
        "schema_version": 1,
        "versions": versions_to_json(),
        "is_whole": is_whole,
        "objective": found.metric.value,
        "cost_of": found.cost_text,
        "workloads": [{"kernel": w.kernel, "sizes": dict(w.sizes)} for w in workloads],
        "best": found.best,
        "front": list(found.front),
        "variants": [_total(total) for total in found.totals],
        "rows": [dict(row) for row in rows(found)],
    }


def _total(total: Total) -> dict[str, Json]:
    return {
        "variant": total.variant.number,
        "hardware": total.variant.hardware,
        "settings": {setting.path: setting.value for setting in total.variant.settings},
        "status": total.standing.value,
        "is_verified": total.is_verified,
        "cost": total.cost,
        "emulated_cycles": total.cycles,
        "emulated_seconds": total.seconds,
        "energy_pj": total.energy_pj,
        "external_bytes": total.external_bytes,
        "gap": total.gap,
    }
