"""Whatever happens to a hardware file: a list of errors with places, never a crash."""

import random
from pathlib import Path

import pytest

from isamap.hwdesc import check_hardware

FILES = sorted((Path(__file__).parents[2] / "hw_specs").glob("*.yaml"))
WORDS = (
    ("{}", "[]", "-1", "1e400", "~", "true", "'", '"', ":", "  ", "\t", "|", "16 bytes", "free")
    + ("&a", "*a", "(", "**", "é", "\x00", "9" * 120, "nan", "0x", "1 cycle", "- a", "1if", "@")
)  # fmt: skip


def damaged(text: str, rng: random.Random) -> str:
    """The text with one line gone, doubled, or with a word replaced or put in."""
    lines = text.split("\n")
    here, word = rng.randrange(len(lines)), rng.choice(WORDS)
    match rng.randrange(4):
        case 0:
            del lines[here]
        case 1:
            lines.insert(here, rng.choice(lines))
        case 2:
            words = lines[here].split(" ")
            words[rng.randrange(len(words))] = word
            lines[here] = " ".join(words)
        case _:
            column = rng.randrange(len(lines[here]) + 1)
            lines[here] = lines[here][:column] + word + lines[here][column:]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(8))
def test_damage_gives_errors_with_places(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    file = tmp_path / "x.yaml"
    found = 0
    for _ in range(40):
        text = damaged(rng.choice(FILES).read_text(), rng)
        if rng.random() < 0.5:
            text = damaged(text, rng)
        file.write_text(text)
        for error in check_hardware(file):
            found += 1
            assert error.loc is not None, error
            assert 1 <= error.loc.column <= len(error.loc.text) + 1, error
    assert found > 10
