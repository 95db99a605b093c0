"""What a page shows beside a trace.

In: nothing but these values. Out: frozen values. Not its job: finding them (`cli`), HTML
(`render_page`).
"""

from dataclasses import dataclass

from .find_roofs import Roofs


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of the answer with its unit, what it is, and what it means."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """Cycles that something takes by itself, and why."""

    name: str
    cycles: int
    reason: str


@dataclass(frozen=True, slots=True)
class Section:
    """Lines of text as the terminal shows them."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """`reserved_bytes`: what the schedule sets aside, by memory; `task_names`: of a plan's tasks,
    by number; `bars_note`: what the bars are."""

    title: str
    subtitle: str
    facts: tuple[Fact, ...]
    bars: tuple[Bar, ...]
    bars_note: str
    roofs: Roofs | None
    sections: tuple[Section, ...]
    listing: str
    reserved_bytes: tuple[tuple[str, int], ...]
    task_names: tuple[tuple[int, str], ...]
    version: str
