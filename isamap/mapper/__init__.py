"""From a kernel and a machine to coverings: matches, layouts and copies."""

from .borders import fills_border, needs_zeros, positions_past
from .collapse import collapse_loops, is_collapsed
from .conversions import conversions
from .cover import candidates, coverings, nearest_miss
from .cover_mapping import cover_mapping
from .covering import (
    BlockDim,
    CopyDim,
    CoreShare,
    Covering,
    External,
    OperandPlan,
    Passage,
    Residence,
    TileAxis,
    TiledLoop,
    Transfer,
)
from .cut_run import cut_run
from .drop_exchanged import drop_exchanged
from .find_missing import find_missing
from .fused_values import fused_values
from .issue_cycles import call_classes, compute_cycles, unit_cycles
from .join_tasks import join_tasks, keeps_order
from .known_coverings import FoundCoverings, KnownCoverings
from .mappings import Mapping, mappings, orientations, unmatched
from .match import Match, Mismatch, match_statement
from .meets_itself import meets_itself
from .number_operations import number_operations
from .operand import layout_rank
from .pretty import show_layout_kind, show_layouts, show_route
from .split_gains import may_gain_by_halves
from .spread import spread, spread_coverings, spread_like, why_one_core
from .spread_factors import spread_factors
from .tasks import ALONE, Ends, Setting, Task, TaskLoop, TaskNode, cut_tasks, flatten
from .transfer import call_extents, call_limit, most_rows, part_size

__all__ = [
    "BlockDim",
    "CopyDim",
    "CoreShare",
    "Covering",
    "Ends",
    "External",
    "FoundCoverings",
    "KnownCoverings",
    "ALONE",
    "Setting",
    "Mapping",
    "Match",
    "Mismatch",
    "OperandPlan",
    "Passage",
    "Residence",
    "Task",
    "TaskLoop",
    "TaskNode",
    "TileAxis",
    "TiledLoop",
    "Transfer",
    "call_classes",
    "call_extents",
    "call_limit",
    "candidates",
    "collapse_loops",
    "compute_cycles",
    "conversions",
    "cover_mapping",
    "coverings",
    "cut_run",
    "cut_tasks",
    "drop_exchanged",
    "fills_border",
    "find_missing",
    "flatten",
    "fused_values",
    "is_collapsed",
    "join_tasks",
    "keeps_order",
    "layout_rank",
    "mappings",
    "match_statement",
    "may_gain_by_halves",
    "number_operations",
    "most_rows",
    "meets_itself",
    "nearest_miss",
    "needs_zeros",
    "positions_past",
    "orientations",
    "part_size",
    "spread",
    "spread_coverings",
    "spread_like",
    "show_layout_kind",
    "show_layouts",
    "show_route",
    "spread_factors",
    "unit_cycles",
    "unmatched",
    "why_one_core",
]
