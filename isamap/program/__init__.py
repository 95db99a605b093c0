"""The hourglass between deciders and executors: programs, layouts, their text and JSON forms."""

from .layout import Axis, Layout
from .pack import natural_layout, pack, unpack
from .pretty import listing
from .program import (
    Address,
    Edge,
    For,
    Issue,
    Node,
    Operand,
    Placement,
    Program,
    Repeat,
    Rotation,
    Run,
    Span,
    Spread,
    When,
    issues,
    map_issues,
    surrounded_issues,
)
from .serialise import SCHEMA_VERSION, from_json, to_json
from .use_order import in_use_order, lies_in

__all__ = [
    "SCHEMA_VERSION",
    "Address",
    "Axis",
    "Edge",
    "For",
    "Issue",
    "Layout",
    "Node",
    "Operand",
    "Placement",
    "Program",
    "Repeat",
    "Rotation",
    "Run",
    "Span",
    "Spread",
    "When",
    "from_json",
    "in_use_order",
    "issues",
    "surrounded_issues",
    "lies_in",
    "listing",
    "map_issues",
    "natural_layout",
    "pack",
    "to_json",
    "unpack",
]
