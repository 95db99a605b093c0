"""How often drains hold up what is queued behind them, as CP-SAT terms (formulas:
costmodels/in_order).

In: the variables. Out: counts, each with the literals under which it holds. Not its job: what one
of them costs (`stalls`, `turns`).
"""

from math import prod

from isamap.costmodels import HeldUp, Stay, may_leave_late, moves_blocks
from isamap.hwdesc import Hardware

from .algebra import Bool, Linear, Number, negated
from .variables import StayVars, Variables


def times_held_up(
    variables: Variables, stay: StayVars, held_up: HeldUp, passes: Number, hw: Hardware
) -> list[tuple[Linear, list[Bool]]]:
    """At least so many times, each where all its literals hold; `passes`: of the drain."""
    label = f"held_up_{stay.label}"
    if held_up.is_onward:
        if stay.is_always_low:
            return []
        is_high = [negated(x) for x in _literals(stay.is_low)]
        return [(variables.fetches(stay, label) - 1, is_high)]
    always = stays_in_turn(variables, stay, label)
    by_tile = [] if held_up.is_apart else always
    times: list[tuple[Linear, list[Bool]]] = [(variables.fetches(stay, label), by_tile)]
    blocks = prod(loop.units for n, loop in variables.loops.items() if n in stay.plan.loops)
    by_block = [*always]
    if not moves_blocks(variables.covering, Stay(stay.plan.name, stay.number, 1, 1), hw):
        if stay.is_never_low:
            return times
        by_block += _literals(stay.is_low)
    return [*times, (blocks * passes, by_block)]


def stays_in_turn(variables: Variables, stay: StayVars, label: str) -> list[Bool]:
    """Literals under which tiles do not leave late."""
    cp = variables.cp
    if not may_leave_late(stay.plan, stay.number) or stay.is_always_low:
        return []
    if isinstance(stay.is_double, int) and not stay.is_double:
        return []
    free = [name for name in variables.loops if name not in variables.covering.held]
    loops = {**stay.changes, **stay.refetch}
    moves = cp.any_of([loops[name] for name in free], f"moves_{label}")
    reasons = [negated(moves), *stay.kept.values(), *_literals(stay.is_low)]
    reasons += [negated(literal) for literal in _literals(stay.is_double)]
    for name in variables.loops:
        if name in free or name in stay.plan.loops:
            continue
        again = negated(stay.refetch[name])
        reasons.append(cp.both(variables.many_tiles[name], again, f"rests_{label}_{name}"))
    return [cp.any_of(reasons, f"in_turn_{label}")]


def gathered(variables: Variables, stay: StayVars, label: str) -> list[Bool]:
    """Literals, one of which holds where all kept tiles are filled before any is drained (see
    waiting.comes_and_goes)."""
    both = variables.cp.both
    rests = {
        other: both(variables.many_tiles[other], negated(again), f"rest_{label}_{other}")
        for other, again in stay.refetch.items()
    }
    return [
        both(kept, both(rest, variables.outside[other, name], f"{at}_outside"), at)
        for name, kept in stay.kept.items()
        for other, rest in rests.items()
        for at in (f"gathered_{label}_{other}_{name}",)
    ]


def _literals(value: Number) -> list[Bool]:
    """The literal, if it is one and no constant."""
    return [] if isinstance(value, int) else [value]
