"""From a kernel of several tasks to one plan: forms, homes on chip, hand-overs, one program."""

from isamap.scheduler import Wishes

from .assemble import assemble_answer, assemble_plan
from .best_plan import find_best_plan
from .compose import compose
from .count_repacks import Repack, repacks
from .find_plan import find_plan, plan_form
from .front import Front, find_front
from .handover import Handover, handovers
from .mark_late import mark_late
from .piece import Piece
from .plan import Plan, PlannedTask, host_task_cycles
from .rejoin import rejoin
from .search import search
from .share_chip import share_chip

__all__ = [
    "Front",
    "Handover",
    "Piece",
    "Plan",
    "PlannedTask",
    "Repack",
    "Wishes",
    "assemble_answer",
    "assemble_plan",
    "compose",
    "find_best_plan",
    "find_front",
    "find_plan",
    "handovers",
    "host_task_cycles",
    "mark_late",
    "plan_form",
    "rejoin",
    "repacks",
    "search",
    "share_chip",
]
