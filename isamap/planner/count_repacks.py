"""What the host lays out anew between tasks, and what that costs.

In: a program, the machine. Out: one row per buffer and pair of layouts. Not its job: making the
copies (`repack`), deciding that an array must move (`compose`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from isamap.costmodels import Costs, host_costs
from isamap.hwdesc import Hardware
from isamap.program import For, Issue, Layout, Node, Placement, Program, When

REPACK = "repack_"  # what `compose` calls the host's copies


@dataclass(frozen=True, slots=True)
class Repack:
    """The host's copies of a buffer from one layout to another, all iterations together.

    `cycles` is also in `costs`.
    """

    buffer: str
    source: Layout
    target: Layout
    num_calls: int
    cycles: int
    costs: Costs


def repacks(program: Program, hw: Hardware) -> tuple[Repack, ...]:
    """One row per buffer and pair of layouts, in the order of the program."""
    found: dict[tuple[str, Layout, Layout], Repack] = {}
    semantics = {call.name: call for call in program.host_calls}
    for issue, times in _issues(program.body, 1):
        if not issue.instruction.startswith(REPACK) or issue.instruction not in semantics:
            continue
        source, target = (
            _place_of(program, operand.address.offset.constant) for operand in issue.operands
        )
        key = (target.buffer, source.layout, target.layout)
        known = found.get(key, Repack(*key, 0, 0, Costs(0, 0, 0)))
        costs = known.costs + host_costs(semantics[issue.instruction], hw).times(times)
        found[key] = Repack(*key, known.num_calls + times, round(costs.cycles), costs)
    return tuple(found.values())


def _issues(body: tuple[Node, ...], times: int) -> Iterator[tuple[Issue, int]]:
    """Calls with how often the loops around them repeat them."""
    for node in body:
        match node:
            case For(_, span, inner):
                yield from _issues(inner, times * span.limit)
            case When(_, inner):
                yield from _issues(inner, times)
            case Issue():
                yield node, times


def _place_of(program: Program, address: int) -> Placement:
    places = (*program.inputs, *program.outputs, *program.scratch)
    return next(p for p in places if p.address <= address < p.address + p.layout.size_bytes)
