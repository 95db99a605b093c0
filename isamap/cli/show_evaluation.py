"""What an evaluated schedule takes, beside what its file recorded.

In: an Evaluation. Out: printed sections, files. Not its job: computing any number but shares.
"""

from collections.abc import Callable, Iterator

from rich.console import Console
from rich.text import Text

from isamap.compile import PlanResult, Result
from isamap.costmodels import pretty_energy
from isamap.files import Evaluation
from isamap.hwdesc import show_bytes
from isamap.ir import pretty
from isamap.program import listing as program_listing

from .result_json import result_to_json
from .show_cores import core_lines
from .show_plan import rewrite_lines
from .show_result import mapping_lines, memory_rows, print_section, tiling_lines
from .show_tasks import memory_lines, nests_lines, task_lines, task_name
from .show_timing import busy_lines, headline, traffic_lines
from .show_verification import show_verification
from .units import align, show_cycles
from .write import write_json


def show_evaluation(found: Evaluation, *, listing: bool, json_path: str | None) -> None:
    """All sections, the answer first; then the program and the JSON that were asked for."""
    result = found.result
    if json_path != "-":
        console = Console(highlight=False)
        _print(found, console)
        if listing:
            console.file.write("\n" + program_listing(result.program))
    if json_path is not None:
        write_json(json_path, result_to_json(result))


def _print(found: Evaluation, console: Console) -> None:
    result = found.result
    if isinstance(result, PlanResult):
        estimated = result.plan.cycles
        rewrites, tasks = rewrite_lines(result.plan), task_lines(result.plan, result.hardware)
        decisions = [("rewrites", rewrites), ("tasks", tasks), ("loops", nests_lines(result.plan))]
        memory = memory_lines(result.plan, result.hardware)
    else:
        estimated = result.schedule.estimate.cycles
        decisions = [
            ("mapping", mapping_lines(result)),
            ("cores", core_lines(result.schedule.covering, result.hardware)),
            ("loops", tiling_lines(result)),
        ]
        memory = align(memory_rows(result.schedule, result.hardware), right=(1, 2))
    check = result.verification
    first = headline(result.kernel.name, result.hardware, result.timing, estimated, check)
    print_section("answer", [first], console)
    for title, lines in (
        ("kernel", pretty(result.kernel).splitlines()),
        *decisions,
        ("recorded", comparison_lines(found)),
        ("busy", busy_lines(result.timing)),
        ("traffic", traffic_lines(result.timing)),
        ("memory", memory),
        ("check", show_verification(check)),
    ):
        if lines:
            console.print()
            print_section(title, [Text(line) for line in lines], console)


def comparison_lines(found: Evaluation) -> list[str]:
    """What the file recorded beside what there is now; then what is not as it was."""
    rows = [("", "recorded", "now", "change")]
    rows += [
        (name, show(old), show(new), _change(old, new))
        for name, old, new, show in _numbers(found)
        if old is not None and new is not None
    ]
    lines = align(rows, right=(1, 2, 3)) if len(rows) > 1 else ["nothing: only decisions"]
    bound = found.recorded.bound_cycles
    is_fastest = found.recorded.minimised == "cycles"
    if bound and is_fastest and not found.changes and isinstance(found.result, Result):
        lines.append(f"no covering with such layouts is below {show_cycles(bound)} (analytical)")
    if not is_fastest:
        lines.append(f"the search minimised {found.recorded.minimised}")
    if found.recorded.interrupted:
        lines.append("the search had been interrupted")
    return lines + [f"{what} has changed since" for what in found.changes]


def _numbers(
    found: Evaluation,
) -> Iterator[tuple[str, float | None, float | None, Callable[[float], str]]]:
    """Name, then, now, and how to show it."""
    recorded, result, timing = found.recorded, found.result, found.result.timing
    external = result.hardware.external.name
    traffic = timing.moved(external) if timing else None
    yield "emulated", recorded.emulated_cycles, timing.cycles if timing else None, _cycles
    yield "analytical", recorded.analytical_cycles, result.analytical_cycles, _cycles
    if isinstance(result, PlanResult):
        for planned in result.plan.tasks:
            then = recorded.tasks.get(str(planned.task.number))
            yield f"  task {task_name(planned)}", then, planned.cycles, _cycles
    else:
        yield "roofline", recorded.roofline_cycles, result.roofline.cycles, _cycles
    yield "energy", recorded.energy_pj, timing.energy_pj if timing else None, pretty_energy
    read, written = recorded.external_read_bytes, recorded.external_written_bytes
    yield f"{external} read", read, traffic.read_bytes if traffic else None, show_bytes
    yield f"{external} written", written, traffic.written_bytes if traffic else None, show_bytes


def _cycles(value: float) -> str:
    return show_cycles(int(value))


def _change(old: float, new: float) -> str:
    """`+1.2 %`, or `same`."""
    if old == new:
        return "same"
    return f"{100 * (new / old - 1):+.2f} %" if old else "new"
