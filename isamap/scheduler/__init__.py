"""From a covering to a proven schedule and its program."""

from .answer import Alternative, Answer, Schedule
from .assemble import assemble_answer, assemble_plan
from .best_plan import find_best_plan, uses_little
from .compose import compose
from .count_repacks import Repack, repacks
from .find_plan import find_plan
from .front import Front, find_front
from .handover import Handover, handovers
from .legality import Breach, Part, breaches, is_legal, memory_of, option_breaches, room_breaches
from .limit_machine import check_aim, limit_machine
from .lower import lower
from .piece import Piece
from .place import place, used_bytes
from .plan import Plan, PlannedTask, Wishes, host_task_cycles, is_single
from .rejoin import rejoin
from .schedule import find_schedule
from .search import costs_of, search
from .share_chip import share_chip
from .solve import Solution, Status, solve
from .watch import NOBODY, Progress, Watch

__all__ = [
    "NOBODY",
    "Alternative",
    "Answer",
    "Breach",
    "Front",
    "Handover",
    "Part",
    "Piece",
    "Plan",
    "PlannedTask",
    "Progress",
    "Repack",
    "Schedule",
    "Solution",
    "Status",
    "Watch",
    "Wishes",
    "assemble_answer",
    "assemble_plan",
    "breaches",
    "check_aim",
    "compose",
    "costs_of",
    "find_best_plan",
    "find_front",
    "find_plan",
    "find_schedule",
    "handovers",
    "host_task_cycles",
    "is_legal",
    "is_single",
    "limit_machine",
    "lower",
    "memory_of",
    "option_breaches",
    "place",
    "rejoin",
    "search",
    "repacks",
    "room_breaches",
    "share_chip",
    "solve",
    "used_bytes",
    "uses_little",
]
