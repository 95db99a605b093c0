"""The aim that options of the command line make together.

In: the options' values. Out: an `Aim`. Not its job: units (`read_limits`).
"""

from isamap.costmodels import Aim, Metric
from isamap.errors import IsamapError, closest

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


def read_metrics(option: str, text: str) -> tuple[Metric, ...]:
    """`cycles,energy`: two or more objectives, each once."""
    known = {metric.value: metric for metric in Metric}
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            hint = closest(name, known) or f"objectives are {', '.join(known)}"
            raise IsamapError(f"{option} {text!r}: unknown objective {name!r}", hint=hint)
    if len(set(names)) < max(2, len(names)):
        raise IsamapError(
            f"{option} {text!r} needs two or more different objectives",
            hint=f"for example {option} cycles,energy",
        )
    return tuple(known[name] for name in names)
