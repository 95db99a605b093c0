"""Does every machine whose C runs here compute every kernel that it can map?

In: machines (all with `emit: c` if none is named). Out: a text table in
`bench/results/targets.txt`; `python bench/run_targets.py`. Not its job: speed.

Every kernel of `kernels/` is mapped at several sizes (`target_sizes`). The C of all of them is
compiled and run in one process, under the emulator that the machine's file names, and held against
the kernel's meaning: integers over their full range, floats small whole numbers, whose sums are
exact. Results must be equal. Kernels that divide or take functions of floats get normal ones, and
may lie within the bound that is derived for their rounding.
"""

import argparse
import json
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from host import header  # noqa: E402
from stored import complain, read_stored  # noqa: E402
from table_text import align, titles  # noqa: E402
from target_sizes import Sizes, choose_sizes  # noqa: E402

from isamap.codegen import find_toolchain, missing_features  # noqa: E402
from isamap.errors import IsamapError, MappingError  # noqa: E402
from isamap.hwdesc import Hardware, load_hardware  # noqa: E402
from isamap.ir import Apply, Kernel, interpret, load_kernel, load_kernels  # noqa: E402
from isamap.native import execute_together, whole_arrays  # noqa: E402
from isamap.planner import Plan, Wishes, search  # noqa: E402
from isamap.resources import find_kernel  # noqa: E402
from isamap.rewrites.outline import subexpressions  # noqa: E402
from isamap.scheduler import Answer  # noqa: E402
from isamap.verify import compare, plan_tolerance  # noqa: E402
from isamap.verify.tolerance import reference_tolerance, telling_inputs  # noqa: E402

RESULT = ROOT / "bench" / "results" / "targets.txt"
SEARCH_S = 0.02  # per size: the first schedules will do
ENOUGH = 2  # sizes; where none of them maps, others are not asked
NOTE_LENGTH = 110
OUTCOMES = ("exact", "bounded", "wrong", "failed", "unmapped")
COLUMNS = (("machine", -12), ("kernel", -28), *((name, 8) for name in OUTCOMES), ("note", 0))
INEXACT = ("/", "exp", "tanh", "sigmoid", "sqrt")  # of whole numbers

Found = Answer | Plan


@dataclass(frozen=True, slots=True)
class Row:
    """A kernel on a machine: sizes by outcome; what went wrong, or why some do not map."""

    hw: str
    kernel: str
    outcomes: tuple[tuple[str, int], ...]
    note: str
    seconds: float

    def count(self, outcome: str) -> int:
        """Sizes with this outcome."""
        return dict(self.outcomes).get(outcome, 0)


def judge(task: tuple[str, str, str, int]) -> Row:
    """Map, run and compare one kernel on one machine."""
    name, file, own, count = task
    begin = time.process_time()
    hw = machine(name)
    wishes = Wishes(time_limit_s=SEARCH_S, may_reassociate=True)
    found: list[tuple[Sizes, Kernel, Found]] = []
    outcomes: Counter[str] = Counter()
    notes: list[str] = []
    for number, sizes in enumerate(choose_sizes(file, own, count)):
        if number == outcomes["unmapped"] == ENOUGH:
            outcomes["unmapped"] = count
            break
        try:
            kernel = load_kernel(find_kernel(file)[0], sizes, own)
            mapped = search(kernel, hw, wishes)
        except MappingError as error:
            outcomes["unmapped"] += 1
            notes.append(reason_of(error))
            continue
        except Exception as error:  # a fault of ours is a row of the table
            outcomes["failed"] += 1
            notes.insert(0, f"map: {error!r} at {sizes}")
            continue
        found.append((sizes, kernel, mapped))
    for outcome, note in run_all(hw, found) if found else ():
        outcomes[outcome] += 1
        notes[:0] = [note] if note else []
    note = notes[0] if notes else ""
    return Row(name, own, tuple(outcomes.items()), note, time.process_time() - begin)


def reason_of(error: MappingError) -> str:
    """What nothing computes, and the nearest miss, in one line."""
    lines = [line.strip() for line in error.message.splitlines()]
    return "; ".join(lines[1:3] if lines[0].endswith("computes") else lines[:2])


def run_all(hw: Hardware, found: list[tuple[Sizes, Kernel, Found]]) -> list[tuple[str, str]]:
    """Per size "exact", "bounded", "wrong" or "failed", and what is wrong."""
    inputs = [inputs_of(kernel) for _, kernel, _ in found]
    runs = [(mapped.program, held) for (*_, mapped), held in zip(found, inputs, strict=True)]
    try:
        outputs = execute_together(runs, hw)
    except Exception as error:
        said = error.message if isinstance(error, IsamapError) else repr(error)
        if len(found) == 1:
            return [("failed", " ".join(f"{found[0][0]}: {said}".split()))]
        half = len(found) // 2  # to find the sizes that it is about
        parts = run_all(hw, found[:half]) + run_all(hw, found[half:])
        if all(outcome != "failed" for outcome, _ in parts):
            parts[0] = (parts[0][0], f"only together: {' '.join(said.split())}")
        return parts
    return [judge_outputs(*row) for row in zip(found, inputs, outputs, strict=True)]


def inputs_of(kernel: Kernel) -> dict[str, np.ndarray]:
    """Whole numbers, where all sums and products of them are exact, else telling floats."""
    parts = (part for s in kernel.statements for part in subexpressions(s.value))
    if any(isinstance(part, Apply) and part.op in INEXACT for part in parts):
        return telling_inputs(kernel, 1, partial(reference_tolerance, kernel))[0]
    return whole_arrays(kernel, seed=1)


def judge_outputs(
    found: tuple[Sizes, Kernel, Found], arrays: dict[str, np.ndarray], got: dict[str, np.ndarray]
) -> tuple[str, str]:
    """The outcome of one size, and what is wrong."""
    sizes, kernel, mapped = found
    expected = interpret(kernel, arrays)
    wrong = compare(got, expected, "the kernel's meaning")
    if wrong is None:
        return "exact", ""
    if isinstance(mapped, Plan):
        limits = {n: finite(e) for n, e in reference_tolerance(kernel, arrays).items()}
        form = plan_tolerance(mapped, kernel, arrays)
        if not isinstance(form, float):
            limits = {n: np.maximum(e, finite(form[n])) for n, e in limits.items()}
        if compare(got, expected, "the kernel's meaning", limits) is None:
            return "bounded", ""
    where = f"{wrong.buffer}[{', '.join(map(str, wrong.index))}]"
    given = " ".join(f"{name}={value}" for name, value in sizes.items())
    return "wrong", f"{given}: {where} is {wrong.got}, expected {wrong.expected}"


def finite(limits: np.ndarray) -> np.ndarray:
    """Elements without a bound must be equal."""
    return np.where(np.isfinite(limits), limits, 0.0)


@cache
def machine(name: str) -> Hardware:
    """A bundled machine, read once per process."""
    return load_hardware(ROOT / "hw_specs" / f"{name}.yaml")


def why_not(name: str) -> str:
    """Why programs of a machine do not run here; empty if they do."""
    hw = machine(name)
    if hw.compiler is None or all(i.c_form is None for i in hw.instructions):
        return "its instructions have no C text"
    missing = () if hw.compiler.run else missing_features(hw.compiler)
    if missing:
        return f"this processor lacks {', '.join(missing)}"
    try:
        find_toolchain(hw)
    except IsamapError as error:
        return f"{error.message} ({error.hint})"
    return ""


def main() -> None:
    """Run all pairs and write the table; exit code 1 where something is wrong, or maps no more."""
    known = sorted(path.stem for path in (ROOT / "hw_specs").glob("*.yaml"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hw", nargs="+", choices=known, default=known, metavar="MACHINE")
    parser.add_argument("--kernel", nargs="+", default=[], help="names; all if left out")
    parser.add_argument("--sizes", type=int, default=20, help="per kernel")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--rows", type=Path, help="rows kept between runs")
    arguments = parser.parse_args()
    reasons = {name: why_not(name) for name in arguments.hw}
    tasks = [
        (name, path.stem, own, arguments.sizes)
        for path in sorted((ROOT / "kernels").glob("*.py"))
        for own in load_kernels(path)
        if own in arguments.kernel or not arguments.kernel
        for name, reason in reasons.items()
        if not reason
    ]
    stored = read_stored(RESULT, COLUMNS, ("machine", "kernel"), ("unmapped",))
    begin = time.perf_counter()
    rows = read_rows(arguments.rows)
    known_pairs = {(row.hw, row.kernel) for row in rows}
    left = [task for task in tasks if (task[0], task[2]) not in known_pairs]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for row in pool.map(judge, left):
            print(show(row), flush=True)
            rows.append(row)
            if arguments.rows:
                with arguments.rows.open("a") as file:
                    file.write(json.dumps(asdict(row)) + "\n")
            done = f"{len(rows)} of {len(tasks)} pairs of machine and kernel"
            lines = report(rows, reasons, done, time.perf_counter() - begin)
            arguments.out.write_text("\n".join(lines) + "\n")  # a run cut short leaves its rows
    if left:
        print("\n".join(lines[: lines.index("")]))
    complain(stored, map(show, rows))
    raise SystemExit(any(row.count("wrong") or row.count("failed") for row in rows))


def read_rows(path: Path | None) -> list[Row]:
    """What an earlier run wrote; a last line that it could not end is taken out of the file."""
    if path is None or not path.exists():
        return []
    text = path.read_text()
    path.write_text(text[: text.rfind("\n") + 1])
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [
        Row(**{**row, "outcomes": tuple((name, n) for name, n in row["outcomes"])}) for row in found
    ]


def show(row: Row) -> str:
    """One line of the table."""
    counts = [str(row.count(outcome) or "") for outcome in OUTCOMES]
    return align(COLUMNS, [row.hw, row.kernel, *counts, row.note[:NOTE_LENGTH]])


def report(rows: list[Row], reasons: dict[str, str], done: str, seconds: float) -> list[str]:
    """Header, sums, a line per machine, the table."""
    lines = [*header(("numpy",)), f"seconds    {seconds:.0f}", f"done       {done}"]
    total = {outcome: sum(row.count(outcome) for row in rows) for outcome in OUTCOMES}
    lines += [f"{outcome:<10} {count} sizes" for outcome, count in total.items()]
    lines += [
        "",
        "bounded    not equal, but within the bound derived for the plan's rounding",
        "failed     not mapped, compiled or run to its end, for a fault of ours",
        "",
    ]
    for name, reason in reasons.items():
        mine = [row for row in rows if row.hw == name]
        mapped = [row for row in mine if row.count("exact") + row.count("bounded")]
        said = reason or f"{len(mapped)} of {len(mine)} kernels map and run"
        if not reason.startswith("its instructions"):
            lines.append(f"{name:<12} {said}")
    lines += ["", titles(COLUMNS)]
    return [*lines, *map(show, sorted(rows, key=lambda row: row.hw))]


if __name__ == "__main__":
    main()
