"""Plan operands on one machine, every question answered once.

In: operands to plan, one by one. Out: their plans. Not its job: planning one (`plan_operand`).

Matches and tilings differ in few loops at a time, and an operand's plans depend only on the loops
that move it: most operands come back many times, in other tasks and forms of a kernel too, and when
a bound is looked for after the search.
"""

from functools import lru_cache

from isamap.hwdesc import Hardware
from isamap.ir import Expr

from .covering import OperandPlan, TiledLoop
from .operand import plan_operand
from .subject import Source, Subject

# all that a plan depends on: the operand, its accesses, what they are bound to, tiled loops
OperandKey = tuple[
    str,
    str,
    Source,
    Source | None,
    Source | None,
    Expr | None,
    tuple[str, ...],
    tuple[tuple[str, tuple[str, ...]], ...],
    tuple[TiledLoop, ...],
    tuple[tuple[str, str], ...],
    bool,
    bool,
]


MACHINES = 8  # whose plans are remembered
MOST_KNOWN = 2**13  # operands of each, of some kernels


class OperandPlans:
    """Remembers the plans of every operand it was asked for, as long as they are not too many."""

    def __init__(self) -> None:
        self._known: dict[OperandKey, tuple[OperandPlan, ...] | str] = {}

    def plan(self, subject: Subject) -> tuple[OperandPlan, ...] | str:
        """As `plan_operand`; all subjects must be of one machine."""
        key = operand_key(subject)  # takes long to hash
        found = self._known.get(key)
        if found is None:
            found = plan_operand(subject)
            if len(self._known) == MOST_KNOWN:
                self._known.clear()
            self._known[key] = found
        return found


@lru_cache(MACHINES)
def plans_on(hw: Hardware) -> OperandPlans:
    """What everybody who plans operands on the machine remembers together."""
    return OperandPlans()


def operand_key(subject: Subject) -> OperandKey:
    """Equal for operands that are planned alike."""
    pattern = subject.match.instruction.access(subject.name)
    sources = (subject.own, subject.inlet, subject.outlet)
    indices = [index for source in sources if source for index in source.access.indices]
    moving = {name for index in indices for name, _ in index.terms} | set(subject.volatile)
    binding = tuple(
        (loop, group)
        for loop, group in subject.match.binding
        if pattern.moves_with(loop) or not moving.isdisjoint(group)
    )
    moving.update(name for _, group in binding for name in group)
    moving.update(name for _, name in subject.synthetic)
    return (
        subject.match.instruction.name,
        subject.name,
        *sources,
        subject.value,
        subject.volatile,
        binding,
        tuple(loop for loop in subject.loops if loop.name in moving),
        subject.synthetic,
        # of all loops, not of those alone that move the operand
        any(loop.is_held for loop in subject.loops),
        subject.must_run_past,
    )
