"""What docs/cost-models.md shows is what the tool prints.

In: the page. Out: verdicts. Not its job: mistakes that the page does not show.
"""

from pathlib import Path

import pytest

from tests.console_blocks import blocks_of, run_commands

BLOCKS = blocks_of("docs/cost-models.md")
COMMANDS = [text for kind, _, text in BLOCKS if kind == "console"]


@pytest.mark.parametrize("block", COMMANDS, ids=[text.split("\n")[0] for text in COMMANDS])
def test_the_pages_models_choose_as_shown(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, name, text in BLOCKS:
        if kind == "python":
            Path(name).write_text(text)
    run_commands(block)
