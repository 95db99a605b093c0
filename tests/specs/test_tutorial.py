"""docs/new-accelerator.md, block by block.

In: the page. Out: verdicts. Not its job: prose.

Blocks: `yaml` is added to the file, or is the file that stands behind it; `edit` replaces text in
the file; `console` runs commands and compares what they print, `...` stands for anything.
"""

from pathlib import Path

import pytest

from tests.console_blocks import blocks_of, run_commands

BLOCKS = blocks_of("docs/new-accelerator.md")
FILE = Path("brook.yaml")


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
