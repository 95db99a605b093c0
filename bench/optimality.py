"""Is OPTIMAL true? Exhaustive search against the solver on random small cases.

In: how many cases per machine, how long one search may take. Out: a text table in
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
from pathlib import Path

from host import header

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "scheduler")]

from cases import MACHINES  # noqa: E402
from small import MAX_LOOPS, MAX_UNITS, compare, small_case  # noqa: E402

from isamap.scheduler import Status  # noqa: E402

RESULT = ROOT / "bench" / "results" / "optimality.txt"
SOLVE_LIMIT_S = 20.0
WORST = 10  # differences listed


@dataclass(frozen=True, slots=True)
class Row:
    """One case; `kind` is a key of KINDS, `difference` solver's minus best cycles."""

    kind: str
    difference: int
    text: str
    num_tilings: int = 0


KINDS = {
    "equal": "the solver's OPTIMAL is the best of all tilings, within a cycle (it counts in 1/16)",
    "unfit": "both say that nothing fits",
    "beaten": "exhaustive search found something better than OPTIMAL",
    "outside": "the solver found something better than all tilings searched",
    "bound": "the solver's bound exceeds the best of all tilings",
    "fit": "one says that nothing fits, the other has a tiling",
    "open": "the solver's time was up (not compared)",
    "large": "the exhaustive search's time was up (not compared)",
}
COMPARED = ("equal", "unfit", "beaten", "outside", "bound", "fit")


def judge(task: tuple[str, int, float]) -> Row:
    """Compare one case."""
    hw_name, seed, limit_s = task
    case = small_case(hw_name, seed)
    label = f"seed {seed}: {case.text}"
    found = compare(case, search_limit_s=limit_s, solve_limit_s=SOLVE_LIMIT_S)
    if found is None:
        return Row("large", 0, label)
    solution, best = found.solution, found.best
    if (best is None) != (solution.tiling is None):
        return Row("fit", 0, f"{label}\n    best {best}, solver {solution}", found.num_tilings)
    if best is None:
        return Row("unfit", 0, label)
    difference = solution.cycles - best
    detail = f"{label}\n    best {best}: {found.best_text}\n    solver {solution}"
    if solution.bound_cycles > best + 1:
        return Row("bound", difference, detail, found.num_tilings)
    if difference < -1:
        return Row("outside", difference, detail, found.num_tilings)
    if solution.status is not Status.OPTIMAL:
        return Row("open", difference, label, found.num_tilings)
    kind = "beaten" if difference > 1 else "equal"
    return Row(kind, difference, detail if kind == "beaten" else label, found.num_tilings)


def main() -> None:
    """Run the cases on two processes and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=80, help="per machine")
    parser.add_argument("--search-seconds", type=float, default=2.5, help="per search")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    limit_s = arguments.search_seconds
    tasks = [(hw, seed, limit_s) for seed in range(arguments.cases) for hw in MACHINES]
    begin = time.perf_counter()
    with ProcessPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(judge, tasks, chunksize=4))
    text = "\n".join(report(rows, tasks, time.perf_counter() - begin)) + "\n"
    print(text)
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(text)


def report(rows: list[Row], tasks: list[tuple[str, int, float]], seconds: float) -> list[str]:
    """The table's lines."""
    counts = Counter(row.kind for row in rows)
    compared = sum(counts[kind] for kind in COMPARED)
    tilings = sum(row.num_tilings for row in rows)
    lines = header(("ortools", "numpy"))
    lines += [
        f"seconds    {seconds:.0f}",
        f"cases      {len(rows)} drawn: 2 to {MAX_LOOPS} loops of 2 to {MAX_UNITS} units, all or"
        f" little memory, {len(MACHINES)} machines",
        f"compared   {compared}, against {tilings} tilings",
        f"beaten     {counts['beaten']}",
        "",
    ]
    lines += [f"{kind:<8} {counts[kind]:>5}  {meaning}" for kind, meaning in KINDS.items()]
    lines += ["", "machine   compared  beaten"]
    for hw_name in MACHINES:
        kinds = [row.kind for row, task in zip(rows, tasks, strict=True) if task[0] == hw_name]
        compared = sum(kind in COMPARED for kind in kinds)
        lines.append(f"{hw_name:<10} {compared:>7} {kinds.count('beaten'):>7}")
    odd = [row for row in rows if row.kind in ("beaten", "outside", "bound", "fit")]
    worst = sorted(odd, key=lambda row: -abs(row.difference))
    lines += ["", "worst differences (solver minus best, cycles):" if odd else "no differences"]
    lines += [f"  {row.kind} {row.difference:+d}  {row.text}" for row in islice(worst, WORST)]
    return lines


if __name__ == "__main__":
    main()
