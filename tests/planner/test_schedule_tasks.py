"""What is known of a task in more room serves where there is less.

In: isamap/planner/schedule_tasks.py. Out: nothing. Not its job: schedules themselves.
"""

import time
from dataclasses import replace
from math import inf
from pathlib import Path

from isamap.errors import MappingError, TooSlowError
from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel, parse_semantics
from isamap.mapper import cut_tasks, flatten
from isamap.planner import Wishes
from isamap.planner.plan import task_key
from isamap.planner.schedule_tasks import Around, Known, TaskScheduler, alike
from isamap.scheduler import Answer, find_schedule

ROOT = Path(__file__).parents[2]
GEMMINI = load_hardware(str(ROOT / "hw_specs" / "gemmini.yaml"))
(TASK,) = flatten(
    cut_tasks(load_kernel(ROOT / "kernels" / "gemm.py", {"m": 64, "n": 80, "k": 96}, "gemm"))
)
SIZE = GEMMINI.memory("scratchpad").size_bytes


def scheduler() -> TaskScheduler:
    deadline = time.perf_counter() + 60
    return TaskScheduler(GEMMINI, Wishes(), frozenset(), Known(), deadline)


def beside(taken: int) -> Around:
    return Around((("scratchpad", taken),))


def test_a_proven_schedule_that_still_fits_is_the_best_one() -> None:
    tasks = scheduler()
    alone = tasks.find(TASK)
    assert isinstance(alone, Answer)
    used = 64 * 96 + 96 * 80  # A and B, whole
    assert tasks.find(TASK, beside(SIZE - 2 * used)) is alone
    crowded = tasks.find(TASK, beside(SIZE - 1024))
    assert isinstance(crowded, Answer)
    assert crowded is not alone
    anew = scheduler().find(TASK, beside(SIZE - 1024))
    assert isinstance(anew, Answer)
    assert crowded.best.estimate.cycles == anew.best.estimate.cycles >= alone.best.estimate.cycles


def test_what_does_not_fit_does_not_fit_in_less() -> None:
    tasks = scheduler()
    failure = tasks.find(TASK, beside(SIZE))
    assert isinstance(failure, MappingError)
    assert "do not fit the memories" in failure.message
    assert tasks.find(TASK, Around((("accumulator", 1024), ("scratchpad", SIZE)))) is failure
    assert tasks.least(TASK, beside(SIZE)) is None


def test_what_is_too_slow_to_be_of_use_is_looked_for_again_where_more_is_of_use() -> None:
    tasks = scheduler()
    hurried = replace(tasks, most=10.0)
    failure = hurried.find(TASK)
    assert isinstance(failure, TooSlowError)
    assert failure.most == 10.0
    assert failure.message == "gemm_0 takes 10.0 or more on gemmini"
    assert replace(tasks, most=5.0).find(TASK, beside(SIZE // 2)) is failure
    found = tasks.find(TASK)
    assert isinstance(found, Answer)
    anew = scheduler().find(TASK)
    assert isinstance(anew, Answer)
    assert found.best.estimate.cycles == anew.best.estimate.cycles
    just = replace(scheduler(), most=found.best.estimate.cycles + 1).find(TASK)
    assert isinstance(just, Answer)
    assert just.best.estimate.cycles == found.best.estimate.cycles
    below = replace(scheduler(), most=found.best.estimate.cycles).find(TASK)
    assert isinstance(below, TooSlowError)


def test_a_choice_made_where_little_is_of_use_is_made_again_where_more_is() -> None:
    sizes = {"m": 64, "n": 80, "k": 96}
    (task,) = flatten(cut_tasks(load_kernel(ROOT / "kernels" / "gemm.py", sizes, "gemm_nt")))
    tasks = scheduler()
    natural = scheduler().find(task)
    assert isinstance(natural, Answer) and natural.best.is_natural and natural.most == inf
    repacked = replace(tasks, most=natural.best.cost).find(task)
    assert isinstance(repacked, Answer) and repacked.most == natural.best.cost
    assert repacked.best.cost < natural.best.cost and not repacked.best.is_natural
    again = tasks.find(task)
    assert isinstance(again, Answer)
    assert (again.best.cost, again.best.covering) == (natural.best.cost, natural.best.covering)


def test_only_the_chosen_schedule_is_looked_for_where_nobody_asks_for_others() -> None:
    kernel = load_kernel(ROOT / "kernels" / "gemm.py", {"m": 64, "n": 80, "k": 96}, "gemm_nt")
    whole = find_schedule(kernel, GEMMINI)
    part = find_schedule(kernel, GEMMINI, is_part=True)
    assert whole.fastest is not None and part.fastest is None
    assert (part.best.cost, part.status) == (whole.best.cost, whole.status)
    assert part.bound == whole.bound


def test_parts_are_alike_whatever_their_loops_are_long() -> None:
    """Dimensions in another order may be joined for other reasons."""
    text = "A, C = In(f32, 5, 7), Out(f32, {})\nfor i, j in grid({}, 7):\n  C[{}] = A[i, j]\n"
    kernels = [
        parse_semantics(text.format(*way), "copy")
        for way in (("5, 7", 5, "i, j"), ("5, 7", 3, "i, j"), ("7, 5", 5, "j, i"))
    ]
    plain, shorter, turned = (alike(tuple(flatten(cut_tasks(kernel)))) for kernel in kernels)
    assert plain == shorter != turned


def test_what_a_task_leaves_of_its_time_goes_to_those_that_follow() -> None:
    """Of 1000 seconds five tasks get 200 each; with four done, the last one gets half of it all."""
    sizes = range(4, 9)
    buffers = (
        f"A{n}, B{n}, C{n} = In(i8, {n}, {n}), In(i8, {n}, {n}), Out(i32, {n}, {n})\n"
        for n in sizes
    )
    products = (
        f"for i, j, k in grid({n}, {n}, {n}):\n  C{n}[i, j] += i32(A{n}[i, k]) * i32(B{n}[k, j])\n"
        for n in sizes
    )
    text = "".join((*buffers, *products))
    wishes = Wishes(time_limit_s=200.0)
    tasks = tuple(flatten(cut_tasks(parse_semantics(text, "five"))))
    deadline = time.perf_counter() + 1000
    shared = TaskScheduler(GEMMINI, wishes, frozenset(), Known(), deadline, tasks=tasks)
    shares = []
    for task in tasks:
        shares.append(shared.share_s(task))
        shared.find(task)
    assert shares[:3] == [200] * 3 and 200 <= shares[3] <= 250
    assert 400 <= shares[4] <= 500, "a machine may be slow, not by minutes"
    is_same = shared.share_s(task) == 200
    assert is_same, "once all are scheduled, others are tried no longer than before"


def test_a_task_gets_as_much_of_the_time_as_it_has_of_the_work() -> None:
    """Joined tasks are not asked for their parts' time again."""
    text = "A, B, C, D = In(i8, 9, 9), In(i8, 9, 9), Out(i32, 9, 9), Out(i32, 9, 9)\n"
    text += "for i, j in grid(9, 9):\n  D[i, j] = 1\n"
    text += "for i, j in grid(9, 9):\n  C[i, j] = i32(B[i, j])\n"
    text += "for i, j, k in grid(9, 9, 9):\n  C[i, j] += i32(A[i, k]) * i32(B[k, j])\n"
    tasks = tuple(flatten(cut_tasks(parse_semantics(text, "uneven"))))
    known, deadline = Known(), time.perf_counter() + 1200
    shared = TaskScheduler(GEMMINI, Wishes(time_limit_s=1), frozenset(), known, deadline)
    shared = replace(shared, tasks=tasks)
    shares = [shared.share_s(task) for task in tasks]
    assert [round(share / 600, 1) for share in shares] == [0.3, 0.3, 0.8], "9 of 11, or a third"
    known.parts.update(task_key(task, frozenset()) for task in tasks[1:])
    assert shared.share_s(tasks[0]) > 550, "nothing else is left"
