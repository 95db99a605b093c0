"""How a schedule file says which cores share what: edited splits, and mistakes in them."""

import re
from pathlib import Path

import pytest

import isamap
from isamap.compile import Result
from isamap.errors import SpecErrors
from isamap.files import evaluate, schedule_text

SIZES = {"m": 100, "n": 130, "k": 40}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A schedule on mesh whose rows share i and whose columns share j, brought one by one."""
    folder = tmp_path_factory.mktemp("cores")
    result = isamap.map("gemm", "mesh", sizes=SIZES, verify="off", time_limit_s=4)
    assert isinstance(result, Result)
    lines = [
        line
        for line in schedule_text(result, folder).split("\n")
        if not line.startswith(("  cores:", "  multicast:", "    i:", "    j:", "    p:"))
    ]
    # what stays for several tiles depends on the sizes that are replaced here
    lines = [re.sub(r", keeps: \[[^]]*\]", "", line) for line in lines]
    at = lines.index("  tiles:")
    lines[at + 1 : at + 1] = ["    i: 16", "    j: 16", "    p: 16"]
    lines[at:at] = ["  cores: {i: {row: 2}, j: {column: 2}}", "  multicast: {}"]
    return "\n".join(lines)


def test_an_edited_split_is_emulated_and_verified(text: str, tmp_path: Path) -> None:
    path = tmp_path / "schedule.yaml"
    way = text.replace("multicast: {}", "multicast: {A: load_row, B: load_column}")
    path.write_text(way, encoding="utf-8")
    found = evaluate(path, verify="full").result
    assert isinstance(found, Result)
    assert found.verification.is_verified
    shares = {(s.loop, s.axis, s.count) for s in found.schedule.covering.shares}
    assert shares == {("i", "row", 2), ("j", "column", 2)}
    assert found.timing is not None
    assert {"load_row", "load_column"} <= {name for name, _ in found.timing.calls}


@pytest.mark.parametrize(
    ("old", "new", "at", "message", "hint"),
    [
        ("{i: {row: 2}", "{p: {row: 2}", "{p:", "loops cannot be shared out like this", "{i: {row"),
        ("{i: {row: 2}", "{i: {row: 3}", "{i:", "loops cannot be shared out like this", "{i: {row"),
        ("cast: {}", "cast: {A: load}", "{A: load}", "operands are not brought to", "{A: load_row"),
    ],
)
def test_splits_that_there_are_not(
    text: str, tmp_path: Path, old: str, new: str, at: str, message: str, hint: str
) -> None:
    path = tmp_path / "schedule.yaml"
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecErrors) as caught:
        evaluate(path, verify="off")
    error = next((e for e in caught.value.errors if message in e.message), None)
    assert error is not None, caught.value
    assert hint in error.hint
    assert error.loc is not None
    assert error.loc.text[error.loc.column - 1 :].startswith(at)
