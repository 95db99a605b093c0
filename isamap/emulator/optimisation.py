"""How hard the C compiler shall work on a program, if at all: as hard as a faster run is worth.

In: a bound program. Out: whether it is compiled, a flag of the compiler. Not its job: compiling,
what the C says (the same under any flag, and in Python).
"""

from math import prod

from isamap.c_compiler import find_compiler

from .bind import Bound, Call
from .ranges import span_interval

# Compiling with -O3 takes 0.2 to 0.8 s longer than with -O0, where a step takes some 5 ns longer
# and a call as long as 300 steps.
STEPS_OF_A_CALL = 300
MAX_PLAIN_STEPS = 2 * 10**7
# Compiling takes 0.15 to 0.3 s, a call in Python some 0.4 ms: up to so many steps programs for
# Gemmini, VTA, TPU v1, AMX and Trainium are over sooner there.
MAX_INTERPRETED_STEPS = 150_000


def is_compiled(bound: Bound, compiled: bool | None) -> bool:
    """As asked; else where there is a compiler, and the program takes longer than compiling it."""
    if compiled is not None:
        return compiled
    return _count_all_steps(bound) > MAX_INTERPRETED_STEPS and bool(find_compiler())


def choose_optimisation(bound: Bound) -> str:
    """-O0 for a program that is over sooner than it would be optimised, else -O3."""
    return "-O0" if _count_all_steps(bound) <= MAX_PLAIN_STEPS else "-O3"


def _count_all_steps(bound: Bound) -> int:
    return sum(_count_steps(call) for call in bound.calls)


def _count_steps(call: Call) -> int:
    """At most so many iterations of its semantics' statements, in all its executions."""
    loops = dict(call.loops)
    most = {name: max(1, span_interval(span, loops)[1]) for name, span in call.spans}
    times = prod(loops.values()) * len(call.site.reach)
    repeats = prod(most[repeat.name] for repeat in call.issue.repeats)
    statements = call.instruction.semantics.statements
    once = sum(prod(most.get(loop.name, loop.extent) for loop in s.loops) for s in statements)
    return times * (STEPS_OF_A_CALL + repeats * once)
