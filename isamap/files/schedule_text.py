"""The decisions of an answer as a schedule file that a person reads and edits.

In: a Result or a PlanResult. Out: YAML text. Not its job: reading it back (`read_schedule`),
writing files.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from isamap.compile import PlanResult, Result
from isamap.costmodels import Tiling, axis_strides, trips
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, pretty, pretty_statement
from isamap.mapper import Covering, Task, cut_tasks, flatten
from isamap.planner import PlannedTask, rejoin
from isamap.resources import bundled
from isamap.scheduler import Schedule, memory_of

from .describe import describe, homes_of, multicasts_of, number_of, split_of, tile_iterations
from .schema import FORMAT, VERSION
from .yaml_text import Value, yaml_text

HEAD = """\
# A schedule that isamap found. Edit tiles, orders and stays; 'isamap evaluate {name}'
# says what it takes then, checks it, or names the rule that it breaks.
#   tiles   iterations of each loop in a tile: a multiple of its block, or all of them
#   outer   loops over tiles, outermost first; inner: loops over the blocks of a tile
#   stays   what lies in which memory: a tile or a block, in 1, 2 or more slots; of loops in 'keeps'
#           all tiles lie there side by side, so that loops outside do not fetch them again
"""


def schedule_text(result: Result | PlanResult, folder: Path) -> str:
    """The file's text; paths in it are relative to `folder`.

    Raises:
        IsamapError: kernel or machine came from no file.
    """
    if result.file is None or not result.hardware.file:
        raise IsamapError(
            "a schedule file names the files of its kernel and machine, and these came from none",
            hint="give isamap.map paths",
        )
    plan = result.plan if isinstance(result, PlanResult) else None
    rows: dict[str, Value] = {
        "kernel": {
            "file": _name_of(result.file.path, "kernels", folder),
            "name": result.file.name,
            "sizes": dict(result.file.sizes),
            "digest": kernel_digest(result.kernel),
        },
        "hardware": {
            "file": _name_of(Path(result.hardware.file), "hw_specs", folder),
            "digest": hardware_digest(result.hardware),
        },
        "options": {
            "reassociate": result.request.may_reassociate,
            "seed": result.request.seed,
        },
    }
    lines = [f"format: {FORMAT}", f"version: {VERSION}"]
    lines += [f"{key}: {yaml_text(value)}" for key, value in rows.items()]
    lines.append(f"form: {'tasks' if plan else 'single'}")
    lines += list(_rewrite_lines(result))
    if homes := _homes(result):
        lines.append(f"homes: {yaml_text(homes)}")
    lines.append("tasks:")
    lines += list(_plan_lines(result) if isinstance(result, PlanResult) else _single_lines(result))
    lines += ["recorded:", *(f"  {line}" for line in _recorded_lines(result))]
    return HEAD.format(name="schedule.yaml") + "\n".join(lines) + "\n"


def kernel_digest(kernel: Kernel) -> str:
    """Changes with the kernel's text at its sizes."""
    return "sha256-" + hashlib.sha256(pretty(kernel).encode()).hexdigest()[:16]


def hardware_digest(hw: Hardware) -> str:
    """Changes with the hardware file and those it builds on."""
    content = b"".join(Path(file).read_bytes() for file in hw.files)
    return "sha256-" + hashlib.sha256(content).hexdigest()[:16]


def _name_of(path: Path, kind: str, folder: Path) -> str:
    """The bundled name, or the path from the folder."""
    for name, known in bundled(kind, path.suffix).items():
        if known.resolve() == path.resolve():
            return name
    return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()


def _rewrite_lines(result: Result | PlanResult) -> Iterator[str]:
    steps = result.plan.steps if isinstance(result, PlanResult) else ()
    if not steps:
        return
    yield "rewrites:"
    for step in steps:
        yield f"- {yaml_text({'rewrite': step.rewrite, 'site': step.site})}"


def _homes(result: Result | PlanResult) -> dict[str, str]:
    if isinstance(result, Result):
        return {}
    return homes_of(planned.piece for planned in result.plan.tasks)


def _single_lines(result: Result) -> Iterator[str]:
    task = Task(result.kernel, 0)
    yield "- number: 0"
    yield from _scheduled_lines(task, result.schedule, result)


def _plan_lines(result: PlanResult) -> Iterator[str]:
    parts = {
        planned.task.number: tuple(part.number for part in planned.task.parts)
        for planned in result.plan.tasks
        if planned.task.parts
    }
    nodes, _ = rejoin(result.plan.kernel, cut_tasks(result.plan.kernel), parts)
    natural = {task.number: task for task in flatten(nodes)}
    for planned in result.plan.tasks:
        task = planned.task
        yield f"- number: {task.number}"
        if task.parts:
            yield f"  joined: {yaml_text([part.number for part in task.parts])}"
        if task.volatile != natural[task.number].volatile:
            not_kept: dict[str, list[str]] = {}
            for buffer, loop in task.volatile:
                not_kept.setdefault(buffer, []).append(loop)
            yield f"  not_kept: {yaml_text(not_kept)}"
        yield from _task_lines(planned, result)


def _task_lines(planned: PlannedTask, result: PlanResult) -> Iterator[str]:
    if planned.on_host:
        yield from _statement_lines(planned.task)
        yield "  runs: host"
    else:
        yield from _scheduled_lines(planned.task, planned.best, result)


def _statement_lines(task: Task) -> Iterator[str]:
    held = f"    ({', '.join(task.held)}: one iteration at a time)" if task.held else ""
    for statement in task.statements:
        yield f"  # {pretty_statement(statement)}{held}"


def _scheduled_lines(task: Task, schedule: Schedule, result: Result | PlanResult) -> Iterator[str]:
    covering, hw = schedule.covering, result.hardware
    tiling = schedule.tiling
    homes = _homes(result)
    instruction, binding, operands = describe(covering, hw.external.name)
    yield from _statement_lines(task)
    yield f"  runs: {yaml_text(instruction)}"
    yield f"  binding: {yaml_text(dict(binding))}"
    yield "  operands:"
    for name, route, layout in operands:
        yield f"    {yaml_text(name)}: {yaml_text({'route': route, 'layout': layout})}"
    number = number_of(covering, task, hw, homes, result.request.may_reassociate)
    if number:
        yield f"  choice: {number}"
    if covering.shares:
        yield f"  cores: {yaml_text(split_of(covering))}"
        if multicasts := multicasts_of(covering, hw):
            yield f"  multicast: {yaml_text(multicasts)}"
    yield "  tiles:" if covering.loops else "  tiles: {}"
    yield from _tile_lines(covering, tiling)
    yield f"  outer: {yaml_text(tiling.outer)}"
    yield f"  inner: {yaml_text(tiling.inner)}"
    yield "  stays:" if tiling.stays else "  stays: []"
    yield from _stay_lines(covering, tiling, hw)


def _tile_lines(covering: Covering, tiling: Tiling) -> Iterator[str]:
    rows = []
    for loop in covering.loops:
        size = tile_iterations(loop, tiling.tile(loop.name))
        count = trips(covering, tiling, loop.name)
        rest = loop.extent - (count - 1) * size
        last = f", last {rest}" if rest != size else ""
        note = f"blocks of {loop.block}; {count} tile{'s' if count > 1 else ''} of {loop.extent}"
        rows.append((f"    {yaml_text(loop.name)}: {size}", f"# {note}{last}"))
    yield from _aligned(rows)


def _stay_lines(covering: Covering, tiling: Tiling, hw: Hardware) -> Iterator[str]:
    rows = []
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        _, size = axis_strides(covering, tiling, stay, plan, plan.residences[stay.residence])
        memory = memory_of(covering, stay)
        found: dict[str, Value] = {
            "operand": stay.operand,
            "memory": memory,
            "holds": "tile" if stay.level else "block",
            "slots": stay.slots,
        }
        if stay.kept:
            found["keeps"] = stay.kept
        times = f"{stay.slots} x " if stay.slots > 1 else ""
        note = f"# {times}{_kib(size)} of {_kib(hw.memory(memory).size_bytes)}"
        rows.append((f"  - {yaml_text(found)}", note))
    yield from _aligned(rows)


def _kib(size_bytes: int) -> str:
    return f"{size_bytes / 1024:g} KiB" if size_bytes % 1024 == 0 else f"{size_bytes} B"


def _aligned(rows: list[tuple[str, str]]) -> Iterator[str]:
    """Notes in one column."""
    width = max((len(text) for text, _ in rows), default=0)
    yield from (f"{text:<{width}}  {note}" for text, note in rows)


def _recorded_lines(result: Result | PlanResult) -> Iterator[str]:
    timing = result.timing
    if timing is not None:
        yield f"emulated_cycles: {timing.cycles}"
        yield f"energy_pj: {yaml_text(timing.energy_pj)}"
        moved = timing.moved(result.hardware.external.name)
        yield f"external_read_bytes: {moved.read_bytes}"
        yield f"external_written_bytes: {moved.written_bytes}"
    aim = result.request.aim
    if not aim.is_fastest:
        names = " + ".join(metric.value for metric, _ in aim.weights)
        yield f"minimised: {yaml_text(names)}"
    yield f"analytical_cycles: {result.analytical_cycles}"
    yield f"bound_cycles: {result.bound_cycles}"
    if isinstance(result, Result):
        yield f"roofline_cycles: {result.roofline.cycles}"
    yield f"status: {result.status.value}"
    if isinstance(result, PlanResult):
        cycles = {str(planned.task.number): planned.cycles for planned in result.plan.tasks}
        yield f"tasks: {yaml_text(cycles)}"
    if result.is_interrupted:
        yield "interrupted: true"
