"""Ask for a mapping and show it in every form that was wished for.

In: a question and what to show. Out: printed text, files. Not its job: arguments, exit codes.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from isamap.bindings import explain
from isamap.compile import PlanResult, Result, map
from isamap.costmodels import Aim, CostModel, Metric
from isamap.errors import MappingError
from isamap.pareto import pareto
from isamap.program import listing, to_json
from isamap.scheduler import Watch

from .live import LiveWatch
from .options import Views
from .result_json import result_to_json
from .show_front import front_to_json, print_front
from .show_plan import print_plan
from .show_result import print_result
from .write import write_json
from .write_folder import write_folder
from .write_views import write_result_views


@dataclass(frozen=True, slots=True)
class Question:
    """The arguments of `isamap.map`."""

    kernel: str
    hardware: str
    sizes: Mapping[str, int]
    name: str | None
    cost: str | CostModel
    layouts: str
    check: str
    time_limit_s: float
    workers: int
    seed: int
    may_reassociate: bool
    aim: Aim
    max_bytes: Mapping[str, int]
    effort: float | None


@dataclass(frozen=True, slots=True)
class Show:
    """What to print and write beside the answer."""

    num_alternatives: int
    explain: bool
    listing: bool
    json_path: str | None
    program_path: str | None
    folder: str | None
    views: Views


def show_map(question: Question, show: Show) -> Result | PlanResult:
    """Ask, and print and write the answer; progress goes to standard error if that is a terminal.

    Ctrl-C ends the search with the best so far; pressed again, the check.
    """
    console = Console(highlight=False)  # colours on a terminal only, and not under NO_COLOR
    try:
        with LiveWatch().attached(Console(stderr=True)) as watch:
            result = _ask(question, watch)
    except MappingError:
        if show.explain:
            _explain(question, console)
        raise
    try:
        if show.folder is not None:  # first: who reads the answer may close the pipe
            write_folder(show.folder, result)
        write_result_views(show.views, result)
    finally:  # a full disk takes the files, not what was found
        if show.json_path != "-" and show.program_path != "-":
            _print(question, show, result, console)
    if show.json_path is not None:
        write_json(show.json_path, result_to_json(result))
    if show.program_path is not None:
        write_json(show.program_path, to_json(result.program))
    return result


def _print(question: Question, show: Show, result: Result | PlanResult, console: Console) -> None:
    """The answer, and the text that was asked for below it."""
    if isinstance(result, PlanResult):
        print_plan(result, console)
    else:
        print_result(result, console, show.num_alternatives)
    if show.explain:
        _explain(question, console)
    if show.listing:
        console.file.write("\n" + listing(result.program))


def show_front(question: Question, metrics: tuple[Metric, ...], json_path: str | None) -> None:
    """Ask for the Pareto front, print and write it."""
    with LiveWatch().attached(Console(stderr=True)) as watch:
        result = pareto(
            question.kernel,
            question.hardware,
            metrics,
            sizes=question.sizes,
            name=question.name,
            layouts=question.layouts,
            time_limit_s=question.time_limit_s,
            workers=question.workers,
            seed=question.seed,
            may_reassociate=question.may_reassociate,
            max_bytes=question.max_bytes,
            effort=question.effort,
            watch=watch,
        )
    if json_path != "-":
        print_front(result, Console(highlight=False))
    if json_path is not None:
        write_json(json_path, front_to_json(result))


def _ask(question: Question, watch: Watch) -> Result | PlanResult:
    return map(
        question.kernel,
        question.hardware,
        sizes=question.sizes,
        name=question.name,
        cost=question.cost,
        layouts=question.layouts,
        verify=question.check,
        time_limit_s=question.time_limit_s,
        workers=question.workers,
        seed=question.seed,
        may_reassociate=question.may_reassociate,
        aim=question.aim,
        max_bytes=question.max_bytes,
        effort=question.effort,
        watch=watch,
    )


def _explain(question: Question, console: Console) -> None:
    found = explain(
        question.kernel,
        question.hardware,
        sizes=question.sizes,
        name=question.name,
        may_reassociate=question.may_reassociate,
    )
    console.print()
    for line in str(found).splitlines():
        console.print(Text(line), soft_wrap=True)
