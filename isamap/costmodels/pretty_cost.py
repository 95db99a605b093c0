"""Costs as text, with their units.

In: a metric, a number. Out: text a person reads. Not its job: where it is put.
"""

from typing import assert_never

from .aim import Aim, Metric

JOULES = ((1e12, "J"), (1e9, "mJ"), (1e6, "µJ"), (1e3, "nJ"))


def pretty_energy(picojoules: float) -> str:
    """`12.34 µJ`."""
    for scale, unit in JOULES:
        if picojoules >= scale:
            return f"{picojoules / scale:.4g} {unit}"
    return f"{picojoules:.4g} pJ"


def pretty_cost(metric: Metric, value: float) -> str:
    """`1 234 cycles`, `12.34 µJ`, `5 678 bytes`, `1.2e+09 pJ x cycles`."""
    match metric:
        case Metric.CYCLES:
            return f"{_grouped(value)} cycles"
        case Metric.ENERGY:
            return pretty_energy(value)
        case Metric.DRAM_BYTES:
            return f"{_grouped(value)} bytes"
        case Metric.EDP:
            return f"{value:.5g} pJ x cycles"
        case _:
            assert_never(metric)


def pretty_value(aim: Aim, value: float) -> str:
    """What an aim minimises, with its unit if it is a single cost."""
    if len(aim.weights) > 1:
        return f"{value:.4g}"
    metric, weight = aim.weights[0]
    return pretty_cost(metric, value / weight)


def _grouped(value: float) -> str:
    return f"{round(value):,}".replace(",", " ")
