"""What schedules cost: decisions on reuse, and the models that price them."""

from .aim import FASTEST, Aim, Costs, Metric
from .analytical import (
    OVERLAP_LOSS,
    Begun,
    Estimate,
    estimate,
    moved_by,
)
from .block_waits import block_limits, enough_slots, sweep_wait
from .bounds import Bound, find_bounds
from .compulsory import compulsory_bytes
from .contest import Contest, CountsPrograms, TakesRounds, open_contest, share_time
from .crowded import excess_cycles, fills_beside, inner_tile_cycles, is_inner_fill
from .emulated import Emulated
from .ends import STARVED_ENDS, first_call_cycles, onward_cycles, port_ends, unit_ends
from .exchange_waits import (
    MAX_CREDITS,
    RoundTrip,
    carrier_cycles,
    fill_paths,
    find_round_trips,
    met_by,
    most_credits,
    path_latency_cycles,
    queued_with,
    trip_ends,
)
from .exchanges import (
    Exchange,
    drains_late,
    find_exchanges,
    has_one_credit,
    has_token_beside,
    order_places,
    sources,
    why_mixed_up,
    why_no_channel,
)
from .flow import Flow
from .handover import copies_as_written
from .host_costs import host_costs
from .ideal import ideal_cycles
from .in_order import HeldUp, find_held_up
from .io_bound import chip_bytes, least_traffic, moved_bytes
from .least import Load, bound_cycles, busiest, least_costs, least_load
from .lines import PAGE_BYTES
from .occupancy import least_occupancy
from .passes import (
    is_renamed,
    is_replaced,
    may_double,
    may_leave_late,
    moves_blocks,
    needs_one_slot,
)
from .passing import Passing, Use
from .ports import port_cycles
from .pretty_cost import pretty_cost, pretty_energy, pretty_value
from .registry import (
    ANALYTICAL,
    COST_MODELS,
    Candidate,
    CostModel,
    Formula,
    Price,
)
from .roofline import Roofline, floor_costs, roofline
from .rounds import (
    find_turn,
    inputs_beside,
    may_occupy,
    may_sweep,
    occupying,
    passage_rounds,
    ring_ends,
    round_trip_cycles,
    shared_ports,
)
from .span import Room, Round, Span, find_span, one_round
from .startup import onward_tiles, slowest_block_cycles
from .sum_rings import find_sum_ring, why_no_ring
from .terms import INSTRUCTION, TERMS_VERSION, find_terms
from .tiling import (
    Guards,
    Stay,
    Tiling,
    axis_extent,
    axis_strides,
    guards,
    last_units,
    passage_strides,
    splits_along,
    tile_strides,
    trips,
)
from .traffic import Moved
from .users_model import load_cost_model, load_offered, names_file, offered_models
from .waiting import drain_latency_cycles, is_handed_on, swap_limits, waits_for_port
from .work import Ends, Work, count_work

__all__ = [
    "ANALYTICAL",
    "Aim",
    "Begun",
    "Bound",
    "COST_MODELS",
    "Candidate",
    "Contest",
    "CostModel",
    "Costs",
    "CountsPrograms",
    "Emulated",
    "Ends",
    "Estimate",
    "Exchange",
    "FASTEST",
    "Flow",
    "Formula",
    "Guards",
    "HeldUp",
    "INSTRUCTION",
    "Load",
    "MAX_CREDITS",
    "Metric",
    "Moved",
    "OVERLAP_LOSS",
    "PAGE_BYTES",
    "Passing",
    "Price",
    "Roofline",
    "Room",
    "Round",
    "RoundTrip",
    "STARVED_ENDS",
    "Span",
    "Stay",
    "TERMS_VERSION",
    "TakesRounds",
    "Tiling",
    "Use",
    "Work",
    "axis_extent",
    "axis_strides",
    "block_limits",
    "bound_cycles",
    "busiest",
    "carrier_cycles",
    "chip_bytes",
    "compulsory_bytes",
    "copies_as_written",
    "count_work",
    "drain_latency_cycles",
    "drains_late",
    "enough_slots",
    "estimate",
    "excess_cycles",
    "fill_paths",
    "fills_beside",
    "find_bounds",
    "find_exchanges",
    "find_held_up",
    "find_round_trips",
    "find_span",
    "find_sum_ring",
    "find_terms",
    "find_turn",
    "first_call_cycles",
    "floor_costs",
    "guards",
    "has_one_credit",
    "has_token_beside",
    "host_costs",
    "ideal_cycles",
    "inner_tile_cycles",
    "inputs_beside",
    "is_handed_on",
    "is_inner_fill",
    "is_renamed",
    "is_replaced",
    "last_units",
    "least_costs",
    "least_load",
    "least_occupancy",
    "least_traffic",
    "load_cost_model",
    "load_offered",
    "may_double",
    "may_leave_late",
    "may_occupy",
    "may_sweep",
    "met_by",
    "most_credits",
    "moved_by",
    "moved_bytes",
    "moves_blocks",
    "names_file",
    "needs_one_slot",
    "occupying",
    "offered_models",
    "one_round",
    "onward_cycles",
    "onward_tiles",
    "open_contest",
    "order_places",
    "passage_rounds",
    "passage_strides",
    "path_latency_cycles",
    "port_cycles",
    "port_ends",
    "pretty_cost",
    "pretty_energy",
    "pretty_value",
    "queued_with",
    "ring_ends",
    "roofline",
    "round_trip_cycles",
    "share_time",
    "shared_ports",
    "slowest_block_cycles",
    "sources",
    "splits_along",
    "swap_limits",
    "sweep_wait",
    "tile_strides",
    "trip_ends",
    "trips",
    "unit_ends",
    "waits_for_port",
    "why_mixed_up",
    "why_no_channel",
    "why_no_ring",
]
