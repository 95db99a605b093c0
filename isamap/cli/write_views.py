"""Files that show a program over time: a trace, a page.

In: what was asked for, an answer or a program. Out: the files, all of them or none. Not its job:
what they say (`report`, `make_page`).
"""

from collections.abc import Callable
from pathlib import Path

import click

from isamap.compile import PlanResult, Result
from isamap.emulator import Timing, Trace, trace_program
from isamap.hwdesc import Hardware
from isamap.program import Program
from isamap.report import PAGE_CALLS, Page, render_page, trace_text
from isamap.write_all import write_all

from .make_page import page_of_plan, page_of_program, page_of_result, task_names
from .options import Views
from .units import show_count

MakePage = Callable[[Trace], Page]


def write_result_views(views: Views, result: Result | PlanResult) -> None:
    """Of an answer; nothing where the emulator rejects its program, and says so."""
    if not views.are_wanted:
        return
    if result.timing is None:
        click.echo("no trace and no report: the emulator rejects the program", err=True)
        return

    def page(trace: Trace) -> Page:
        if isinstance(result, PlanResult):
            return page_of_plan(result, trace)
        return page_of_result(result, trace)

    _write(views, result.program, result.hardware, result.timing, page, task_names(result))


def write_program_views(views: Views, program: Program, hw: Hardware, timing: Timing) -> None:
    """Of a program alone."""
    if views.are_wanted:
        _write(views, program, hw, timing, page_of_program, {})


def _write(
    views: Views,
    program: Program,
    hw: Hardware,
    timing: Timing,
    page: MakePage,
    names: dict[int, str],
) -> None:
    trace = trace_program(program, hw, max_calls=views.max_calls, timing=timing)
    texts: dict[Path, str] = {}
    notes = []
    if views.trace is not None:
        texts[Path(views.trace)] = trace_text(trace, names)
        notes.append(_note(views.trace, trace, views.max_calls))
    if views.report is not None:
        texts[Path(views.report)] = render_page(page(trace), trace)
        notes.append(_note(views.report, trace, min(views.max_calls, PAGE_CALLS)))
    write_all(texts)
    for note in notes:
        click.echo(note, err=True)


def _note(path: str, trace: Trace, most: int) -> str:
    """What was written, and which calls are left out."""
    if most >= trace.num_calls:
        count = show_count(trace.num_calls)
        return f"wrote {path}: all {count} calls" if count != "1" else f"wrote {path}: its one call"
    some, every = show_count(min(most, trace.num_calls)), show_count(trace.num_calls)
    return f"wrote {path}: the first {some} of {every} calls one by one"
