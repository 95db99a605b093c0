"""What a check of a program found.

In: nothing but these values. Out: frozen values. Not its job: checking, printing.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Never

from isamap.errors import IsamapError, KernelError

from .compare import Mismatch


class Check(Enum):
    """How much is executed."""

    FULL = "full"  # the program itself
    QUICK = "quick"  # the same mapping and schedule on cut-down sizes, edges included
    OFF = "off"

    @classmethod
    def _missing_(cls, value: object) -> Never:
        known = ", ".join(check.value for check in cls)
        raise IsamapError(f"no check {value!r}", hint=f"checks are {known}")


class Reference(Enum):
    """What the kernel file's NumPy reference said about the kernel."""

    ABSENT = "absent"
    AGREES = "agrees"
    AGREES_AT_DEFAULTS = "agrees at the kernel's default sizes"
    TOO_LARGE = "not compared: too large"
    NO_BOUND = "not compared: rounding errors have no bound on these inputs"
    NO_MEANING = "not compared: on the random inputs at its sizes the kernel has no meaning"


@dataclass(frozen=True, slots=True)
class Verification:
    """`sizes`: extent of each kernel loop that was executed. `mismatch`: the first wrong element.

    `failure`: why the program was rejected or nothing could be compared. `tolerance`: largest
    allowed difference, 0 for bit-exact. `subject`: what was executed, if it was not what `check`
    promises.
    """

    check: Check
    sizes: tuple[tuple[str, int], ...] = ()
    tolerance: float = 0.0
    mismatch: Mismatch | None = None
    failure: str = ""
    is_wrong: bool = False
    reference: Reference = Reference.ABSENT
    subject: str = ""

    @property
    def is_verified(self) -> bool:
        """Was something executed, and was it right?"""
        return self.check is not Check.OFF and not self.failure and not self.is_wrong


def no_meaning(
    check: Check, sizes: tuple[tuple[str, int], ...], error: KernelError
) -> Verification:
    """Nothing could be compared: random inputs make the kernel divide by zero, or shift by fewer
    than no bits, as the interpreter says."""
    what = error.message.partition("\n")[0]  # and then where
    return Verification(check, sizes, failure=f"{what} on all random inputs that were tried")
