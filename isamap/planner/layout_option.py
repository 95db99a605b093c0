"""Layouts that a task can find its buffers in.

In: nothing but this node. Out: a frozen value. Not its job: which there are (`agree_layouts`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from isamap.program import Layout
from isamap.scheduler import LayoutKey

Layouts = Mapping[str, Layout]
Keys = tuple[tuple[str, LayoutKey], ...]  # of layouts, by buffer


@dataclass(frozen=True, slots=True)
class Option:
    """Layouts that a task has coverings for, of which the least bound is `bound_cycles` where
    buffers in the external memory lie so far from how they do (`rank_of`)."""

    rank: int
    bound_cycles: int
    layouts: Layouts
    keys: Keys
