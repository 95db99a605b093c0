"""Map a kernel for its program alone.

In: a kernel, a machine, options of `map`. Out: the program and where it came from. Not its job:
mapping itself (`compile`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

from isamap.compile import PlanResult, Result
from isamap.compile import map as map_kernel
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, Role
from isamap.program import Program


@dataclass(frozen=True, slots=True)
class Mapped:
    """A kernel's program and where it came from."""

    kernel: Kernel
    hardware: Hardware
    program: Program
    cycles: int

    @property
    def given(self) -> frozenset[str]:
        """Buffers that a caller fills."""
        kept = (Role.IN, Role.INOUT)
        return frozenset(b.name for b in self.kernel.buffers if b.role in kept)


def map_program(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    sizes: Mapping[str, int] | None,
    name: str | None,
    layouts: str,
    time_limit_s: float,
    may_reassociate: bool,
) -> Mapped:
    result = map_kernel(
        kernel, hw, sizes=sizes, name=name, layouts=layouts, time_limit_s=time_limit_s,
        verify="off", may_reassociate=may_reassociate,
    )  # fmt: skip
    cycles = result.timing.cycles if result.timing is not None else 0
    match result:
        case Result():
            return Mapped(result.kernel, result.hardware, result.schedule.program, cycles)
        case PlanResult():
            return Mapped(result.kernel, result.hardware, result.plan.program, cycles)
