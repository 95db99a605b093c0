"""Sums that a unit keeps while calls that add to the same place follow each other.

In: parts of a program. Out: the parts; calls of instructions with a `chain` say whether they begin
or end one. Not its job: bits.

Between two calls of a chain the unit does nothing else, and no unit touches the place that they add
to: there the sums arrive with the last call.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from isamap.hwdesc import CHAIN_BEGINS, CHAIN_ENDS, Hardware, Instruction

from .call import CallKind, Calls, Part, Run, split_by, unit_of
from .resolve_latches import byte_extents


@dataclass(frozen=True, slots=True, eq=False)
class _Touched:
    """Calls, [n], that read or write a memory: their places among all, first bytes, and ends."""

    places: np.ndarray
    firsts: np.ndarray
    ends: np.ndarray


def chain_sums(parts: tuple[Part, ...], hw: Hardware) -> tuple[Part, ...]:
    """The parts with their chains."""
    chained = {i.name: i for i in hw.instructions if i.bits is not None and i.bits.chain}
    if not chained:
        return parts
    return tuple(
        replace(part, calls=_in_run(part.calls, chained, hw)) if isinstance(part, Run) else part
        for part in parts
    )


def _in_run(
    batches: tuple[Calls, ...], chained: dict[str, Instruction], hw: Hardware
) -> tuple[Calls, ...]:
    result: list[Calls] = []
    for calls in batches:
        if calls.form.kind is CallKind.INSTRUCTION and calls.form.name in chained:
            result += _link(calls, chained[calls.form.name], batches, hw)
        else:
            result.append(calls)
    return tuple(result)


def _link(
    calls: Calls, instruction: Instruction, batches: tuple[Calls, ...], hw: Hardware
) -> Iterator[Calls]:
    """The calls by whether they begin and end chains; only calls of one batch are linked."""
    assert instruction.bits is not None
    operand = instruction.bits.chain
    joined = _adjacent(calls, instruction.unit, batches, hw)
    for name in _place_names(instruction, operand):
        column = calls.column(name)
        joined &= column[1:] == column[:-1]
    first, end = (np.array(ends) for ends in byte_extents(calls, instruction, operand))
    memory = instruction.operand(operand).memory
    for other in batches:
        for touched in _touched(other, memory, hw) if other is not calls else ():
            since = np.searchsorted(touched.places, calls.places[:-1])
            until = np.searchsorted(touched.places, calls.places[1:])
            for row in np.flatnonzero(joined & (until > since)):
                between = slice(since[row], until[row])
                overlap = touched.firsts[between] < end[row]
                joined[row] = not (overlap & (first[row] < touched.ends[between])).any()
    begins = np.concatenate([[True], ~joined])
    ends = np.concatenate([~joined, [True]])
    for key, rows in split_by(np.stack([begins, ends], axis=1)):
        told = zip((CHAIN_BEGINS, CHAIN_ENDS), key, strict=True)
        found = tuple(kind for kind, holds in told if holds)
        yield calls.take(rows, replace(calls.form, fresh=found))


def _adjacent(calls: Calls, unit: str, batches: tuple[Calls, ...], hw: Hardware) -> np.ndarray:
    """[n - 1]: does the unit do nothing between a call and the next of the batch?"""
    others = [c.places for c in batches if c is not calls and unit_of(c.form, hw) == unit]
    places = np.sort(np.concatenate([np.zeros(0, np.int64), *others]))
    ranks = np.searchsorted(places, calls.places)
    return np.asarray(ranks[1:] == ranks[:-1])


def _place_names(instruction: Instruction, operand: str) -> list[str]:
    """The quantities that say which elements a call adds to."""
    loops = [loop for index in instruction.access(operand).indices for loop, _ in index.terms]
    return [operand, *loops, *(f"{operand}.{loop}" for loop in loops)]


def _touched(calls: Calls, memory: str, hw: Hardware) -> Iterator[_Touched]:
    """What the calls' operands touch in a memory."""
    if calls.form.kind is not CallKind.INSTRUCTION:
        return
    instruction = hw.instruction(calls.form.name)
    for rule in instruction.operands:
        if rule.memory == memory:
            firsts, ends = byte_extents(calls, instruction, rule.name)
            yield _Touched(calls.places, np.array(firsts), np.array(ends))
