"""What schedules cost: decisions on reuse, and the models that price them."""

from .analytical import OVERLAP_LOSS, Estimate, estimate, moved_by, slowest_block_cycles
from .passes import (
    fill_units,
    is_renamed,
    is_replaced,
    may_double,
    moves_blocks,
    needs_one_slot,
)
from .registry import COST_MODELS, Candidate, CostModel
from .roofline import Roofline, compulsory_bytes, port_cycles, roofline
from .tiling import (
    Guards,
    Stay,
    Tiling,
    axis_extent,
    axis_strides,
    guards,
    operand_plan,
    splits_along,
    tile_units,
    trips,
)
from .traffic import Moved, add_up_moved, count_moved
from .waiting import block_wait, drain_latency_cycles, round_trip_cycles, sweep_wait
from .work import Flow, Load, Work, bound_cycles, busiest, count_work, least_load

__all__ = [
    "COST_MODELS",
    "OVERLAP_LOSS",
    "Candidate",
    "CostModel",
    "Estimate",
    "Flow",
    "Guards",
    "Load",
    "Moved",
    "Roofline",
    "Stay",
    "Tiling",
    "Work",
    "add_up_moved",
    "axis_extent",
    "axis_strides",
    "block_wait",
    "bound_cycles",
    "busiest",
    "compulsory_bytes",
    "count_moved",
    "count_work",
    "drain_latency_cycles",
    "estimate",
    "fill_units",
    "guards",
    "least_load",
    "is_renamed",
    "is_replaced",
    "may_double",
    "moved_by",
    "moves_blocks",
    "needs_one_slot",
    "operand_plan",
    "port_cycles",
    "roofline",
    "round_trip_cycles",
    "slowest_block_cycles",
    "splits_along",
    "sweep_wait",
    "tile_units",
    "trips",
]
