"""How far is the closed form from the emulator? `python bench/accuracy.py`.

In: nothing but the sample below. Out: a text table in `bench/results/accuracy.txt`: every row, the
worst first, median and worst per kind and of all. Not its job: real machines (`cpu.py`), DeepBench
(`deepbench.py`), machines with caches, whose refills the emulator does not count.

A row is a kernel at small or middle sizes on a machine that computes most of it: where latencies,
first and last tiles matter most. Kernels of several statements take several tasks.
"""

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from host import header  # noqa: E402
from stored import complain, read_stored  # noqa: E402
from table_text import align, number, titles  # noqa: E402

import isamap  # noqa: E402
from isamap.compile import PlanResult, Result  # noqa: E402
from isamap.errors import IsamapError  # noqa: E402

RESULT = ROOT / "bench" / "results" / "accuracy.txt"
BARS = (0.03, 0.10)  # median and worst


@dataclass(frozen=True, slots=True)
class Subject:
    """A row to measure; `kernel` as on the command line, `sizes` as (name, value)."""

    kind: str
    hw: str
    kernel: str
    sizes: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """Kernel and sizes for people."""
        return " ".join([self.kernel, *(f"{name}={value}" for name, value in self.sizes)])


@dataclass(frozen=True, slots=True)
class Row:
    """What both say; `num_tasks` includes those on the host, `host_share` is of the cycles."""

    subject: Subject
    analytical: int = 0
    emulated: int = 0
    num_tasks: int = 1
    host_share: float = 0.0
    failure: str = ""

    @property
    def error(self) -> float:
        """Analytical against emulated; below 0: too optimistic."""
        return self.analytical / self.emulated - 1


def _products(hw: str, kernel: str, *sizes: str, kind: str = "gemm") -> list[Subject]:
    """Rows of m x n x k."""
    rows = []
    for text in sizes:
        m, n, k = map(int, text.split("x"))
        rows.append(Subject(kind, hw, kernel, (("m", m), ("n", n), ("k", k))))
    return rows


def _rows(kind: str, kernel: str, machines: str, **sizes: int) -> list[Subject]:
    """One kernel on several machines."""
    return [Subject(kind, hw, kernel, tuple(sizes.items())) for hw in machines.split()]


SAMPLE: tuple[Subject, ...] = (
    *_products("gemmini", "gemm", "16x16x16", "64x64x64", "200x130x300", "512x256x64"),
    *_products("vta", "gemm", "16x16x16", "64x64x64", "200x130x300", "512x256x64"),
    *_products("gemmini_os", "gemm", "64x64x64", "200x130x300"),
    *_products("outer", "gemm", "64x64x64", "200x130x300"),
    *_products("vecdot", "gemm", "64x64x64"),
    *_products("fused_npu", "gemm", "64x64x64"),
    *_products("gemv_engine", "gemm", "64x64x64"),
    *_products("tpu_v1", "gemm", "300x200x300", "1000x768x768"),
    *_products("trainium", "gemm:gemm_bf16", "64x64x64", "300x200x1000", "512x512x512"),
    *_products("wormhole", "gemm:gemm_bf16", "64x64x64", "256x512x256"),
    *_products("ascend", "gemm", "200x130x300", "256x256x512", "512x256x64"),
    *_products("aie_ml", "gemm", "64x64x64", "200x130x300", "256x256x256"),
    *_products("aie_ml", "gemm:gemm_bf16", "64x64x64"),
    *_rows("gemm", "batched_gemm", "gemmini vecdot"),
    *_rows("gemm", "gemv", "gemv_engine", m=256, k=256),
    *_rows("conv", "conv2d", "gemmini vta conv_engine fused_npu outer aie_ml"),
    *_rows("conv", "conv2d", "ascend", h=28, w=28, c=64, k=64),
    *_rows("conv", "conv2d", "gemmini vta", h=28, w=28, c=32, k=64, stride=2),
    *_rows("conv", "conv2d:conv2d_bf16", "trainium", h=28, w=28, c=64, k=128),
    *_rows("rnn", "rnn:rnn_i8", "gemmini vta"),
    *_rows("rnn", "lstm:lstm_i8", "gemmini vta"),
    *_rows("rnn", "gru:gru_i8", "gemmini"),
    *_rows("rnn", "gru:gru_skip_i8", "gemmini vta", steps=4, batch=32, hidden=256),
    *_rows("rnn", "rnn:rnn_relu_skip", "trainium", steps=4, batch=32, hidden=256),
    *_rows("rnn", "lstm:lstm_skip", "trainium", steps=4, batch=32, hidden=256),
    *_rows("rnn", "gru:gru_skip", "trainium", steps=4, batch=32, hidden=256),
    *_rows("epilogue", "gemm_epilogue", "gemmini vta fused_npu tpu_v1 aie_ml"),
    *_rows("epilogue", "gemm_epilogue:gemm_requantise_scaled", "gemmini"),
    *_rows("epilogue", "conv2d_epilogue", "vta fused_npu"),
    *_rows("epilogue", "conv2d_epilogue:conv2d_requantise_scaled", "gemmini"),
    *_rows("epilogue", "mlp", "vta fused_npu tpu_v1 aie_ml ascend"),
    *_rows("epilogue", "mlp:mlp_scaled", "gemmini"),
    *_rows("epilogue", "pooling", "vta aie_ml"),
    *_rows("depthwise", "depthwise_conv", "gemmini vta outer aie_ml"),
    *_rows("depthwise", "depthwise_conv", "gemmini vta", h=28, w=28, c=48, stride=2),
    *_rows("depthwise", "separable_conv", "vta"),
    *_rows("attention", "attention", "trainium", b=2, m=128, n=128, d=64, e=64),
    *_rows("attention", "attention", "trainium", b=4, m=256, n=256, d=64, e=64),
    *_rows("attention", "attention", "wormhole", b=1, m=64, n=64, d=32, e=32),
    *_products("mesh", "gemm", "16x16x16", "64x64x64", "200x130x300", "256x256x256", kind="mesh"),
    *_rows("mesh", "conv2d", "mesh"),
    *_rows("mesh", "conv2d", "mesh", h=28, w=28, c=32, k=64),
    *_rows("mesh", "depthwise_conv", "mesh"),
    *_rows("mesh", "batched_gemm", "mesh"),
    *_rows("mesh", "gemm_epilogue:gemm_requantise_scaled", "mesh", m=128, n=96, k=64),
    *_products("opentpu", "gemm:gemm_i8", "16x16x16", "64x64x64", "200x130x300", kind="exposed"),
    *_rows("exposed", "wrapped:gemm_relu_wrapped", "opentpu", m=300, n=64, k=96),
    *_rows("exposed", "wrapped:conv2d_wrapped", "opentpu"),
    *_rows("exposed", "wrapped:separable_conv_wrapped", "opentpu"),
)


def measure(task: tuple[Subject, float]) -> Row:
    """Map one kernel and emulate every call; whatever goes wrong becomes the row's `failure`."""
    subject, limit_s = task
    sizes = dict(subject.sizes)
    try:
        found = isamap.map(
            subject.kernel, subject.hw, sizes=sizes, verify="off",
            may_reassociate=True, time_limit_s=limit_s,
        )  # fmt: skip
    except IsamapError as error:
        return Row(subject, failure=" ".join(str(error).split())[:200])
    if found.timing is None:
        return Row(subject, failure=f"the emulator rejects it: {found.verification.failure[:200]}")
    return _judge(subject, found, found.timing.cycles)


def _judge(subject: Subject, found: Result | PlanResult, emulated: int) -> Row:
    if isinstance(found, Result):
        return Row(subject, found.schedule.estimate.cycles, emulated)
    plan = found.plan
    on_host = sum(task.cycles for task in plan.tasks if task.on_host) + plan.repack_cycles
    return Row(subject, plan.cycles, emulated, len(plan.tasks), on_host / plan.cycles)


COLUMNS = (
    ("kind", 9), ("machine", 11), ("kernel", 54), ("tasks", 5), ("host %", 6),
    ("analytical", 10), ("emulated", 10), ("error %", 8),
)  # fmt: skip


def report(rows: Sequence[Row]) -> list[str]:
    """The table's lines after its header."""
    good = [row for row in rows if not row.failure]
    lines = [
        f"rows       {len(rows)}, {len(rows) - len(good)} failed; floats may be added in any order",
        f"bars       median at most {BARS[0]:.0%}, worst at most {BARS[1]:.0%}",
        "error      analytical (the closed form that the solver minimises; of several tasks, what",
        "           the plan takes, each as early as units and data let it begin) against emulated",
        "           (every call); below 0: too optimistic",
        "host %     share of the analytical cycles that the host takes, exact by its rule",
        "",
        f"{'':<11} {'rows':>4} {'median':>8} {'worst':>8}",
    ]
    kinds = dict.fromkeys(row.subject.kind for row in good)
    for name in ("all", *kinds):
        of_kind = [row for row in good if name in ("all", row.subject.kind)]
        lines.append(_summary(name, of_kind))
    lines.append(_summary("no host", [row for row in good if not row.host_share]))
    lines += ["", titles(COLUMNS)]
    lines += [_line(row) for row in sorted(good, key=lambda row: -abs(row.error))]
    lines += [f"FAILED {r.subject.hw} {r.subject.text}: {r.failure}" for r in rows if r.failure]
    return lines


def _summary(name: str, rows: Sequence[Row]) -> str:
    if not rows:
        return f"{name:<11}    0"
    errors = [row.error for row in rows]
    middle, worst = median(map(abs, errors)), max(errors, key=abs)
    return f"{name:<11} {len(rows):>4} {middle:>8.2%} {worst:>+8.2%}"


def _line(row: Row) -> str:
    subject = row.subject
    if row.failure:
        unknown = [number(None)] * (len(COLUMNS) - 3)
        return align(COLUMNS, [subject.kind, subject.hw, subject.text, *unknown])
    return align(COLUMNS, [
        subject.kind, subject.hw, subject.text, number(row.num_tasks), f"{row.host_share:.0%}",
        number(row.analytical), number(row.emulated), f"{100 * row.error:+.2f}",
    ])  # fmt: skip


def main() -> None:
    """Measure the sample and write the table, where no row is behind the stored one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", help="only rows of this kind; nothing is written")
    parser.add_argument("--hw", help="only rows on this machine; nothing is written")
    parser.add_argument("--time-limit", type=float, default=20.0, help="solver seconds per row")
    parser.add_argument("--jobs", type=int, default=1)
    wanted = parser.parse_args()
    subjects = [
        subject
        for subject in SAMPLE
        if wanted.kind in (None, subject.kind) and wanted.hw in (None, subject.hw)
    ]
    names = ("kind", "machine", "kernel")
    stored = read_stored(RESULT, COLUMNS, names, ("emulated", "analytical"))
    rows = []
    with ProcessPoolExecutor(wanted.jobs) as pool:
        for row in pool.map(measure, [(subject, wanted.time_limit) for subject in subjects]):
            rows.append(row)
            print(row.failure or _line(row), flush=True)
    lines = [*header(("ortools", "numpy")), *report(rows)]
    print("", *lines, sep="\n")
    complain(stored, [_line(row) for row in rows])
    if len(subjects) == len(SAMPLE):  # nor is what fell behind stored: the next run would pass
        RESULT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
