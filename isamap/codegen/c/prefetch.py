"""Ask caches early for what a loop reads in rows that no prefetcher of the hardware follows.

In: nodes for C, the machine. Out: the same nodes, with hints in loops. Not its job: text, what
hints are worth (`costmodels`).

A loop that moves by a row in each iteration touches lines that lie far apart. Each line that its
own calls read is asked for as many iterations ahead as the machine says.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from isamap.hwdesc import Hardware, Memory
from isamap.ir import Affine
from isamap.program import Operand

from .specialise import CCall, CHint, CIf, CLoop, CNode, CRegion, CShare

Terms = tuple[tuple[str, int], ...]


def add_prefetches(nodes: tuple[CNode, ...], hw: Hardware) -> tuple[CNode, ...]:
    """The nodes with hints for the nearest cache that takes any."""
    cache = next((memory for memory in hw.caches if memory.prefetch is not None), None)
    return nodes if cache is None else tuple(_with_hints(node, hw, cache) for node in nodes)


def _with_hints(node: CNode, hw: Hardware, cache: Memory) -> CNode:
    match node:
        case CLoop():
            body = tuple(_with_hints(inner, hw, cache) for inner in node.body)
            return replace(node, body=_hinted(replace(node, body=body), hw, cache))
        case CIf() | CShare() | CRegion():
            return replace(node, body=tuple(_with_hints(inner, hw, cache) for inner in node.body))
        case CCall() | CHint():
            return node


def _hinted(loop: CLoop, hw: Hardware, cache: Memory) -> tuple[CNode, ...]:
    """The loop's body; before the first call that reads a line, the hint for a later one."""
    assert cache.prefetch is not None, "the cache takes hints"
    cycles = max(_busy_cycles(loop.body, hw).values(), default=0.0)
    ahead = ceil(cache.prefetch.ahead_cycles / max(cycles, 1.0))
    if isinstance(loop.stop, int) and ahead >= loop.stop - loop.first:
        return loop.body
    line = cache.granule_bytes
    apart = {
        terms
        for terms, places in _places(loop.body, hw).items()
        if line < (step := abs(dict(terms).get(loop.name, 0)))
        and max(places) // line * line + line - min(places) // line * line < step
    }
    asked: set[tuple[Terms, int]] = set()
    body: list[CNode] = []
    for node in loop.body:
        for operand in _reads(node, hw):
            offset = operand.address.offset
            key = offset.terms, offset.constant // line
            if offset.terms in apart and key not in asked:
                asked.add(key)
                body.append(CHint(operand, ahead * offset.coefficient(loop.name)))
        body.append(node)
    return tuple(body)


def _places(body: tuple[CNode, ...], hw: Hardware) -> dict[Terms, list[int]]:
    """Where calls read outside, by how the loops move that."""
    found: dict[Terms, list[int]] = {}
    for node in body:
        for operand in _reads(node, hw):
            offset: Affine = operand.address.offset
            found.setdefault(offset.terms, []).append(offset.constant)
    return found


def _reads(node: CNode, hw: Hardware) -> Iterator[Operand]:
    """Operands of a call that it reads in the external memory."""
    if not isinstance(node, CCall):
        return
    written = {s.target.buffer for s in hw.instruction(node.issue.instruction).semantics.statements}
    for operand in node.issue.operands:
        is_outside = operand.memory == hw.external.name and not operand.address.rotations
        if is_outside and operand.name not in written:
            yield operand


def _busy_cycles(body: tuple[CNode, ...], hw: Hardware) -> dict[str, float]:
    """Cycles per unit of one run of the nodes, loops of unknown length at their longest."""
    busy: dict[str, float] = {}
    for node in body:
        match node:
            case CLoop(_, first, stop, inner):
                times = (stop if isinstance(stop, int) else stop.limit) - first
                for unit, cycles in _busy_cycles(inner, hw).items():
                    busy[unit] = busy.get(unit, 0.0) + times * cycles
            case CCall(issue):
                instruction = hw.instruction(issue.instruction)
                extents = {name: span.limit for name, span in issue.extents}
                cycles = instruction.issue_cycles.evaluate(extents)
                busy[instruction.unit] = busy.get(instruction.unit, 0.0) + cycles
            case CIf() | CShare() | CRegion() | CHint():
                pass  # at edges, or around all of the work
    return busy
