"""Map a kernel for its program alone.

In: a kernel, a machine, options of `map`. Out: the program and where it came from. Not its job:
mapping itself (`compile`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike

from isamap.compile import PlanResult, Result, build_kernel, load_machine
from isamap.compile import map as map_kernel
from isamap.costmodels import CostModel
from isamap.errors import KernelError, ProgramError
from isamap.hwdesc import Hardware, with_host_calls
from isamap.ir import Kernel, Role
from isamap.program import Issue, Node, Program, in_use_order
from isamap.scheduler import Answer, Contender

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
        ProgramError: the emulator rejects the program, or its check was interrupted.
    """
    machine = on_threads(load_machine(hw), threads)
    if ahead:
        _check_inputs(build_kernel(kernel, sizes or {}, name)[0], ahead)
    program, result, answers = _search(
        kernel, machine, sizes, name, layouts, time_limit_s, may_reassociate, cost
    )
    if any(_is_copied(program, buffer, machine) for buffer in ahead):
        bare = _without_rooms(machine)  # what lies in the order of its use needs no copy
        program, result, answers = _search(
            kernel, bare, sizes, name, layouts, time_limit_s, may_reassociate, cost
        )
    if result.timing is None:
        raise ProgramError(
            f"no program to build: {result.verification.failure}",
            hint="`isamap map` with the same arguments shows the schedule",
        )
    compared = tuple(answer.contenders for answer in answers if answer.contenders)
    machine = with_host_calls(machine, program.host_calls)
    program = in_use_order(program, machine, ahead)
    return Mapped(result.kernel, result.hardware, program, result.timing.cycles, compared)


def _search(
    kernel: str | PathLike[str] | Kernel,
    hw: Hardware,
    sizes: Mapping[str, int] | None,
    name: str | None,
    layouts: str,
    time_limit_s: float,
    may_reassociate: bool,
    cost: str | CostModel,
) -> tuple[Program, Result | PlanResult, list[Answer]]:
    """The program, and the answers about its parts."""
    result = map_kernel(
        kernel, hw, sizes=sizes, name=name, layouts=layouts, time_limit_s=time_limit_s,
        verify="off", may_reassociate=may_reassociate, cost=cost,
    )  # fmt: skip
    match result:
        case Result():
            return result.schedule.program, result, [result.answer]
        case PlanResult():
            answers = [task.answer for task in result.plan.tasks if task.answer is not None]
            return result.plan.program, result, answers


def _is_copied(program: Program, buffer: str, hw: Hardware) -> bool:
    """Does a call bring the input into room within the external memory?"""
    rooms = {memory.name for memory in hw.memories if memory.within is not None}
    places = [p for p in program.inputs if p.buffer == buffer]
    for issue in _issues(program.body):
        outside = [o for o in issue.operands if o.memory == hw.external.name]
        starts = [operand.address.offset.constant for operand in outside]
        if any(o.memory in rooms for o in issue.operands) and any(
            0 <= start - p.address < p.layout.size_bytes for p in places for start in starts
        ):
            return True
    return False


def _issues(body: tuple[Node, ...]) -> Iterator[Issue]:
    for node in body:
        if isinstance(node, Issue):
            yield node
        else:
            yield from _issues(node.body)


def _without_rooms(hw: Hardware) -> Hardware:
    """The machine without memories within the external one, and what works on them."""
    rooms = {memory.name for memory in hw.memories if memory.within is not None}
    return replace(
        hw,
        memories=tuple(m for m in hw.memories if m.name not in rooms),
        instructions=tuple(
            i for i in hw.instructions if not any(o.memory in rooms for o in i.operands)
        ),
    )


def _check_inputs(kernel: Kernel, ahead: tuple[str, ...]) -> None:
    inputs = [buffer.name for buffer in kernel.buffers if buffer.role is Role.IN]
    for name in ahead:
        if name not in inputs:
            raise KernelError(
                f"{kernel.name} has no input {name!r} that could be packed ahead",
                hint=f"its inputs are {', '.join(inputs)}",
            )
