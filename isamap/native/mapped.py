"""Map a kernel for its program alone.

In: a kernel, a machine, options of `map`. Out: the program and where it came from. Not its job:
mapping itself (`compile`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

from isamap.compile import build_kernel, load_machine
from isamap.emulator import check_program
from isamap.errors import KernelError
from isamap.hwdesc import Hardware, with_host_calls
from isamap.ir import Kernel, Role
from isamap.planner import Plan, search
from isamap.program import Program, in_use_order
from isamap.scheduler import Contender, Wishes, to_reorder
from isamap.verify import KernelFile

from .threads import on_threads


@dataclass(frozen=True, slots=True)
class Mapped:
    """A kernel's program and where it came from; per task that a cost model compared schedules
    of, those. `cycles`: under the closed form. `plan`: of several tasks, whose program it is.
    `ahead`: inputs that are packed before it runs. `file`: None for a kernel given as a value."""

    kernel: Kernel
    hardware: Hardware
    program: Program
    cycles: int
    compared: tuple[tuple[Contender, ...], ...] = ()
    plan: Plan | None = None
    ahead: tuple[str, ...] = ()
    file: KernelFile | None = None

    @property
    def given(self) -> frozenset[str]:
        """Buffers that a caller fills."""
        return frozenset(b.name for b in self.kernel.buffers if b.role.is_given)


def map_program(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    wishes: Wishes,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    ahead: Sequence[str] = (),
    threads: int = 1,
) -> Mapped:
    """`ahead`: inputs that are packed before the program runs, into the order of their use, where
    that is faster.

    Raises:
        KernelError: `ahead` names no input.
        ProgramError: the program breaks a rule that shows without running it.
    """
    machine = on_threads(load_machine(hw), threads)
    built, file = build_kernel(kernel, sizes or {}, name, wishes.may_reassociate)
    if ahead:
        _check_inputs(built, ahead)
    found = search(built, machine, replace(wishes, ahead=tuple(ahead)))
    calling = with_host_calls(machine, found.program.host_calls)
    check_program(found.program, calling)  # running it takes minutes where there are many calls
    used = to_reorder([answer.best.covering for answer in found.answers], ahead)
    program = in_use_order(found.program, calling, used)
    compared = tuple(answer.contenders for answer in found.answers if answer.contenders)
    plan = found if isinstance(found, Plan) else None
    return Mapped(built, machine, program, found.cycles, compared, plan, tuple(ahead), file)


def _check_inputs(kernel: Kernel, ahead: Sequence[str]) -> None:
    if isinstance(ahead, str):
        raise KernelError(f"ahead={ahead!r}, expected several names", hint=f"[{ahead!r}]")
    inputs = [buffer.name for buffer in kernel.buffers if buffer.role is Role.IN]
    for name in ahead:
        if name not in inputs:
            raise KernelError(
                f"{kernel.name} has no input {name!r} that could be packed ahead",
                hint=f"its inputs are {', '.join(inputs)}",
            )
