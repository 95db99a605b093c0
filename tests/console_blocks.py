"""Commands that a page shows, with what they print.

In: a page. Out: an assertion that fails where the tool prints something else. Not its job: prose.
"""

import re
from pathlib import Path

from click.testing import CliRunner

from isamap.cli.main import main

ROOT = Path(__file__).parents[1]


def blocks_of(page: str) -> list[tuple[str, str, str]]:
    """Kind, name behind it (or nothing) and text of every fenced block of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run_commands(block: str) -> None:
    """Every `$ isamap` line prints the lines below it; `...` stands for anything."""
    for part in re.split(r"^\$ isamap ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = CliRunner().invoke(main, command.split())
        pattern = ".*?".join(re.escape(piece) for piece in expected.rstrip().split("..."))
        assert re.fullmatch(pattern, done.output.rstrip(), re.DOTALL), f"{command}\n{done.output}"
