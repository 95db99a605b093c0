"""What docs/cost-models.md shows is what the tool prints.

In: the page. Out: verdicts. Not its job: mistakes that the page does not show.
"""

from pathlib import Path

import pytest

from isamap.errors import IsamapError
from isamap.processor import NATIVE, find_machine
from tests.console_blocks import blocks_of, run_commands

BLOCKS = blocks_of("docs/cost-models.md")
COMMANDS = [text for kind, _, text in BLOCKS if kind == "console"]


def runs_here() -> bool:
    """Is there a machine file for this processor?"""
    try:
        find_machine(NATIVE)
    except IsamapError:
        return False
    return True


@pytest.mark.parametrize("block", COMMANDS, ids=[text.split("\n")[0] for text in COMMANDS])
def test_the_pages_models_choose_as_shown(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "--hw native" in block and not runs_here():
        pytest.skip("no bundled machine is this processor, or there is no C compiler")
    for kind, name, text in BLOCKS:
        if kind == "python":
            Path(name).write_text(text)
    run_commands(block)
