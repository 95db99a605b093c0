"""What a program does over time, for people: trace events and one page."""

from .find_roofs import MemoryRoof, Roofs, UnitRoof, find_roofs
from .page import Bar, Fact, Page, Section
from .render_page import PAGE_CALLS, render_page
from .trace_events import trace_text

__all__ = [
    "PAGE_CALLS",
    "Bar",
    "Fact",
    "MemoryRoof",
    "Page",
    "Roofs",
    "Section",
    "UnitRoof",
    "find_roofs",
    "render_page",
    "trace_text",
]
