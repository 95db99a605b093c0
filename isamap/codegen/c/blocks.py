"""Loops that do something every so many iterations are written as loops over blocks of these.

In: a loop. Out: how many iterations a block has, what comes before each, what is in each iteration.
Not its job: text (`generate`), which turns there are (`prefetch`, `shares`, `join_copies`).

A question in each iteration whether it is its turn costs a core that shares its front end with
another thread up to a third of its pace (2 x 6 vectors of sums in 16 registers, Zen 3: 0.75 of the
peak without hints, 0.74 in blocks of 16, 0.53 with a question; alone 0.99, 0.99, 0.99).
"""

from dataclasses import dataclass
from itertools import takewhile
from math import gcd

from .nodes import CIf, CLoop, CNode, CRegion, CShare, CTurn

LEAST = 4  # iterations of a block


@dataclass(frozen=True, slots=True)
class Blocks:
    """Each `period` iterations begin with `turns`; `is_even`: the last block is one of as many."""

    period: int
    turns: tuple[CNode, ...]
    body: tuple[CNode, ...]
    is_even: bool


def find_blocks(loop: CLoop) -> Blocks | None:
    """An innermost loop of known length in blocks; None where it has no turns, or short ones."""
    nested = CLoop | CIf | CShare | CRegion
    if not isinstance(loop.stop, int) or any(isinstance(node, nested) for node in loop.body):
        return None
    turns = [*takewhile(lambda node: _is_turn(node, loop), loop.body)]
    found = [node for node in turns if isinstance(node, CTurn)]
    period = gcd(*(node.period for node in found), *(node.first - loop.first for node in found))
    length = loop.stop - loop.first
    if not LEAST <= period < length:
        return None
    first = tuple(x for turn in found for x in (turn.body if turn.period == period else (turn,)))
    return Blocks(period, first, loop.body[len(turns) :], length % period == 0)


def _is_turn(node: CNode, loop: CLoop) -> bool:
    return isinstance(node, CTurn) and node.name == loop.name
