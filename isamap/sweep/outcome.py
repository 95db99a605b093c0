"""What one kernel takes on one variant of a machine.

In: nothing but these values. Out: frozen values, also as JSON. Not its job: finding them.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import Enum


class Standing(Enum):
    """How a question ended."""

    OPTIMAL = "optimal"  # nothing in the closed form's space is better
    FEASIBLE = "feasible"  # stopped by a limit; see the bound
    NO_MAPPING = "no mapping"  # nothing on the machine computes the kernel
    NOT_FOUND = "not found"  # nothing within the limits, of time too
    REJECTED = "rejected"  # the emulator does not take the program
    WRONG = "wrong"  # the program computes something else
    FAILED = "failed"  # a mistake of isamap itself
    NO_MACHINE = "no machine"  # the description is wrong with these settings


@dataclass(frozen=True, slots=True)
class Outcome:
    """Numbers are None where there is no schedule; `emulated_*`, energy and traffic are the
    emulator's, `analytical_cycles` and `bound_cycles` the closed form's.

    `gap`: share of what is minimised, by the closed form, that is above its proven bound (None:
    no bound is known). `used_bytes`: per managed memory, of the task that takes most.
    `computed_by`: instructions, and `host`. `check`: how much was executed (`off`: nothing).
    `seconds`: that the question took.
    """

    standing: Standing
    problem: str = ""
    emulated_cycles: int | None = None
    analytical_cycles: int | None = None
    bound_cycles: int | None = None
    gap: float | None = None
    energy_pj: float | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    used_bytes: tuple[tuple[str, int], ...] = ()
    computed_by: tuple[str, ...] = ()
    check: str = "off"
    is_verified: bool = False
    seconds: float = 0.0

    @property
    def is_found(self) -> bool:
        """Is there a program, and is nothing known to be wrong with it?"""
        return self.standing in (Standing.OPTIMAL, Standing.FEASIBLE)

    @property
    def external_bytes(self) -> int | None:
        """Read from and written to the external memory."""
        if self.read_bytes is None or self.written_bytes is None:
            return None
        return self.read_bytes + self.written_bytes


def outcome_to_json(outcome: Outcome) -> dict[str, object]:
    """What `outcome_from_json` reads."""
    return {**asdict(outcome), "standing": outcome.standing.value}


def outcome_from_json(data: Mapping[str, object]) -> Outcome:
    """Equal to what was written.

    Raises:
        ValueError, TypeError: it was not written by this version.
    """
    if set(data) != {field.name for field in fields(Outcome)}:
        raise ValueError("other fields")
    used, by = data["used_bytes"], data["computed_by"]
    if not isinstance(used, list) or not isinstance(by, list):
        raise TypeError("lists are missing")
    rest = {key: value for key, value in data.items() if key not in KEYS}
    return Outcome(  # a file of our own, whose name holds a digest of this code
        standing=Standing(data["standing"]),
        used_bytes=tuple((str(name), int(size)) for name, size in used),
        computed_by=tuple(map(str, by)),
        **rest,  # type: ignore[arg-type]
    )


KEYS = ("standing", "used_bytes", "computed_by")
