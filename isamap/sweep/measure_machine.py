"""Numbers of a machine that a sweep may weigh against cycles.

In: a machine, an expression over places of its description. Out: numbers. Not its job: what is a
good cost.
"""

import re
from collections.abc import Mapping

from isamap.errors import IsamapError, Loc, closest
from isamap.hwdesc import Expression, Hardware, MemoryKind

DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
FUNCTIONS = ("ceil", "floor", "ceildiv", "ceillog2", "min", "max", "if", "else")
MANAGED = "managed_bytes"  # the cost if nobody names another one


def machine_numbers(hw: Hardware) -> dict[str, int]:
    """By place: parameters, bytes of memories, counts of units and cores, the clock in hertz;
    `managed_bytes`: of all managed memories, of all cores together."""
    managed = [m for m in hw.memories if m.kind is MemoryKind.MANAGED]
    return {
        MANAGED: sum(m.size_bytes * hw.num_copies(m.name) for m in managed),
        "clock": round(hw.clock_hz),
        "cores": hw.num_cores,
        **{f"parameters.{name}": value for name, value in hw.parameters},
        **{f"memories.{m.name}.size": m.size_bytes for m in hw.memories},
        **{f"units.{unit.name}.count": unit.count for unit in hw.units},
    }


def cost_of(text: str, hw: Hardware) -> float:
    """The value of an expression over `machine_numbers`.

    Raises:
        IsamapError: it cannot be read, or names what the machine does not have.
    """
    numbers = machine_numbers(hw)
    spelled = _spelled(text, numbers, hw.name)
    loc = Loc("--cost-of", 1, 1, text)
    values = {name.replace(".", "_"): number for name, number in numbers.items()}
    return float(Expression.parse(spelled, loc, tuple(values)).evaluate_exact(values))


def _spelled(text: str, numbers: Mapping[str, int], machine: str) -> str:
    """With names that an expression may have, as long as they were."""
    for found in DOTTED.finditer(text):
        name = found[0]
        if name not in numbers and name not in FUNCTIONS:
            raise IsamapError(
                f"{machine} has no number '{name}'",
                loc=Loc("--cost-of", 1, found.start() + 1, text),
                hint=closest(name, numbers) or f"it has {', '.join(numbers)}",
            )
    return DOTTED.sub(lambda found: found[0].replace(".", "_"), text)
