"""Options that several commands share.

In: nothing but these values. Out: decorators for commands, what is read from their texts. Not its
job: any command.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

import click

from isamap.errors import IsamapError

if TYPE_CHECKING:
    from isamap.costmodels import CostModel

Arguments = ParamSpec("Arguments")
OBJECTIVES = ("cycles", "energy", "edp", "dram-bytes")  # the values of costmodels.Metric
NUM_CANDIDATES = 8  # measured.Learned
PER_ROUND, SECONDS = 10, 22.0  # measured.Measured
OPTIONS_OF = {  # that only some cost models take
    "emulated": ("--candidates",),
    "measured": ("--candidates", "--database", "--seconds"),
    "learned": ("--candidates", "--database"),
}
HW_HELP = "Hardware file, a bundled name, or native: what fits this processor best."
TRACE_CALLS = 200_000  # emulator.MAX_CALLS; that module loads NumPy


def subject_options(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """KERNEL, --hw, --size, --kernel: what is mapped, and onto what."""
    for option in reversed(
        (
            click.argument("kernel"),
            click.option("--hw", "hardware", required=True, help=HW_HELP),
            click.option(
                "--size", "sizes", multiple=True, metavar="NAME=N", help="A size of the kernel."
            ),
            click.option("--kernel", "name", help="Kernel in the file (default: the first)."),
        )
    ):
        command = option(command)
    return command


def seconds_option() -> Callable[[Callable[Arguments, None]], Callable[Arguments, None]]:
    """--seconds."""
    return click.option(
        "--seconds",
        type=click.FloatRange(0),
        help="For measuring rounds of a kernel's schedules, compiler included; 0: one round"
        f" (default: {SECONDS:g}).",
    )


def cost_options(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """--cost, and what models need that know this processor."""
    for option in reversed(
        (
            click.option(
                "--cost",
                metavar="MODEL",
                default="analytical",
                show_default=True,
                help="Cost model that ranks the solved coverings: analytical, emulated, roofline;"
                " measured: the closed form's best candidates run on this processor; learned:"
                " they are judged by what 'isamap tune' measured of other shapes;"
                " FILE.py:NAME: your own.",
            ),
            click.option(
                "--candidates",
                type=click.IntRange(2),
                help=f"How many are measured in a round (default: {PER_ROUND}), or judged"
                f" (default: {NUM_CANDIDATES}), or emulated in a round (default: only the best of"
                " each covering).",
            ),
            seconds_option(),
            click.option(
                "--database",
                metavar="FILE",
                help="Where measurements are kept (default: $ISAMAP_DATABASE, or a file in the"
                " user's cache folder).",
            ),
        )
    ):
        command = option(command)
    return command


def read_cost(
    cost: str, candidates: int | None, seconds: float | None, database: str | None
) -> "str | CostModel":
    """The cost model that the options ask for; IsamapError for options that it does not take."""
    given = {"--candidates": candidates, "--database": database, "--seconds": seconds}
    for name, value in given.items():
        models = [model for model, names in OPTIONS_OF.items() if name in names]
        if value is not None and cost not in models:
            texts = " and ".join(f"--cost {model}" for model in models)
            hint = "add one of them" if len(models) > 1 else "add it"
            raise IsamapError(f"{name} is for {texts}", hint=hint)
    if cost == "emulated" and candidates is not None:
        from isamap.costmodels import Emulated  # start-up time

        return Emulated(candidates)
    if cost not in ("measured", "learned"):
        return cost
    from isamap.measured import Learned, Measured  # start-up time

    path = None if database is None else Path(database)
    if cost == "learned":
        return Learned(candidates or NUM_CANDIDATES, path)
    return Measured(candidates or PER_ROUND, path, seconds=SECONDS if seconds is None else seconds)


many_sizes_option = click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="NAME=NUMBERS",
    help="Sizes, as m=64,128, n=16..64:16 or k=8..64:*2; all combinations.",
)
sizes_table_option = click.option(
    "--sizes", "table", metavar="FILE", help="CSV file with a column per size."
)
layout_option = click.option(
    "--layout",
    "layouts",
    type=click.Choice(["natural", "packed"]),
    default="natural",
    show_default=True,
    help="Prefer buffers as they lie, or fewest cycles.",
)
verify_option = click.option(
    "--verify",
    "check",
    type=click.Choice(["full", "quick", "off"]),
    default="quick",
    show_default=True,
    help="Execute the program, a cut-down one, or nothing.",
)
allow_option = click.option(
    "--allow",
    "allowed",
    multiple=True,
    type=click.Choice(["reassociate"]),
    help="Allow reordering floating-point sums.",
)


effort_option = click.option(
    "--effort",
    type=click.FloatRange(0),
    help="Seconds of counted work instead: the same answer every time.",
)


def time_limit_option(
    seconds: float, text: str
) -> Callable[[Callable[Arguments, None]], Callable[Arguments, None]]:
    """--time-limit."""
    kind = click.FloatRange(0)
    return click.option("--time-limit", type=kind, default=seconds, show_default=True, help=text)


def read_sizes(texts: tuple[str, ...]) -> dict[str, int]:
    """`m=512` -> {"m": 512}; IsamapError for anything else, and for two sizes of one name."""
    sizes: dict[str, int] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value.isdecimal():  # 0: a padding, for example
            raise IsamapError(
                f"--size {text!r} is not NAME=NUMBER", hint="for example --size m=512"
            )
        if name in sizes:
            raise IsamapError(
                f"--size {name} is given twice, as {sizes[name]} and {int(value)}",
                hint="isamap explore maps several sizes: --size m=64,128",
            )
        sizes[name] = int(value)
    return sizes


@dataclass(frozen=True, slots=True)
class Views:
    """Files that show a program over time, and how many of its calls one by one."""

    trace: str | None
    report: str | None
    max_calls: int

    @property
    def are_wanted(self) -> bool:
        """Is there any?"""
        return self.trace is not None or self.report is not None

    def check(self) -> None:
        """IsamapError for standard output."""
        for option, path in (("--trace", self.trace), ("--report", self.report)):
            if path == "-":
                raise IsamapError(f"{option} - : it is a file", hint=f"for example {option} out")


def view_options(command: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """--trace, --report, --trace-calls: what `Views` holds."""
    for option in reversed(
        (
            click.option(
                "--trace",
                metavar="FILE",
                help="Write every call's time as JSON for Perfetto (ui.perfetto.dev) or"
                " chrome://tracing.",
            ),
            click.option(
                "--report",
                metavar="FILE",
                help="Write one HTML page that needs no network: timeline, roofline, memory over"
                " time, bounds, listing.",
            ),
            click.option(
                "--trace-calls",
                default=TRACE_CALLS,
                show_default=True,
                type=click.IntRange(0),
                metavar="N",
                help="How many calls, from the first on, are recorded one by one.",
            ),
        )
    ):
        command = option(command)
    return command
