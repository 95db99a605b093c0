"""Is OPTIMAL true? Exhaustive search against the solver on random small cases.

In: how many cases per machine, how large one may be. Out: a text table in
`bench/results/optimality.txt`; `python bench/optimality.py`. Not its job: whether the closed form
that both minimise is accurate (bench of the cost models), larger cases.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from math import inf
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from host import header  # noqa: E402

from isamap.costmodels import Aim, Metric, count_work, estimate  # noqa: E402
from isamap.scheduler import Status  # noqa: E402
from tests.planner.small_plans import compare_plans  # noqa: E402
from tests.scheduler.cases import MACHINES  # noqa: E402
from tests.scheduler.small import (  # noqa: E402
    MAX_LOOPS,
    MAX_UNITS,
    compare,
    slack,
    small_case,
)

RESULT = ROOT / "bench" / "results" / "optimality.txt"
SOLVE_LIMIT_S = 20.0
WORST = 10  # differences listed


@dataclass(frozen=True, slots=True)
class Row:
    """One case; `kind` is a key of KINDS, `difference`: solver's minus best, as a share of it.

    `levels`: of copies between the external memory and the unit, at most; 0: two statements.
    """

    kind: str
    difference: float
    text: str
    num_tilings: int = 0
    levels: int = 1
    objective: str = "cycles"


KINDS = {
    "equal": "the solver's best is the best of all, within a cycle (it counts in 1/16)",
    "unfit": "both say that nothing fits",
    "beaten": "exhaustive search found something better than OPTIMAL",
    "outside": "the solver found something better than all tilings searched",
    "bound": "the solver's bound exceeds the best of all tilings",
    "fit": "one says that nothing fits, the other has a tiling",
    "open": "the solver's time was up (not compared)",
    "large": "too many tilings to search (not compared)",
}
ODD = ("beaten", "outside", "bound", "fit")
COMPARED = ("equal", "unfit", *ODD)


@dataclass(frozen=True, slots=True)
class Task:
    """A case to compare: of one statement, or of two."""

    hw_name: str
    seed: int
    most_tilings: int
    metric: Metric
    is_pair: bool


def judge(task: Task) -> Row:
    """Compare one case."""
    return judge_pair(task) if task.is_pair else judge_single(task)


def judge_single(task: Task) -> Row:
    """One statement, one covering: every tiling."""
    aim, name = Aim.least(task.metric), task.metric.value
    case = small_case(task.hw_name, task.seed)
    label = f"seed {task.seed}, {name}: {case.text}"
    levels = max(len(plan.residences) for plan in case.covering.operands)
    found = compare(case, most_tilings=task.most_tilings, solve_limit_s=SOLVE_LIMIT_S, aim=aim)
    if found is None:
        return Row("large", 0, label, 0, levels, name)
    solution, best = found.solution, found.best
    if (best is None) != (solution.tiling is None):
        return Row("fit", 0, f"{label}\n    best {best}, solver {solution}", 0, levels, name)
    if best is None:
        return Row("unfit", 0, label, 0, levels, name)
    assert solution.tiling is not None, "there is one, as the best is not None"
    work = count_work(case.covering, case.hw)
    spare = slack(aim, estimate(case.covering, work, solution.tiling, case.hw).costs(case.hw))
    detail = f"{label}\n    best {best}: {found.best_text}\n    solver {solution}"
    kind = "equal"
    if solution.bound > best + spare:
        kind = "bound"
    elif solution.value < best - spare:
        kind = "outside"
    elif solution.status is not Status.OPTIMAL:
        kind = "open"
    elif solution.value > best + spare:
        kind = "beaten"
    text = label if kind == "equal" else detail
    return Row(kind, solution.value / best - 1, text, found.num_tilings, levels, name)


def judge_pair(task: Task) -> Row:
    """Two statements: every tiling of the first coverings of each, the host, joined and apart.

    The planner may be better: it looks at more coverings and keeps temporaries on chip.
    """
    aim, name = Aim.least(task.metric), task.metric.value
    found = compare_plans(
        task.hw_name, task.seed, most_tilings=task.most_tilings, solve_limit_s=SOLVE_LIMIT_S,
        aim=aim,
    )  # fmt: skip
    if found is None:
        return Row("large", 0, "", 0, 0, name)
    label = f"seed {task.seed}, {name}: {found.text}"
    plan, best = found.plan, found.best
    if (best is None) != (plan is None):
        return Row("fit", 0, label, found.num_plans, 0, name)
    if best is None or plan is None:
        return Row("unfit", 0, label, 0, 0, name)
    value = aim.value(plan.costs)
    kind = "beaten" if value > best + 2 * slack(aim, plan.costs) else "equal"
    detail = f"{label}\n    best {best}, planner {value}"
    return Row(kind, value / best - 1, detail, found.num_plans, 0, name)


def main() -> None:
    """Run the cases and write the table; exit code 1 where the two disagree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=80, help="per machine")
    parser.add_argument("--pairs", type=int, default=20, help="of two statements, per machine")
    parser.add_argument(
        "--objective",
        choices=["all", *(metric.value for metric in Metric)],
        default="all",
        help="all: one after the other",
    )
    parser.add_argument("--tilings", type=int, default=400, help="at most, per covering")
    parser.add_argument("--minutes", type=float, default=inf, help="begin no case after so many")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    tasks = list_tasks(arguments)
    begin = time.perf_counter()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        rows = []
        for row in pool.map(judge, tasks):
            rows.append(row)
            if row.kind in ODD:
                print(f"{len(rows)}: {row.kind} {row.difference:+.2%}  {row.text}", flush=True)
            if time.perf_counter() - begin > 60 * arguments.minutes:
                pool.shutdown(cancel_futures=True)
                break
    tasks = tasks[: len(rows)]
    text = "\n".join(report(rows, tasks, time.perf_counter() - begin)) + "\n"
    print(text)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(text)
    raise SystemExit(any(row.kind in ODD for row in rows))


def list_tasks(arguments: argparse.Namespace) -> list[Task]:
    """Cases of all machines in turn, so that a run that is cut short has some of each.

    Pairs are compared by what adds up over tasks, one after every few single statements.
    """
    wanted = list(Metric) if arguments.objective == "all" else [Metric(arguments.objective)]
    sums = [metric for metric in wanted if metric is not Metric.EDP] or [Metric.CYCLES]
    placed = []
    for number, metrics, is_pair in (
        (arguments.cases, wanted, False), (arguments.pairs, sums, True)
    ):  # fmt: skip
        for seed in range(number):
            metric = metrics[seed % len(metrics)]
            row = [Task(name, seed, arguments.tilings, metric, is_pair) for name in MACHINES]
            placed.append(((seed + 1) / number, row))
    placed.sort(key=lambda pair: pair[0])
    return [task for _, row in placed for task in row]


def report(rows: list[Row], tasks: list[Task], seconds: float) -> list[str]:
    """The table's lines."""
    counts = Counter(row.kind for row in rows)
    compared = sum(counts[kind] for kind in COMPARED)
    tilings = sum(row.num_tilings for row in rows)
    lines = header(("ortools", "numpy"))
    lines += [
        f"seconds    {seconds:.0f}",
        f"cases      {len(rows)} drawn: 2 to {MAX_LOOPS} loops of 2 to {MAX_UNITS} units, all or"
        f" little memory, {len(MACHINES)} machines",
        f"compared   {compared}, against {tilings} tilings and plans",
        f"beaten     {counts['beaten']}",
        "",
    ]
    lines += [f"{kind:<8} {counts[kind]:>5}  {meaning}" for kind, meaning in KINDS.items()]
    groups = {name: [task.hw_name == name for task in tasks] for name in MACHINES}
    groups |= {m.value: [row.objective == m.value for row in rows] for m in Metric}
    names = {1: "one level of copies", 2: "two levels of copies", 0: "two statements"}
    groups |= {name: [row.levels == levels for row in rows] for levels, name in names.items()}
    lines += ["", f"{'':<21} compared  beaten"]
    for name, members in groups.items():
        kinds = [row.kind for row, is_member in zip(rows, members, strict=True) if is_member]
        compared = sum(kind in COMPARED for kind in kinds)
        lines.append(f"{name:<21} {compared:>8} {kinds.count('beaten'):>7}")
    odd = [row for row in rows if row.kind in ODD]
    worst = sorted(odd, key=lambda row: -abs(row.difference))
    lines += ["", "worst differences (solver above best):" if odd else "no differences"]
    lines += [f"  {row.kind} {row.difference:+.2%}  {row.text}" for row in islice(worst, WORST)]
    return lines


if __name__ == "__main__":
    main()
