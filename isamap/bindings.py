"""Which instructions of a machine bind a kernel's statements, and why others do not.

In: a kernel and a machine (values, paths or bundled names). Out: mappings, reasons. Not its job:
scheduling (`compile`), the command line's tables.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike

from isamap.compile import build_kernel, load_machine
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, Statement, pretty_statement
from isamap.mapper import Mapping as Binding
from isamap.mapper import Mismatch, Task, coverings, cut_tasks, flatten, mappings, unmatched
from isamap.rewrites import FORMS, variants

HINTED = (1, 2)  # rewrites one after the other that a hint proposes


@dataclass(frozen=True, slots=True)
class TaskExplanation:
    """Per task the conditions that failed, and the instructions that compute it nevertheless.

    `problem`: what forbids every instruction, if anything does.
    """

    task: Task
    matched: tuple[str, ...]
    mismatches: tuple[Mismatch, ...]
    problem: str


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Why instructions do not compute the kernel, statement by statement.

    As text: per statement and instruction the nearest failed condition, nearest miss first, both
    sides; instructions that do compute the statement in some other binding come last.
    """

    kernel: Kernel
    hardware: Hardware
    tasks: tuple[TaskExplanation, ...]

    def __str__(self) -> str:
        lines: list[str] = []
        for task in self.tasks:
            part = _task_lines(task, self.hardware, is_only=len(self.tasks) == 1)
            lines += ["", *part] if part else []
        return "\n".join(
            ["why not other instructions, nearest miss first", *lines] if lines else []
        )

    def __repr__(self) -> str:
        missed = sum(len(nearest_misses(task)) for task in self.tasks)
        what = f"{len(self.tasks)} statements, {missed} near misses; print() shows them"
        return f"<Explanation: {self.kernel.name} on {self.hardware.name}, {what}>"


@dataclass(frozen=True, slots=True, repr=False)
class MappingList:
    """All mappings of a kernel, made while they are read; `mismatches`: what computes nothing.

    Each comes with the kernel that it maps: the one asked for, or a rewritten form of it.
    `gather`, `replicate`, `max_rewrites`: as they were asked for.
    """

    kernel: Kernel
    hardware: Hardware
    stream: Iterator[tuple[Kernel, Binding]]
    mismatches: tuple[Mismatch, ...]
    gather: bool
    replicate: bool
    max_rewrites: int

    def hint(self) -> str:
        """Where there are none: an option of `isamap mappings` with which there are some, or who
        computes the kernel nevertheless."""
        others = {
            "--gather": (True, self.replicate, self.max_rewrites),
            "--replicate": (self.gather, True, self.max_rewrites),
            **{f"--rewrites {n}": (self.gather, self.replicate, n) for n in HINTED},
        }
        for option, asked in others.items():
            if any(True for _ in _map_forms(self.kernel, self.hardware, *asked)):
                return f"there are some with {option}"
        if self.hardware.host:
            return "'isamap map' runs on the host what no instruction computes"
        return "a machine with a 'host' runs there what no instruction computes"

    def __repr__(self) -> str:
        what = f"{self.kernel.name} on {self.hardware.name}, made while .stream is read"
        return f"<MappingList: {what}; {len(self.mismatches)} mismatches>"


def _task_lines(found: TaskExplanation, hw: Hardware, *, is_only: bool) -> list[str]:
    misses = nearest_misses(found)
    if not misses and not found.problem and is_only:
        return []
    held = ", ".join(found.task.held)
    within = f"   (one {held} at a time)" if held else ""
    lines = [f"kernel: {pretty_statement(found.task.statement)}{within}"]
    lines += [f"    no instruction may: {found.problem}"] if found.problem else []
    lines += [f"    computed by {', '.join(found.matched)}"] if found.matched else []
    for miss, count in misses:
        semantics = hw.instruction(miss.instruction).semantics
        texts = "; ".join(pretty_statement(part) for part in semantics.statements)
        word = "in some bindings " if miss.instruction in found.matched else ""
        more = f"   (and {count - 1} more bindings)" if count > 1 else ""
        lines += [f"{miss.instruction}: {texts}", f"    {word}{miss.reason}{more}"]
    return lines


def nearest_misses(found: TaskExplanation) -> list[tuple[Mismatch, int]]:
    """Per instruction the miss that got farthest, and how many bindings failed."""
    grouped: dict[str, list[Mismatch]] = {}
    for miss in found.mismatches:
        grouped.setdefault(miss.instruction, []).append(miss)
    nearest = [(max(misses, key=lambda m: m.progress), len(misses)) for misses in grouped.values()]
    return sorted(
        nearest, key=lambda pair: (pair[0].instruction in found.matched, -pair[0].progress)
    )


def explain(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    may_reassociate: bool = False,
) -> Explanation:
    """Why the machine's other instructions do not compute the kernel's statements."""
    built, _ = build_kernel(kernel, sizes or {}, name, may_reassociate)
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
    missed = unmatched(built, machine, gather=gather, replicate=replicate)
    return MappingList(built, machine, stream, missed, gather, replicate, max_rewrites)


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
