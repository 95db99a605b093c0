"""Which instructions of a machine bind a kernel's statements, and why others do not.

In: a kernel and a machine (values, paths or bundled names). Out: mappings, reasons. Not its job:
scheduling (`compile`), printing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike

from isamap.compile import build_kernel, load_machine
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, Statement
from isamap.mapper import Mapping as Binding
from isamap.mapper import Mismatch, Task, coverings, cut_tasks, flatten, mappings, unmatched
from isamap.rewrites import FORMS, variants


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """Per task the conditions that failed, and the instructions that compute it nevertheless.

    `problem`: what forbids every instruction, if anything does.
    """

    task: Task
    matched: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    problem: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why instructions do not compute the kernel, statement by statement."""

    kernel: Kernel
    hardware: Hardware
    tasks: tuple[TaskExplanation, ...]


@dataclass(frozen=True, slots=True)
class MappingList:
    """All mappings of a kernel, made while they are read; `mismatches`: what computes nothing.

    Each comes with the kernel that it maps: the one asked for, or a rewritten form of it.
    """

    kernel: Kernel
    hardware: Hardware
    stream: Iterator[tuple[Kernel, Binding]]
    mismatches: tuple[Mismatch, ...]


def explain(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    may_reassociate: bool = False,
) -> Explanation:
    """Why the machine's other instructions do not compute the kernel's statements."""
    built, _ = build_kernel(kernel, sizes or {}, name)
    machine = load_machine(hw)
    tasks = flatten(cut_tasks(built))
    found = tuple(_explain_task(task, machine, may_reassociate) for task in tasks)
    return Explanation(built, machine, found)


def _explain_task(task: Task, hw: Hardware, may_reassociate: bool) -> TaskExplanation:
    mismatches: list[Mismatch] = []
    matched: dict[str, None] = {}
    problem = ""
    try:
        stream = coverings(
            task.kernel, hw, mismatches, task.setting(), may_reassociate=may_reassociate
        )
        matched.update((covering.instruction, None) for covering in stream)
    except MappingError as error:
        hint = f" ({error.hint})" if error.hint else ""
        problem = error.message.partition("\n")[0].rstrip(":") + hint
    return TaskExplanation(task, tuple(matched), tuple(mismatches), problem)


def list_mappings(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    gather: bool = True,
    replicate: bool = False,
    max_rewrites: int = 0,
) -> MappingList:
    """Every distinct binding of the kernel's statements to the machine's instructions.

    Args:
        kernel, hw, sizes, name: as for `map`; sizes do not change what can be bound.
        gather, replicate: as for `isamap.mapper.mappings`.
        max_rewrites: also of the statements that up to so many rewrites (`FORMS`) bring about.
    """
    built, _ = build_kernel(kernel, sizes or {}, name)
    machine = load_machine(hw)
    stream = _map_forms(built, machine, gather, replicate, max_rewrites)
    return MappingList(built, machine, stream, unmatched(built, machine))


def _map_forms(
    kernel: Kernel, hw: Hardware, gather: bool, replicate: bool, max_rewrites: int
) -> Iterator[tuple[Kernel, Binding]]:
    """The kernel's own mappings, then those of each form's new statements."""
    known: set[Statement] = set()
    for form in variants(kernel, rewrites=FORMS, max_steps=max_rewrites):
        names = tuple(f"{step.rewrite} {step.site}" for step in form.steps)
        fresh = [number for number, s in enumerate(form.kernel.statements) if s not in known]
        known.update(form.kernel.statements)
        for found in mappings(form.kernel, hw, gather=gather, replicate=replicate, rewrites=names):
            if found.statement in fresh:
                yield form.kernel, found
