"""Recurrent weights that stay: `python bench/gru_steps.py --hw trainium --first 3 --every 4`.

In: DeepBench's rows of GRUs, a machine. Out: a text table: whole layers, emulated, against
the product of every step by the maker's published nest (`published_nests`), which keeps nothing.
Not its job: rows on gemmini and vta (`deepbench`).
"""

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import click  # noqa: E402
from deepbench_rows import SUITES, read_rnns  # noqa: E402
from few_steps import time_steps  # noqa: E402
from host import header  # noqa: E402
from published_nests import Product, nki_program, tpu_program  # noqa: E402
from rnn_row import KERNELS, WEIGHTS, Cell, RnnShape  # noqa: E402
from stored import RESULTS, complain, read_stored  # noqa: E402
from table_text import align, decimal, geometric_mean, number, titles  # noqa: E402

from isamap.costmodels import guards  # noqa: E402
from isamap.emulator import time_program  # noqa: E402
from isamap.hwdesc import Hardware, load_hardware  # noqa: E402
from isamap.ir import Kernel, load_kernel, parse_semantics  # noqa: E402
from isamap.planner import Plan, Wishes, find_plan  # noqa: E402
from isamap.program import Program  # noqa: E402
from isamap.resources import find_hardware  # noqa: E402
from isamap.rewrites import REWRITES  # noqa: E402

PRODUCT = """
h, U, R = In({factor}, {m}, {k}), In({factor}, {k}, {n}), Out({sum}, {m}, {n})
for z, j, p in grid({m}, {n}, {k}):
  R[z, j] += {sum}(h[z, p]) * {sum}(U[p, j])
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """The layer's kernel, types of factors and sums, the maker's nest."""

    kernel: str
    factor: str
    sum: str
    nest: Callable[[Product], Program]


MACHINES = {
    "trainium": Machine("gru_skip_bf16", "bf16", "f32", nki_program),
    "tpu_v1": Machine("gru_skip_i8", "i8", "i32", tpu_program),
}
LOOP = "t_2_tile"  # over time steps
MOST_CALLS = 30_000_000

LEGEND = (
    "layers     without the input's product, as DeepBench measures them; gates and state included",
    "plan       the kernel as it is and in single operations, each by find_plan; fewest cycles",
    "cycles     of the closed form, each task as early as units and data let it begin",
    "bound      of the whole: busiest unit, port, or memory that blocks pass; no program of these"
    " coverings is faster",
    "emulated   the whole program; all steps, or some and the rest by rule (few_steps.py)",
    "share      bound / emulated",
    "weights    'kept': loaded once for all steps, '+': a part of them; 'again': in every step",
    "state      the memory where it lies between steps",
    "baseline   emulated product of one step by the maker's published nest (published_nests.py),"
    " times the steps; no gates",
    "gain       baseline / emulated",
    "alone      the same of one step's product by itself: the nest / our schedule, both emulated",
)
COLUMNS = (
    ("hidden", 6), ("batch", 5), ("steps", 5), ("status", 8), ("cycles", 11), ("bound", 11),
    ("emulated", 11), ("share", 6), ("weights", 7), ("state", 6), ("baseline", 11), ("gain", 6),
    ("alone", 6), ("limit", 0),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One layer: its plan, emulated cycles of all steps (None: too many calls), the baseline's.

    `step_cycles`: of one step's product alone, by our schedule and by the maker's nest.
    """

    shape: RnnShape
    plan: Plan
    emulated_cycles: int | None
    step_cycles: tuple[int, int]

    @property
    def baseline_cycles(self) -> int:
        """The maker's nest in every step."""
        return self.step_cycles[1] * self.shape.steps

    @property
    def share(self) -> float | None:
        """Of the emulated cycles, the bound."""
        return self.plan.bound_cycles / self.emulated_cycles if self.emulated_cycles else None

    @property
    def gain(self) -> float | None:
        """Over the baseline."""
        return self.baseline_cycles / self.emulated_cycles if self.emulated_cycles else None

    @property
    def weights(self) -> str:
        """Which products keep them over the steps."""
        kept = [_keeps_weights(self.plan, task.number) for task in _products(self.plan)]
        return "kept" if all(kept) else "+" if any(kept) else "again"

    @property
    def state(self) -> str:
        """Where tasks find it."""
        ends = (end for p in self.plan.tasks for name, end in p.piece.homes.items()
                if name.startswith("h_state"))  # fmt: skip
        return next((str(end.home) for end in ends), "")


def _products(plan: Plan) -> list:
    return [p.task for p in plan.tasks if any(b.name == WEIGHTS for b in p.task.kernel.buffers)]


def _keeps_weights(plan: Plan, number: int) -> bool:
    planned = next(p for p in plan.tasks if p.task.number == number)
    if planned.on_host or not planned.task.held:
        return not planned.on_host
    covering, tiling = planned.best.covering, planned.best.tiling
    weights = next(plan for plan in covering.operands if plan.inlet_buffer == WEIGHTS)
    last = len(weights.residences) - 1
    stay = next(s for s in tiling.stays if (s.operand, s.residence) == (weights.name, last))
    return set(covering.held) <= set(guards(covering, tiling, stay).outer)


def forms(kernel: Kernel) -> list[Kernel]:
    """The kernel, and in single operations."""
    (row,) = (row for row in REWRITES if row.name == "single_operations")
    return [kernel, *(form for _, form in row.sites(kernel))]


def measure(shape: RnnShape, hw: Hardware, time_limit_s: float) -> Row:
    """Plan the layer, emulate it and the baseline."""
    machine = MACHINES[hw.name]
    sizes = {"steps": shape.steps, "batch": shape.batch, "hidden": shape.hidden}
    kernel = load_kernel(KERNELS / "gru.py", sizes, machine.kernel)
    wishes = Wishes(time_limit_s=time_limit_s, may_reassociate=True)
    plans = [find_plan(form, hw, wishes) for form in forms(kernel)]
    best = min(plans, key=lambda plan: plan.cycles)
    time = time_steps(best.program, LOOP, shape.steps, hw, MOST_CALLS)
    product = Product(shape.batch, 3 * shape.hidden, shape.hidden)
    return Row(shape, best, time.cycles if time else None, time_product(product, hw, wishes))


@cache  # layers that differ in their steps alone have one
def time_product(product: Product, hw: Hardware, wishes: Wishes) -> tuple[int, int]:
    """Emulated cycles of a product by itself: as we plan it, and by the maker's nest."""
    machine = MACHINES[hw.name]
    text = PRODUCT.format(factor=machine.factor, sum=machine.sum, **asdict(product))
    ours = find_plan(parse_semantics(text, "product"), hw, wishes).program
    mine, theirs = (time_program(one, hw).cycles for one in (ours, machine.nest(product)))
    return mine, theirs


def row_line(row: Row) -> str:
    """One row of the table."""
    shape, plan = row.shape, row.plan
    return align(
        COLUMNS,
        [
            *map(str, (shape.hidden, shape.batch, shape.steps)),
            plan.status.value,
            number(plan.cycles),
            number(plan.bound_cycles),
            number(row.emulated_cycles),
            decimal(row.share, 3),
            row.weights,
            row.state or "-",
            number(row.baseline_cycles),
            decimal(row.gain, 3),
            decimal(row.step_cycles[1] / row.step_cycles[0], 3),
            plan.bound_limit,
        ],
    )


@click.command()
@click.option("--hw", type=click.Choice(tuple(MACHINES)), default="trainium")
@click.option("--suite", type=click.Choice(SUITES), default="inference_server")
@click.option("--every", type=int, default=4, help="Only every so-manieth row.")
@click.option("--first", type=int, default=0, help="From this row on.")
@click.option("--hidden", multiple=True, type=int, help="Only rows of so many units.")
@click.option("--time-limit", type=float, default=600.0, help="Solver seconds per form of a row.")
@click.option("--load", multiple=True, help="A line for the header: what else was running.")
@click.option("--out", type=click.File("w"), default="-", help="Text file to write.")
def main(
    hw: str,
    suite: str,
    every: int,
    first: int,
    hidden: tuple[int, ...],
    time_limit: float,
    load: tuple[str, ...],
    out: TextIO,
) -> None:
    """GRU layers of a suite of DeepBench on a machine, and what keeping their weights gains."""
    machine = load_hardware(find_hardware(hw))
    stored = read_stored(
        RESULTS / f"gru-{hw}.txt", COLUMNS, ("hidden", "batch", "steps"), ("emulated", "cycles")
    )
    rows = []
    loads = [f"load       {line}" for line in load]
    print(*header(("numpy", "ortools")), *loads, "", *LEGEND, "", titles(COLUMNS),
          sep="\n", file=out, flush=True)  # fmt: skip
    for shape in read_rnns(suite, (Cell.GRU,))[first::every]:
        if not hidden or shape.hidden in hidden:
            rows.append(measure(shape, machine, time_limit))
            print(row_line(rows[-1]), file=out, flush=True)
    for label in ("kept", "+", "again"):
        gains = [row.gain for row in rows if row.weights == label and row.gain is not None]
        if gains:
            print(f"\ngain, weights {label:<5} {geometric_mean(gains):.3f}"
                  f" (geometric mean of {len(gains)} rows)", end="", file=out)  # fmt: skip
    print(file=out)
    complain(stored, map(row_line, rows))


if __name__ == "__main__":
    main()
