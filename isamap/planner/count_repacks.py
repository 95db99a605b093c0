"""What the host lays out anew between tasks, and what that costs.

In: a program, the machine. Out: one row per buffer and pair of layouts. Not its job: making the
copies (`repack`), deciding that an array must move (`compose`).
"""

from dataclasses import dataclass
from math import prod

from isamap.costmodels import Costs, host_costs
from isamap.hwdesc import Hardware
from isamap.program import For, Layout, Placement, Program, surrounded_issues

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
    for issue, around in surrounded_issues(program.body):
        times = prod(node.span.limit for node in around if isinstance(node, For))
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


def _place_of(program: Program, address: int) -> Placement:
    return next(p for p in program.placements if p.address <= address < p.end)
