"""What schedules cost: decisions on reuse, and the models that price them."""

from .aim import FASTEST, Aim, Costs, Metric
from .analytical import (
    OVERLAP_LOSS,
    Estimate,
    estimate,
    moved_by,
    onward_cycles,
    slowest_block_cycles,
)
from .bounds import Bound, critical_path, find_bounds
from .compulsory import compulsory_bytes
from .ends import STARVED_ENDS, first_call_cycles, port_ends, unit_ends
from .host_costs import host_costs
from .io_bound import chip_bytes, least_traffic, moved_bytes
from .least import Load, bound_cycles, busiest, least_costs, least_load
from .occupancy import least_occupancy
from .passes import (
    fill_units,
    is_renamed,
    is_replaced,
    may_double,
    moves_blocks,
    needs_one_slot,
)
from .ports import port_cycles
from .pretty_cost import pretty_cost, pretty_energy, pretty_value
from .registry import ANALYTICAL, COST_MODELS, Candidate, CostModel, Formula, Price
from .roofline import Roofline, floor_costs, roofline
from .rounds import (
    TURN_ENDS,
    may_occupy,
    may_sweep,
    occupied_latency,
    passage_rounds,
    ring_ends,
    round_trip_cycles,
)
from .span import Span, Use, find_span
from .tiling import (
    Guards,
    Stay,
    Tiling,
    axis_extent,
    axis_strides,
    guards,
    operand_plan,
    splits_along,
    tile_strides,
    tile_units,
    trips,
)
from .traffic import Moved, add_up_moved, count_moved
from .waiting import (
    Swap,
    block_limits,
    block_wait,
    drain_latency_cycles,
    swap_limits,
    sweep_wait,
    waits_for_port,
)
from .work import Ends, Flow, Work, count_work

__all__ = [
    "ANALYTICAL",
    "COST_MODELS",
    "FASTEST",
    "OVERLAP_LOSS",
    "Aim",
    "Bound",
    "Candidate",
    "CostModel",
    "Costs",
    "STARVED_ENDS",
    "TURN_ENDS",
    "Ends",
    "Estimate",
    "passage_rounds",
    "port_ends",
    "ring_ends",
    "unit_ends",
    "Flow",
    "Formula",
    "Guards",
    "Load",
    "Metric",
    "Moved",
    "Price",
    "Roofline",
    "Span",
    "Stay",
    "Swap",
    "Tiling",
    "Use",
    "Work",
    "add_up_moved",
    "axis_extent",
    "axis_strides",
    "block_limits",
    "block_limits",
    "block_wait",
    "bound_cycles",
    "busiest",
    "compulsory_bytes",
    "count_moved",
    "count_work",
    "critical_path",
    "drain_latency_cycles",
    "estimate",
    "chip_bytes",
    "fill_units",
    "find_bounds",
    "first_call_cycles",
    "find_span",
    "floor_costs",
    "guards",
    "host_costs",
    "least_costs",
    "least_load",
    "least_occupancy",
    "least_traffic",
    "moved_bytes",
    "is_renamed",
    "is_replaced",
    "may_double",
    "may_occupy",
    "may_sweep",
    "moved_by",
    "moves_blocks",
    "needs_one_slot",
    "occupied_latency",
    "onward_cycles",
    "operand_plan",
    "port_cycles",
    "pretty_cost",
    "pretty_energy",
    "pretty_value",
    "roofline",
    "round_trip_cycles",
    "slowest_block_cycles",
    "splits_along",
    "swap_limits",
    "sweep_wait",
    "tile_strides",
    "waits_for_port",
    "tile_units",
    "trips",
]
