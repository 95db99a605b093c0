"""The aim that options of the command line make together.

In: the options' values. Out: an `Aim`. Not its job: units (`read_limits`).
"""

from isamap.costmodels import Aim, Metric

from .read_limits import read_bytes, read_energy


def read_aim(
    objective: str, max_cycles: int | None, max_energy: str | None, max_dram_bytes: str | None
) -> Aim:
    """Minimise the objective within the limits that are given."""
    limits: list[tuple[Metric, float]] = []
    if max_cycles is not None:
        limits.append((Metric.CYCLES, max_cycles))
    if max_energy is not None:
        limits.append((Metric.ENERGY, read_energy("--max-energy", max_energy)))
    if max_dram_bytes is not None:
        limits.append((Metric.DRAM_BYTES, read_bytes("--max-dram-bytes", max_dram_bytes)))
    return Aim.least(Metric(objective), tuple(limits))
