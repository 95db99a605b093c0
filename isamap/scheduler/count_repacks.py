"""What the host lays out anew between tasks, and what that costs.

In: a program, the machine. Out: one row per buffer and pair of layouts. Not its job: making the
copies (`repack`), deciding that an array must move (`compose`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from isamap.hwdesc import Hardware, run_cycles
from isamap.program import For, Issue, Layout, Node, Placement, Program, When

REPACK = "repack_"  # what `compose` calls the host's copies


@dataclass(frozen=True, slots=True)
class Repack:
    """The host's copies of a buffer from one layout to another, all iterations together."""

    buffer: str
    source: Layout
    target: Layout
    num_calls: int
    cycles: int


def repacks(program: Program, hw: Hardware) -> tuple[Repack, ...]:
    """One row per buffer and pair of layouts, in the order of the program."""
    found: dict[tuple[str, Layout, Layout], Repack] = {}
    semantics = {call.name: call for call in program.host_calls}
    for issue, times in _issues(program.body, 1):
        if not issue.instruction.startswith(REPACK) or issue.instruction not in semantics:
            continue
        assert hw.host is not None, "only a host repacks"
        source, target = (
            _place_of(program, operand.address.offset.constant) for operand in issue.operands
        )
        key = (target.buffer, source.layout, target.layout)
        cycles = times * run_cycles(semantics[issue.instruction], hw.host, 1)
        known = found.get(key, Repack(*key, 0, 0))
        found[key] = replace(known, num_calls=known.num_calls + times, cycles=known.cycles + cycles)
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
