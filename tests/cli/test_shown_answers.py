"""What README.md and docs/answers.md show is what the tool prints.

In: the pages. Out: verdicts. Not its job: the other pages.
"""

import pytest

from tests.console_blocks import blocks_of, run_commands

SHOWN = [
    (page, text)
    for page in ("README.md", "docs/answers.md")
    for kind, _, text in blocks_of(page)
    if kind == "console"
]


@pytest.mark.parametrize(("page", "block"), SHOWN, ids=[text.split("\n")[0] for _, text in SHOWN])
def test_a_shown_command_prints_what_is_shown(page: str, block: str) -> None:
    run_commands(block)
