"""The answer of `isamap map` for a kernel of several tasks.

In: a PlanResult. Out: printed sections. Not its job: computing any number but shares.
"""

from rich.console import Console
from rich.text import Text

from isamap.compile import PlanResult
from isamap.ir import pretty, pretty_statement
from isamap.scheduler import PlannedTask

from .show_mapping import show_binding
from .show_result import print_section
from .show_verification import headline_word, show_verification
from .units import align, show_count, show_cycles, show_frequency, show_seconds


def print_plan(result: PlanResult, console: Console) -> None:
    """All sections, the answer first."""
    print_section("answer", [_headline(result)], console)
    for title, lines in (
        ("kernel", pretty(result.kernel).splitlines()),
        ("tasks", align([_task_row(task) for task in result.plan.tasks], right=(2,))),
        ("check", show_verification(result.verification)),
    ):
        console.print()
        print_section(title, [Text(line) for line in lines], console)


def _headline(result: PlanResult) -> Text:
    hw = result.hardware
    cycles = result.timing.cycles if result.timing else result.plan.cycles
    kind = "emulated" if result.timing else "estimated"
    seconds = show_seconds(cycles / hw.clock_hz)
    word, style = headline_word(result.verification)
    text = Text(
        f"{result.kernel.name} on {hw.name}: {show_cycles(cycles)} ({kind}), "
        f"{seconds} at {show_frequency(hw.clock_hz)}, "
    )
    return text.append(word, style)


def _task_row(planned: PlannedTask) -> tuple[str, str, str]:
    """Statement, what runs it, cycles."""
    statement = pretty_statement(planned.task.statement)
    if planned.on_host or planned.answer is None:
        return statement, "host", show_count(planned.cycles)
    covering = planned.answer.best.covering
    how = f"{covering.instruction}: {show_binding(covering)}"
    return statement, how, show_count(planned.cycles)
