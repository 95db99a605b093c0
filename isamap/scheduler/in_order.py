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
    if held_up.is_own:
        return _times_behind_own(variables, stay, always, passes, hw)
    by_tile = [] if held_up.is_apart else always
    times: list[tuple[Linear, list[Bool]]] = [(variables.fetches(stay, label) - 1, by_tile)]
    blocks = prod(loop.units for n, loop in variables.loops.items() if n in stay.plan.loops)
    by_block = [*always]
    if not moves_blocks(variables.covering, Stay(stay.plan.name, stay.number, 1, 1), hw):
        if stay.is_never_low:
            return times
        by_block += _literals(stay.is_low)
    return [*times, (blocks * passes - 1, by_block)]


def _times_behind_own(
    variables: Variables, stay: StayVars, in_turn: list[Bool], passes: Number, hw: Hardware
) -> list[tuple[Linear, list[Bool]]]:
    """Within tiles and from one to the next, of blocks one by one."""
    cp, label = variables.cp, f"own_{stay.label}"
    units = {name: loop.units for name, loop in variables.loops.items()}
    times: list[tuple[Linear, list[Bool]]] = []
    if not stay.is_never_low:
        blocks = prod(units[name] for name in units if name in stay.plan.loops)
        times.append((blocks * passes - 1, _literals(stay.is_low)))
    if stay.is_always_low or not moves_blocks(
        variables.covering, Stay(stay.plan.name, stay.number, 1, 1), hw
    ):
        return times
    both, any_of, either = cp.both, cp.any_of, cp.either
    sums = [name for name in units if name not in stay.plan.loops]
    turns: list[Number] = []
    for name, trips in variables.trips.items():
        if name in sums:
            turns.append(trips)
            continue
        around = [
            both(variables.many_units[s], variables.outside_inner[s, name], f"{label}_{s}_{name}")
            for s in sums
        ]
        is_outside = negated(any_of(around, f"{label}_within_{name}"))
        turns.append(either(trips, units[name], is_outside, f"{label}_{name}"))
    is_high = [negated(x) for x in _literals(stay.is_low)]
    rests = [
        both(variables.many_tiles[s], negated(stay.refetch[s]), f"{label}_rests_{s}") for s in sums
    ]
    by_tile = [*in_turn, *is_high, *map(negated, rests)]
    times.append((cp.product(turns, label) - 1, by_tile))
    return times


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
