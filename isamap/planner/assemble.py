"""Schedules and plans from decisions that were made elsewhere: by a person, or before.

In: coverings, tilings, tasks and how they run. Out: the same values as a search gives, proven to be
nothing but legal. Not its job: deciding, saying which rule a tiling breaks (`legality`).
"""

from collections.abc import Mapping
from dataclasses import replace

from isamap.costmodels import FASTEST, Tiling, bound_cycles, count_work, estimate
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import Covering, TaskNode
from isamap.rewrites import Step
from isamap.scheduler import Alternative, Answer, Schedule, Solution, Status, is_legal, lower

from .bound_plan import bound_plan
from .contract_scratch import contract_scratch
from .place_tasks import TaskTree, with_joined_calls
from .plan import Plan, PlannedTask


def assemble_answer(kernel: Kernel, covering: Covering, tiling: Tiling, hw: Hardware) -> Answer:
    """A legal tiling as the answer for a kernel; the bound is its covering's."""
    assert is_legal(covering, tiling, hw), "only legal tilings are assembled"
    work = count_work(covering, hw)
    parts = estimate(covering, work, tiling, hw)
    bound = min(bound_cycles(covering, work, hw)[0], parts.cycles)
    status = Status.OPTIMAL if bound == parts.cycles else Status.FEASIBLE
    program = lower(covering, tiling, hw)
    assert program is not None, "a legal tiling has a place"
    cycles = parts.cycles
    solution = Solution(status, tiling, cycles, bound, 0.0, cycles, bound)
    schedule = Schedule(covering, work, solution, parts, program, cycles, cycles)
    return Answer(
        kernel, FASTEST, schedule, None, Status.FEASIBLE, bound, bound,
        (Alternative(covering, bound, cycles, bound, cycles),), (), 1, False, 0.0,
    )  # fmt: skip


def assemble_plan(
    kernel: Kernel,
    nodes: tuple[TaskNode, ...],
    planned: Mapping[int, PlannedTask],
    hw: Hardware,
    steps: tuple[Step, ...],
    *,
    may_reassociate: bool,
) -> Plan:
    """Tasks that fit side by side as a plan; MappingError as `compose`."""
    tree = TaskTree(kernel, nodes, hw)
    placed = with_joined_calls(tree, tree.put(planned))
    return Plan(
        kernel,
        nodes,
        placed.tasks,
        contract_scratch(replace(placed.program, may_reassociate=may_reassociate), hw),
        placed.cycles,
        placed.repack_cycles,
        *bound_plan(kernel, placed.tasks, hw),
        Status.FEASIBLE,
        0.0,
        FASTEST,
        placed.costs(hw),
        steps,
        cut="nothing else was looked at",
    )
