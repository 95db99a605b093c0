"""One recurrent layer of DeepBench: plan, bounds, emulated time, and Gemmini's heuristic per step.

In: a shape, a machine's file, limits. Out: an RnnResult. Not its job: reading the list of shapes,
printing, cutting programs short (`few_steps`).

Without the input's product (`skip` kernels: cuDNN's CUDNN_SKIP_INPUT, as DeepBench measures them)
a step is one product of the state with the recurrent weights, and the gates.
"""

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from few_steps import time_steps
from figures import Figures, Limits
from gemmini_heuristic import Shape, heuristic_program
from measure import compare, guard

from isamap.costmodels import guards, port_cycles
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, Role, load_kernel, size_bytes
from isamap.mapper import Covering
from isamap.planner import Plan, PlannedTask, Wishes, find_plan
from isamap.scheduler import Schedule

KERNELS = Path(__file__).resolve().parent.parent / "kernels"
WEIGHTS = "U"


class Cell(Enum):
    """Kinds of layers, by their names in rnn.csv."""

    VANILLA = "vanilla"
    LSTM = "lstm"
    GRU = "gru"


SOURCES = {
    Cell.VANILLA: ("rnn.py", "rnn_relu_skip_i8"),
    Cell.LSTM: ("lstm.py", "lstm_skip_i8"),
    Cell.GRU: ("gru.py", "gru_skip_i8"),
}
GATES = {Cell.VANILLA: 1, Cell.LSTM: 4, Cell.GRU: 3}


@dataclass(frozen=True, slots=True)
class RnnShape:
    """One layer of `hidden` units over `steps` time steps."""

    cell: Cell
    hidden: int
    batch: int
    steps: int


@dataclass(frozen=True, slots=True)
class RnnResult(Figures):
    """Figures of one layer: `Figures` of the whole, and of its product alone.

    `gemm_cycles`: of the model, for the recurrent product of all steps, with whatever of the gates
    runs with it on the accelerator; `gemm_bound_cycles`: proven for it, under the model.
    `compute_bound_cycles`, `traffic_bound_cycles`: of the product, whatever the schedule: calls;
    weights that do not fit beside nothing else come again every step. `is_resident`: the weights
    are loaded once. `host_cycles`: of the statements that the host runs; `repack_cycles`: of
    what it lays out anew in between. `emulated_steps`: fewer than the shape's
    where the rest is extrapolated. `baseline_cycles`: the heuristic's product times the steps.
    """

    shape: RnnShape
    host_cycles: int | None = None
    repack_cycles: int | None = None
    emulated_host_cycles: int | None = None
    gemm_cycles: int | None = None
    gemm_bound_cycles: int | None = None
    compute_bound_cycles: int | None = None
    traffic_bound_cycles: int | None = None
    is_resident: bool = False
    on_chip: str = ""
    emulated_steps: int | None = None

    @property
    def accelerator_cycles(self) -> int | None:
        """Emulated cycles in which the host did not work."""
        if self.emulated_cycles is None or self.emulated_host_cycles is None:
            return None
        return self.emulated_cycles - self.emulated_host_cycles

    @property
    def host_share(self) -> float | None:
        """Share of the emulated cycles in which the host works."""
        if self.emulated_host_cycles is None or not self.emulated_cycles:
            return None
        return self.emulated_host_cycles / self.emulated_cycles

    @property
    def limit(self) -> str:
        """What takes longest at least."""
        bounds = {
            "host": self.host_cycles or 0,
            "calls": self.compute_bound_cycles or 0,
            "bytes": self.traffic_bound_cycles or 0,
        }
        return max(bounds, key=lambda name: bounds[name]) if self.status else ""

    @property
    def gemm_gap(self) -> float | None:
        """How far the product's schedule may be from the best, as a share of it."""
        if self.gemm_cycles is None or not self.gemm_bound_cycles:
            return None
        return self.gemm_cycles / self.gemm_bound_cycles - 1

    @property
    def gemm_share(self) -> float | None:
        """The larger bound of the product per cycle that it takes under the model."""
        bounds = (self.compute_bound_cycles, self.traffic_bound_cycles)
        if not self.gemm_cycles or None in bounds:
            return None
        return max(bound for bound in bounds if bound is not None) / self.gemm_cycles

    @property
    def gain(self) -> float | None:
        """Emulated cycles of the baseline's products per cycle without the host."""
        if not self.accelerator_cycles or self.baseline_cycles is None:
            return None
        return self.baseline_cycles / self.accelerator_cycles


def solve_rnn(shape: RnnShape, hw_file: str, limits: Limits) -> RnnResult:
    """Plan, emulate and compare; whatever goes wrong becomes the result's `error`."""
    return guard(RnnResult(shape), hw_file, limits, (_plan, _compare))


def rnn_kernel(shape: RnnShape) -> Kernel:
    """The layer without its input's product."""
    file, name = SOURCES[shape.cell]
    sizes = {"steps": shape.steps, "batch": shape.batch, "hidden": shape.hidden}
    return load_kernel(KERNELS / file, sizes, name)


def _plan(row: RnnResult, hw: Hardware, limits: Limits) -> RnnResult:
    plan = find_plan(rnn_kernel(row.shape), hw, Wishes(time_limit_s=limits.solver_seconds))
    products = _products(plan)
    product = products[-1]  # of parts, the one that streams
    row = replace(
        row,
        status=plan.status.value,
        analytical_cycles=plan.cycles,
        bound_cycles=plan.bound_cycles,
        solver_seconds=plan.seconds,
        host_cycles=sum(task.cycles for task in plan.tasks if task.on_host),
        repack_cycles=plan.repack_cycles,
        gemm_cycles=sum(task.cycles for task in products),
        on_chip=_where(product),
    )
    if not any(task.on_host for task in products):
        row = _bound(row, products, hw)
    held = product.task.held[0] if product.task.held else ""
    time = time_steps(plan.program, f"{held}_tile", row.shape.steps, hw, limits.emulated_calls)
    if time is None:
        return row
    return replace(
        row,
        emulated_cycles=time.cycles,
        emulated_host_cycles=time.host_cycles,
        emulated_steps=time.steps,
    )


def _products(plan: Plan) -> list[PlannedTask]:
    """The tasks that multiply by the recurrent weights: one, or a part that stays on chip and one
    that streams."""
    return [task for task in plan.tasks if any(b.name == WEIGHTS for b in task.task.kernel.buffers)]


def _where(product: PlannedTask) -> str:
    if product.on_host:
        return "host"
    others = len(product.task.parts) - 1
    return f"gemm+{others}" if others > 0 else "gemm"


def _bound(row: RnnResult, products: list[PlannedTask], hw: Hardware) -> RnnResult:
    """Bounds of the product, all parts of it, and whether its weights stay."""
    schedules = [product.best for product in products]
    return replace(
        row,
        gemm_bound_cycles=sum(
            product.answer.bound_cycles for product in products if product.answer
        ),
        compute_bound_cycles=sum(schedule.work.compute_cycles for schedule in schedules),
        traffic_bound_cycles=_traffic_cycles(row.shape, schedules[-1].covering, hw),
        is_resident=all(map(_keeps_weights, schedules)) or row.shape.steps == 1,
        is_natural=all(schedule.is_natural for schedule in schedules),
    )


def _keeps_weights(schedule: Schedule) -> bool:
    covering, tiling = schedule.covering, schedule.tiling
    weights = next(plan for plan in covering.operands if plan.inlet_buffer == WEIGHTS)
    outermost = len(weights.residences) - 1
    stay = next(s for s in tiling.stays if s.operand == weights.name and s.residence == outermost)
    return set(covering.held) <= set(guards(covering, tiling, stay).outer)


def _traffic_cycles(shape: RnnShape, covering: Covering, hw: Hardware) -> int:
    """Least cycles of the external memory's ports for the product over all steps.

    The state and the sums pass once a step; of the weights, what the memories on their way cannot
    hold comes again every step.
    """
    read = written = 0
    for plan in covering.operands:
        if plan.inlet_buffer == WEIGHTS:
            size = size_bytes(plan.dtype) * GATES[shape.cell] * shape.hidden**2
            room = sum(hw.memory(r.memory).size_bytes for r in plan.residences)
            read += size + (shape.steps - 1) * max(0, size - room)
            continue
        rows = 1 if plan.role is Role.IN else GATES[shape.cell]
        elements = shape.steps * shape.batch * rows * shape.hidden
        if plan.inlet is not None:
            read += elements * size_bytes(plan.inlet.layout.dtype)
        if plan.outlet is not None:
            written += elements * size_bytes(plan.outlet.layout.dtype)
    return max(cycles for _, cycles in port_cycles(hw, read, written))


def _compare(row: RnnResult, hw: Hardware, limits: Limits) -> RnnResult:
    """Gemmini's heuristic for the product of a step, times the steps."""
    if hw.name != "gemmini":
        return row
    shape = row.shape
    step = Shape(shape.batch, GATES[shape.cell] * shape.hidden, shape.hidden)
    return compare(row, heuristic_program(step), hw, limits, times=shape.steps)
