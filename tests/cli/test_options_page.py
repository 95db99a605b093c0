"""docs/options.md lists every option of every command, in the words of `--help`.

In: the commands. Out: the page, written by `--update-golden`. Not its job: what options do.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from isamap.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "options.md"
HEAD = """\
# Options

In the words of `isamap COMMAND --help`; what the commands are for: [commands.md](commands.md).
(`pytest tests/cli/test_options_page.py --update-golden` writes this page anew.)
"""


def section(name: str, command: click.Command) -> Iterator[str]:
    """One command: what it does, and a table of its options."""
    yield from ("", f"## {name}", "", " ".join((command.help or "").split()))
    rows = [row(option) for option in command.params if isinstance(option, click.Option)]
    yield from ("", "| | |", "|---|---|", *rows) if rows else ()


def row(option: click.Option) -> str:
    """An option: its names, what it takes, what it is for; click's own wording has changed."""
    taken = option.metavar or ""
    if isinstance(option.type, click.Choice):
        taken = r"\|".join(option.type.choices)
    elif not option.is_flag and not taken:
        taken = "N" if option.type.name.startswith(("integer", "float")) else "NAME"
    names = ", ".join([*option.opts, *option.secondary_opts])
    told = (option.help or "").replace("|", r"\|")
    default = f" [{option.default}]" if option.show_default and not option.is_flag else ""
    needed = " [required]" if option.required else ""
    return f"| `{' '.join([names, *taken.split()])}` | {told}{default}{needed} |"


def test_every_option_is_on_the_page(golden: Callable[[Path, str], None]) -> None:
    context = click.Context(main)
    lines = [HEAD.rstrip()]
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        lines += section(name, command)
    golden(PAGE, "\n".join([*lines, ""]))
