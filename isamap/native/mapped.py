"""Map a kernel for its program alone.

In: a kernel, a machine, options of `map`. Out: the program and where it came from. Not its job:
mapping itself (`compile`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

from isamap.compile import PlanResult, Result, build_kernel, load_machine
from isamap.compile import map as map_kernel
from isamap.costmodels import CostModel
from isamap.errors import KernelError
from isamap.hwdesc import Hardware, with_host_calls
from isamap.ir import Kernel, Role
from isamap.program import Program, in_use_order
from isamap.scheduler import Contender

from .threads import on_threads


@dataclass(frozen=True, slots=True)
class Mapped:
    """A kernel's program and where it came from; per task that a cost model compared schedules
    of, those."""

    kernel: Kernel
    hardware: Hardware
    program: Program
    cycles: int
    compared: tuple[tuple[Contender, ...], ...] = ()

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
    cost: str | CostModel = "analytical",
    ahead: tuple[str, ...] = (),
    threads: int = 1,
) -> Mapped:
    """`ahead`: inputs that are packed before the program runs, into the order of their use.

    Raises:
        KernelError: `ahead` names no input.
    """
    machine = on_threads(load_machine(hw), threads)
    if ahead:
        _check_inputs(build_kernel(kernel, sizes or {}, name)[0], ahead)
    result = map_kernel(
        kernel, machine, sizes=sizes, name=name, layouts=layouts, time_limit_s=time_limit_s,
        verify="off", may_reassociate=may_reassociate, cost=cost,
    )  # fmt: skip
    cycles = result.timing.cycles if result.timing is not None else 0
    match result:
        case Result():
            program, answers = result.schedule.program, [result.answer]
        case PlanResult():
            program = result.plan.program
            answers = [task.answer for task in result.plan.tasks if task.answer is not None]
    compared = tuple(answer.contenders for answer in answers if answer.contenders)
    machine = with_host_calls(machine, program.host_calls)
    program = in_use_order(program, machine, ahead)
    return Mapped(result.kernel, result.hardware, program, cycles, compared)


def _check_inputs(kernel: Kernel, ahead: tuple[str, ...]) -> None:
    inputs = [buffer.name for buffer in kernel.buffers if buffer.role is Role.IN]
    for name in ahead:
        if name not in inputs:
            raise KernelError(
                f"{kernel.name} has no input {name!r} that could be packed ahead",
                hint=f"its inputs are {', '.join(inputs)}",
            )
