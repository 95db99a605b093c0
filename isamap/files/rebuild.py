"""A schedule file's decisions on its kernel and machine, checked rule by rule.

In: a schedule file. Out: the kernel, the machine, and the answer or plan that the file stands for;
or every rule that it breaks. Not its job: timing and checking the program (`evaluate`).
"""

from dataclasses import dataclass, replace
from pathlib import Path as FilePath

from isamap.compile import build_kernel
from isamap.errors import IsamapError, MappingError
from isamap.hwdesc import Hardware, MemoryKind, load_hardware
from isamap.ir import Kernel, Role, load_kernels
from isamap.mapper import Task, TaskLoop, TaskNode, cut_tasks, flatten
from isamap.planner import (
    Plan,
    PlannedTask,
    assemble_answer,
    assemble_plan,
    host_task_cycles,
    mark_late,
    rejoin,
    share_chip,
)
from isamap.resources import find_hardware, find_kernel
from isamap.rewrites import Step, replay
from isamap.scheduler import Answer, room_breaches
from isamap.verify import KernelFile

from .read_cores import read_cores
from .read_covering import read_covering
from .read_schedule import ScheduleFile
from .read_tiling import read_tiling
from .schema import TaskRef

HOST = "host"
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What a schedule file stands for."""

    kernel: Kernel
    hardware: Hardware
    file: KernelFile
    found: Answer | Plan


def rebuild(schedule: ScheduleFile) -> Rebuilt:
    """Kernel, machine and decisions of a schedule file.

    Raises:
        SpecErrors: the rules that it breaks, each where it does.
        KernelError: the kernel cannot be built at these sizes.
    """
    builder = _Builder(schedule)
    kernel, file = builder.kernel()
    hw = builder.hardware()
    if schedule.content.form == "single":
        builder.check_single()
    schedule.raise_problems()
    assert kernel is not None and file is not None and hw is not None, "no problem was found"
    form = builder.rewritten(kernel)
    schedule.raise_problems()
    assert form is not None, "no problem was found"
    found: Answer | Plan | None
    if schedule.content.form == "single":
        found = builder.single(kernel, hw)
    else:
        found = builder.plan(form, hw)
    schedule.raise_problems()
    assert found is not None, "no problem was found"
    return Rebuilt(kernel, hw, file, found)


class _Builder:
    """Builds the parts; mistakes are recorded, and None stands for what has one."""

    def __init__(self, schedule: ScheduleFile) -> None:
        self.content = schedule.content
        self.reader = schedule.reader
        self.folder = schedule.path.parent
        self.positions = {task.number: n for n, task in enumerate(self.content.tasks)}

    def kernel(self) -> tuple[Kernel | None, KernelFile | None]:
        ref, before = self.content.kernel, self.reader.problems.count
        try:
            path, _ = find_kernel(self._beside(ref.file))
        except IsamapError as error:
            self.reader.error(error.message, ("kernel", "file"), error.hint)
            return None, None
        known = load_kernels(path)
        if self.reader.known("kernel", ref.name, known, ("kernel", "name")):
            sizes = dict(known[ref.name].sizes)
            for name in ref.sizes:
                self.reader.known("size", name, sizes, ("kernel", "sizes", name))
        if self.reader.problems.count > before:
            return None, None
        return build_kernel(str(path), ref.sizes, ref.name, self.content.options.reassociate)

    def hardware(self) -> Hardware | None:
        try:
            path = find_hardware(self._beside(self.content.hardware.file))
        except IsamapError as error:
            self.reader.error(error.message, ("hardware", "file"), error.hint)
            return None
        return load_hardware(path)

    def _beside(self, text: str) -> str:
        """A path from the schedule file's folder if there is such a file, else as it stands."""
        path = FilePath(self.folder, text)
        return str(path) if path.is_file() else text

    def rewritten(self, kernel: Kernel) -> Kernel | None:
        """The kernel after the file's rewrites."""
        form: Kernel | None = kernel
        for number, step in enumerate(self.content.rewrites):
            assert form is not None, "the loop ends with the first failure"
            form = replay(form, [Step(step.rewrite, step.site)])
            if form is None:
                message = f"rewrite '{step.rewrite}' does not apply at '{step.site}'"
                self.reader.error(message, ("rewrites", number))
                return None
        return form

    def check_single(self) -> None:
        """Is there nothing that only tasks have?"""
        ref = self.content.tasks[0]
        written: dict[Path, object] = {
            ("rewrites",): self.content.rewrites,
            ("homes",): self.content.homes,
            ("tasks", 0, "joined"): ref.joined,
            ("tasks", 0, "not_kept"): ref.not_kept,
        }
        for path, value in written.items():
            if value:
                message = f"a single schedule has no '{path[-1]}'"
                self.reader.error(message, path, "drop it, or 'form: tasks'", True)
        if ref.number:
            message = f"there is no task {ref.number}"
            self.reader.error(message, ("tasks", 0, "number"), "a single schedule has task 0")

    def single(self, kernel: Kernel, hw: Hardware) -> Answer | None:
        """One statement by itself."""
        ref = self.content.tasks[0]
        if len(self.content.tasks) > 1 or len(kernel.statements) > 1:
            self.reader.error("a single schedule has one task", ("tasks",), "'form: tasks'")
            return None
        if ref.runs == HOST:
            self.reader.error("the host runs tasks only", ("tasks", 0, "runs"), "'form: tasks'")
            return None
        return self._answer(ref, ("tasks", 0), Task(kernel, 0), hw)

    def _answer(self, ref: TaskRef, path: Path, task: Task, hw: Hardware) -> Answer | None:
        allowed = self.content.options.reassociate
        homes = self.content.homes
        covering = read_covering(self.reader, path, ref, task, hw, homes, allowed)
        covering = covering and read_cores(self.reader, path, ref, covering, hw)
        if covering is None:
            return None
        tiling = read_tiling(self.reader, path, ref, covering, hw)
        return None if tiling is None else assemble_answer(task.kernel, covering, tiling, hw)

    def plan(self, kernel: Kernel, hw: Hardware) -> Plan | None:
        """Several tasks, or one that hands arrays on."""
        self._check_homes(kernel, hw)
        nodes = self._nodes(kernel, hw)
        if nodes is None:
            return None
        planned = {}
        for task in flatten(nodes):
            position = self.positions[task.number]
            found = self._planned(self.content.tasks[position], ("tasks", position), task, hw)
            if found is not None:
                planned[task.number] = found
        if self.reader.problems.count or not self._fit(nodes, planned, hw):
            return None
        steps = tuple(Step(step.rewrite, step.site) for step in self.content.rewrites)
        try:
            return assemble_plan(
                kernel, nodes, planned, hw, steps,
                may_reassociate=self.content.options.reassociate,
            )  # fmt: skip
        except MappingError as error:
            self.reader.error(error.message, ("tasks",), error.hint)
            return None

    def _check_homes(self, kernel: Kernel, hw: Hardware) -> None:
        """Do the buffers and memories exist?"""
        temporaries = [b.name for b in kernel.buffers if b.role is Role.TEMP]
        managed = [m.name for m in hw.memories if m.kind is MemoryKind.MANAGED]
        for name, memory in self.content.homes.items():
            path = ("homes", name)
            self.reader.known("temporary", name, temporaries, path)
            self.reader.known("memory", memory, managed, path)

    def _nodes(self, kernel: Kernel, hw: Hardware) -> tuple[TaskNode, ...] | None:
        """The tree of tasks with those joined that the file joins."""
        parts = {task.number: task.joined for task in self.content.tasks if task.joined}
        nodes, failed = rejoin(kernel, mark_late(cut_tasks(kernel), hw), parts)
        for number in failed:
            path = ("tasks", self.positions[number], "joined")
            numbers = ", ".join(map(str, parts[number]))
            self.reader.error(f"statements {numbers} cannot be one task", path)
        there = [task.number for task in flatten(nodes)]
        for position, task in enumerate(self.content.tasks):
            path = ("tasks", position, "number")
            if self.positions[task.number] != position:
                self.reader.error(f"a second task {task.number}", path, "drop one of them")
            elif task.number not in there and not failed:
                names = ", ".join(map(str, there))
                self.reader.error(f"there is no task {task.number}", path, f"tasks are {names}")
        for number in there:
            if number not in self.positions and not failed:
                self.reader.error(f"task {number} is missing", ("tasks",), "add it")
        return None if self.reader.problems.count else self._forgetful(nodes)

    def _forgetful(self, nodes: tuple[TaskNode, ...]) -> tuple[TaskNode, ...]:
        """Tasks that keep less on chip than they could, as the file says."""
        found: list[TaskNode] = []
        for node in nodes:
            if isinstance(node, TaskLoop):
                found.append(replace(node, body=self._forgetful(node.body)))
            else:
                found.append(self._with_not_kept(node))
        return tuple(found)

    def _with_not_kept(self, task: Task) -> Task:
        position = self.positions[task.number]
        ref = self.content.tasks[position]
        if not ref.not_kept:
            return task
        path = ("tasks", position, "not_kept")
        for name, loops in ref.not_kept.items():
            buffers = (buffer.name for buffer in task.kernel.buffers)
            self.reader.known("buffer", name, buffers, (*path, name))
            for number, loop in enumerate(loops):
                self.reader.known("held loop", loop, task.held, (*path, name, number))
        pairs = tuple((name, loop) for name, loops in ref.not_kept.items() for loop in loops)
        for name, loop in task.volatile:
            if (name, loop) not in pairs:
                message = f"{name} changes between iterations of {loop} and cannot stay on chip"
                self.reader.error(message, path, f"add {loop} to {name}")
        return replace(task, volatile=pairs)

    def _planned(self, ref: TaskRef, path: Path, task: Task, hw: Hardware) -> PlannedTask | None:
        if ref.runs != HOST:
            answer = self._answer(ref, path, task, hw)
            if answer is None:
                return None
            return PlannedTask.scheduled(task, answer)
        if hw.host is None:
            self.reader.error(f"{hw.name} has no host", (*path, "runs"))
            return None
        if task.parts:
            message = "the host runs statements one by one"
            self.reader.error(message, (*path, "runs"), "drop 'joined', and write a task for each")
            return None
        cycles = host_task_cycles(task, hw.host)
        return PlannedTask(task, None, True, cycles, "the schedule file says so")

    def _fit(
        self, nodes: tuple[TaskNode, ...], planned: dict[int, PlannedTask], hw: Hardware
    ) -> bool:
        """Do all tasks fit beside what others keep on chip?"""
        pieces = {number: task.piece for number, task in planned.items()}
        try:
            room = share_chip(nodes, pieces, hw)
        except MappingError as error:
            self.reader.error(error.message, ("homes",), error.hint)
            return False
        if room.crowded:
            numbers = ", ".join(map(str, sorted(room.crowded)))
            self.reader.error(
                f"tasks {numbers} keep more on chip over the loop around them than fits with the"
                " others",
                ("tasks", self.positions[room.crowded[0]], "stays"),
                "make their tiles smaller, or name buffers and the loop in 'not_kept'",
            )
        for number, starts in room.starts.items():
            answer = planned[number].answer
            if answer is None:
                continue
            best = answer.best
            for breach in room_breaches(best.covering, best.tiling, hw, starts):
                path = ("tasks", self.positions[number], "stays")
                self.reader.error(f"beside what stays on chip, {breach.message}", path, breach.hint)
        return not self.reader.problems.count
