"""isamap's scheduler against others, same model, same emulator: `python bench/schedulers.py`.

In: DeepBench shapes, machines, budgets. Out: a text table. Not its job: the other schedulers
(`baselines`, `gemmini_heuristic`).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TextIO, TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "scheduler")]

import click  # noqa: E402
from baselines import (  # noqa: E402
    Candidate,
    Found,
    search_divisors,
    search_greedily,
    search_randomly,
)
from conv_row import ConvShape, conv_kernel  # noqa: E402
from deepbench_rows import read_convs, read_gemms  # noqa: E402
from figures import Limits  # noqa: E402
from gemm_row import gemm_kernel  # noqa: E402
from gemmini_heuristic import Shape, heuristic_program  # noqa: E402
from host import header  # noqa: E402
from measure import time_within  # noqa: E402
from stored import RESULTS, complain, read_stored  # noqa: E402
from table_text import align, decimal, geometric_mean, number, titles  # noqa: E402

from isamap.costmodels import count_work  # noqa: E402
from isamap.hwdesc import Hardware, load_hardware  # noqa: E402
from isamap.ir import Kernel  # noqa: E402
from isamap.mapper import Covering, layout_rank  # noqa: E402
from isamap.program import Program  # noqa: E402
from isamap.resources import find_hardware  # noqa: E402
from isamap.scheduler import Answer, Wishes, find_schedule, lower  # noqa: E402

AnyShape = TypeVar("AnyShape")
OTHERS = ("published", "random", "divisors", "greedy")
COLUMNS = (
    ("machine", 8),
    ("kernel", 34),
    ("ours", 11),
    ("solve s", 8),
    *((name, 10) for name in OTHERS[1:]),
    *((f"{name} s", 10) for name in OTHERS[1:3]),
    ("ours e.", 11),
    *((f"{name} e.", 12) for name in OTHERS),
)
LEGEND = (
    "ours       cycles of the closed form; the others' as multiples of it ('+': stopped by time)",
    "e.         the same for emulated cycles (every call timed); '-': too many calls, or no such"
    " scheduler",
    "published  Gemmini's own tiling heuristic (its C library), matrix products only",
    "random     legal tilings drawn at random over all coverings of the same layout class",
    "divisors   every tiling whose tile sizes divide, orders, levels, slots and what is kept free",
    "greedy     tiles grown one loop at a time while cycles fall",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel on one machine: the scheduler's answer, each other's best, emulated cycles."""

    hw: str
    text: str
    ours: int
    seconds: float
    others: dict[str, Found]
    emulated: dict[str, int | None]  # by scheduler, "ours" too

    def ratio(self, name: str) -> float | None:
        """Cycles of another scheduler per cycle of ours, closed form."""
        found = self.others.get(name)
        return found.cycles / self.ours if found and found.cycles else None

    def emulated_ratio(self, name: str) -> float | None:
        """The same for emulated cycles."""
        theirs, ours = self.emulated.get(name), self.emulated["ours"]
        return theirs / ours if theirs and ours else None


@dataclass(frozen=True, slots=True)
class Budget:
    """What each search may take."""

    samples: int
    divisor_seconds: float
    emulated: Limits


def compare_row(
    hw: Hardware, text: str, kernel: Kernel, published: Program | None, budget: Budget
) -> Row:
    """Run every scheduler on one kernel."""
    answer = find_schedule(kernel, hw, Wishes(time_limit_s=budget.emulated.solver_seconds))
    candidates = same_class(answer, hw)
    others = {
        "random": search_randomly(candidates, hw, samples=budget.samples, seed=0),
        "divisors": search_divisors(candidates, hw, limit_s=budget.divisor_seconds),
        "greedy": search_greedily(candidates, hw),
    }
    programs: dict[str, Program | None] = {"ours": answer.best.program, "published": published}
    for name, found in others.items():
        if found.covering is not None and found.tiling is not None:
            programs[name] = lower(found.covering, found.tiling, hw)
    emulated = {
        name: timing.cycles if (timing := time_within(program, hw, budget.emulated)) else None
        for name, program in programs.items()
        if program is not None
    }
    ours = answer.best.estimate.cycles
    return Row(hw.name, text, ours, answer.seconds, others, emulated)


def same_class(answer: Answer, hw: Hardware) -> tuple[Candidate, ...]:
    """The coverings that isamap looked at and that use buffers no less naturally than its
    choice."""
    limit = _rank(answer.best.covering)
    found = [a.covering for a in answer.alternatives if _rank(a.covering) <= limit]
    return tuple((covering, count_work(covering, hw)) for covering in found)


def _rank(covering: Covering) -> int:
    return sum(layout_rank(plan) for plan in covering.operands)


def subjects(hw: Hardware, every: int) -> list[tuple[str, Kernel, Program | None]]:
    """Every so-manieth different shape of DeepBench."""
    rows: list[tuple[str, Kernel, Program | None]] = []
    for shape in _sample(read_gemms("all"), every):
        published = heuristic_program(shape) if hw.name == "gemmini" else None
        rows.append((_gemm_text(shape), gemm_kernel(shape), published))
    for conv in _sample(read_convs("all"), every):
        rows.append((_conv_text(conv), conv_kernel(conv), None))
    return rows


def _sample(shapes: Sequence[AnyShape], every: int) -> list[AnyShape]:
    return list(dict.fromkeys(shapes))[::every]


def _gemm_text(shape: Shape) -> str:
    turned = f" {'T' if shape.a_t else 'N'}{'T' if shape.b_t else 'N'}"
    return f"gemm {shape.m}x{shape.n}x{shape.k}{turned}"


def _conv_text(conv: ConvShape) -> str:
    window = f"{conv.r}x{conv.s}/{conv.stride}"
    return f"conv {conv.n}x{conv.h}x{conv.w}x{conv.c} by {conv.k} of {window}"


def row_line(row: Row) -> str:
    """One line of the table."""
    marks = {name: "" if found.is_complete else "+" for name, found in row.others.items()}
    cells = [row.hw, row.text[:34], number(row.ours), decimal(row.seconds, 2)]
    cells += [decimal(row.ratio(name), 4) + marks[name] for name in OTHERS[1:]]
    cells += [decimal(row.others[name].seconds, 0) for name in OTHERS[1:3]]
    cells += [number(row.emulated["ours"])]
    cells += [decimal(row.emulated_ratio(name), 4) for name in OTHERS]
    return align(COLUMNS, cells)


def summary_lines(rows: Sequence[Row]) -> list[str]:
    """Who was better how often, under the closed form and emulated."""
    lines = [
        "",
        "scheduler   rows  better than ours  cycles per cycle of ours: geometric mean, least",
    ]
    for title, ratio in (("", Row.ratio), (" emulated", Row.emulated_ratio)):
        for name in OTHERS:
            ratios = [r for row in rows if (r := ratio(row, name)) is not None]
            if ratios:
                lines.append(
                    f"{name + title:<20} {len(ratios):>4} {sum(r < 1 for r in ratios):>6}"
                    f" {geometric_mean(ratios):>10.4f} {min(ratios):>10.4f}"
                )
    seconds = [row.seconds for row in rows]
    lines.append(f"ours: median {median(seconds):.2f} s, most {max(seconds):.2f} s")
    return lines


@click.command()
@click.option("--hw", "machines", multiple=True, default=("gemmini", "vta"))
@click.option("--every", type=int, default=20, help="Only every so-manieth shape.")
@click.option("--samples", type=int, default=10_000, help="Of the random search.")
@click.option("--divisor-seconds", type=float, default=60.0, help="Of the search over divisors.")
@click.option("--emulate", type=float, default=6e6, help="Most calls of a program to emulate.")
@click.option("--time-limit", type=float, default=20.0, help="Solver seconds per row.")
@click.option("--out", type=click.File("w"), default="-", help="Text file to write.")
def main(
    machines: tuple[str, ...],
    every: int,
    samples: int,
    divisor_seconds: float,
    emulate: float,
    time_limit: float,
    out: TextIO,
) -> None:
    """Compare schedulers on a sample of DeepBench."""
    budget = Budget(samples, divisor_seconds, Limits(int(emulate), time_limit))
    names = ("machine", "kernel")
    stored = read_stored(RESULTS / "schedulers.txt", COLUMNS, names, ("ours e.", "ours"))
    rows = []
    print(*header(("numpy", "ortools")), "", *LEGEND, "", titles(COLUMNS), sep="\n", file=out)
    for name in machines:
        hw = load_hardware(find_hardware(name))
        for text, kernel, published in subjects(hw, every):
            rows.append(compare_row(hw, text, kernel, published, budget))
            print(row_line(rows[-1]), file=out, flush=True)
    print(*summary_lines(rows), sep="\n", file=out)
    complain(stored, map(row_line, rows))


if __name__ == "__main__":
    main()
