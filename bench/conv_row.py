"""One convolution of DeepBench: schedule, bounds, emulated time.

In: a shape, a machine's file, limits. Out: a ConvResult. Not its job: reading the list of shapes,
printing.
"""

from dataclasses import dataclass, replace
from math import prod
from pathlib import Path

from figures import Figures, Limits
from measure import bound, emulate, guard, schedule

from isamap.hwdesc import Hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import candidates

KERNELS = Path(__file__).resolve().parent.parent / "kernels" / "conv2d.py"


@dataclass(frozen=True, slots=True)
class ConvShape:
    """`n` images of h x w with c channels, k filters of r x s; the same padding and stride along
    both axes, as all of DeepBench's rows have."""

    w: int
    h: int
    c: int
    n: int
    k: int
    s: int
    r: int
    pad: int
    stride: int


@dataclass(frozen=True, slots=True)
class ConvResult(Figures):
    """Figures of one convolution.

    `full_rate_cycles`: what its products take where every call is full.
    """

    shape: ConvShape
    full_rate_cycles: int | None = None

    @property
    def use(self) -> float | None:
        """Products of the kernel per product that the unit could have done in the time."""
        if self.full_rate_cycles is None or not self.cycles:
            return None
        return self.full_rate_cycles / self.cycles


def solve_conv(shape: ConvShape, hw_file: str, limits: Limits) -> ConvResult:
    """Schedule, emulate and bound; whatever goes wrong becomes the result's `error`."""
    return guard(ConvResult(shape), hw_file, limits, (_schedule, _bound))


def conv_kernel(shape: ConvShape) -> Kernel:
    """The forward pass, images and weights channels last."""
    names = ("n", "h", "w", "c", "k", "r", "s", "stride", "pad")
    return load_kernel(KERNELS, {name: getattr(shape, name) for name in names}, "conv2d")


def _schedule(row: ConvResult, hw: Hardware, limits: Limits) -> ConvResult:
    kernel = conv_kernel(row.shape)
    row, program = schedule(row, kernel, hw, limits)
    row = replace(row, full_rate_cycles=full_rate_cycles(kernel, hw))
    return emulate(row, program, hw, limits)


def _bound(row: ConvResult, hw: Hardware, limits: Limits) -> ConvResult:
    return bound(row, conv_kernel(row.shape), hw)


def full_rate_cycles(kernel: Kernel, hw: Hardware) -> int:
    """Cycles of the kernel's iterations at the best rate of any instruction that matches it."""
    matching = {c.match.instruction.name for c in candidates(kernel, 0, hw, [])}
    rates = []
    for instruction in (hw.instruction(name) for name in sorted(matching)):
        extents = {name: rule.maximum for name, rule in instruction.extents}
        extents |= {repeat.name: 1 for repeat in instruction.repeats}
        rates.append(prod(extents.values()) / instruction.issue_cycles.evaluate(extents))
    count = prod(loop.extent for loop in kernel.statements[0].loops)
    return round(count / max(rates))
