"""Plans of a kernel with any homes on chip, whether they pay or not."""

from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import cut_tasks, flatten
from isamap.planner import Wishes
from isamap.planner.find_plan import plan_alone, task_scheduler
from isamap.planner.keep_on_chip import HomeSearch
from isamap.planner.place_tasks import TaskTree
from isamap.planner.schedule_tasks import Known
from isamap.verify import verify_full


def search(kernel: Kernel, hw: Hardware, time_limit_s: float = 2.0) -> HomeSearch:
    """As `find_plan` makes it, without joins."""
    wishes = Wishes(time_limit_s=time_limit_s, may_reassociate=True)
    nodes = cut_tasks(kernel)
    tasks = tuple(flatten(nodes))
    scheduler = task_scheduler(tasks, hw, wishes, Known())
    return HomeSearch(TaskTree(kernel, nodes, hw), plan_alone(tasks, scheduler), scheduler)


def count_right_homes(kernel: Kernel, hw: Hardware, label: str) -> int:
    """How many sets of homes on chip can be placed, all of which compute the kernel."""
    found, count = search(kernel, hw, time_limit_s=60.0), 0
    whole, parts = found.trials()
    for homes in (*whole, *parts):
        placed = found.schedule(homes)
        if placed is not None:
            assert verify_full(placed.program, kernel, hw).is_verified, (label, homes)
            count += 1
    return count
