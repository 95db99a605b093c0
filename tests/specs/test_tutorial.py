"""docs/new-accelerator.md, block by block.

In: the page. Out: verdicts. Not its job: prose.

Blocks: `yaml` is added to the file, or is the file that stands behind it; `edit` replaces text in
the file; `console` runs commands and compares what they print, `...` stands for anything.
"""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from isamap.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "new-accelerator.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FILE = Path("brook.yaml")


def run_commands(block: str) -> None:
    """Every `$ isamap` line prints the lines below it."""
    for part in re.split(r"^\$ isamap ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = CliRunner().invoke(main, command.split())
        pattern = ".*?".join(re.escape(piece) for piece in expected.rstrip().split("..."))
        assert re.fullmatch(pattern, done.output.rstrip(), re.DOTALL), f"{command}\n{done.output}"


def test_the_page_builds_a_machine_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = ""
    for kind, file, block in BLOCKS:
        match kind:
            case "yaml" if file:
                Path(file).write_text(block)
            case "yaml":
                text += f"\n{block}"
            case "edit":
                old, new = block.split("---\n")
                assert text.count(old) == 1
                text = text.replace(old, new)
            case "console":
                FILE.write_text(text)
                run_commands(block)
            case _:
                pytest.fail(f"what is a {kind} block?")
    assert {kind for kind, _, _ in BLOCKS} == {"yaml", "edit", "console"}
