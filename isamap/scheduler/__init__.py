"""From a covering of one task to a proven schedule and its program."""

from .ahead import to_reorder
from .answer import Alternative, Answer, Contender, Schedule
from .clock import WALL, EffortClock
from .frame import tile_name
from .fuse_tokens import fuse_tokens
from .legality import Breach, Part, breaches, is_legal, memory_of, option_breaches, room_breaches
from .limit_error import limit_error, with_nearest
from .limit_machine import check_aim, limit_machine, without
from .lower import lower, lower_nest
from .natural import rank_of
from .neighbours import swapped_loops
from .options import MAX_SLOTS, may_keep_units
from .place import EXTERNAL_ALIGN_BYTES, NOTHING, place, room_ends, used_bytes
from .rarely_collected import rarely_collected
from .same_layout import LayoutKey, layout_key, same_layout
from .schedule import find_schedule
from .solution import KnownModels, Solution, Status
from .solve import solve
from .tokens import signal
from .watch import NOBODY, Progress, Watch
from .why_nothing import nearest_reasons, too_large
from .wishes import NATURAL_TOLERANCE, Surroundings, Wishes

__all__ = [
    "WALL",
    "Alternative",
    "Answer",
    "Breach",
    "Contender",
    "EffortClock",
    "EXTERNAL_ALIGN_BYTES",
    "KnownModels",
    "LayoutKey",
    "MAX_SLOTS",
    "NATURAL_TOLERANCE",
    "NOBODY",
    "NOTHING",
    "Part",
    "Progress",
    "Schedule",
    "Solution",
    "Status",
    "Surroundings",
    "Watch",
    "Wishes",
    "breaches",
    "check_aim",
    "find_schedule",
    "fuse_tokens",
    "is_legal",
    "layout_key",
    "limit_error",
    "limit_machine",
    "lower",
    "lower_nest",
    "may_keep_units",
    "memory_of",
    "nearest_reasons",
    "option_breaches",
    "place",
    "rank_of",
    "rarely_collected",
    "room_breaches",
    "room_ends",
    "same_layout",
    "signal",
    "solve",
    "swapped_loops",
    "tile_name",
    "to_reorder",
    "too_large",
    "used_bytes",
    "with_nearest",
    "without",
]
