"""The root of the command line: a table of commands, loaded when run; errors and exit codes.

In: arguments. Out: exit code 0 fine, 1 wrong program, 2 the user's mistake, 3 nothing found, 130
interrupted, 141 whoever reads has seen enough.
Not its job: what the commands do. `isamap --help` loads none of them.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

import click

import isamap
from isamap.errors import IsamapError, MappingError

from .exit_codes import EXIT_INTERRUPTED, EXIT_NOTHING_FOUND, EXIT_UNREAD, EXIT_USAGE

COMMANDS = {  # command: (module, one-line help)
    "map": ("map_command", "Map a kernel onto a machine: mapping, schedule, proof, check."),
    "mappings": ("mappings_command", "List or count every binding to a machine's instructions."),
    "evaluate": ("evaluate_command", "Cost, time and check a schedule that 'map -o' wrote."),
    "new-spec": ("new_spec_command", "Write a commented hardware file to begin with."),
    "check": ("check_command", "Check hardware files; all mistakes at once."),
    "build": ("build_command", "Compile a kernel to a C function and a library."),
    "explore": ("explore_command", "Map kernels onto every variant of a machine."),
    "tune": ("tune_command", "Measure the best schedules of many shapes on this processor."),
    "run-on": ("run_on_command", "Run a kernel on another machine's emulator and compare."),
    "detect": ("detect_command", "Say which machines this processor is, with measured peaks."),
    "disasm": ("disasm_command", "List a binary that 'map --emit bin' wrote."),
    "emulate": ("emulate_command", "Time a program that 'map --program' wrote."),
    "kernels": ("list_commands", "List the bundled kernels."),
    "specs": ("list_commands", "List the bundled machines."),
    "schema": ("schema_command", "Print the JSON Schema of hardware files, for editors."),
}


class LazyGroup(click.Group):
    """Commands from a table, imported when they run; user mistakes become messages."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f".{COMMANDS[cmd_name][0]}", __package__)
        command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        assert isinstance(command, click.Command), cmd_name
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table itself: nothing is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`--help` and `--version` print here already."""
        with _told(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run; print a user's mistake without a traceback unless `--debug`."""
        with _told(ctx):
            return super().invoke(ctx)


@contextmanager
def _told(ctx: click.Context) -> Iterator[None]:
    """Mistakes become messages and exit codes, but for `--debug`."""
    try:
        yield
    except IsamapError as error:
        if ctx.params.get("debug"):
            raise
        click.echo(f"error: {error}", err=True)
        is_empty = isinstance(error, MappingError)
        ctx.exit(EXIT_NOTHING_FOUND if is_empty else EXIT_USAGE)
    except OSError as error:  # where files are named, messages are: this is standard output
        if error.errno == errno.EPIPE:  # a reader that has seen enough is no mistake
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nor what is left
            ctx.exit(EXIT_UNREAD)
        if ctx.params.get("debug") or error.errno is None:
            raise
        named = "" if error.filename is None else f"{error.filename}: "
        click.echo(f"error: {named}{error.strerror}", err=True)
        ctx.exit(EXIT_USAGE)
    except KeyboardInterrupt:  # where nothing is found yet, or a command does not keep it
        click.echo("interrupted", err=True)
        ctx.exit(EXIT_INTERRUPTED)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(isamap.__version__, prog_name="isamap")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
def main(debug: bool) -> None:
    """Map tensor kernels onto accelerators described in YAML.

    Try: isamap map gemm --hw gemmini --size m=512
    """
