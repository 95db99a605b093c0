"""Are plans behind what the stored table of the same bench says?

In: a bench's table as it was stored, lines of the same columns. Out: which rows take more cycles
than there, count fewer of what is looked for, or are no longer proven optimal, in words. Not its
job: measuring, making lines (`table_text`), times of real processors, which move by themselves.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from table_text import Columns, titles

RESULTS = Path(__file__).resolve().parent / "results"
MOST = 1.01  # of the stored cycles
STATUS, PROVEN = "status", "optimal"  # the column of tables that have one, and what may not be lost

Cells = dict[str, str]  # by title


@dataclass(frozen=True, slots=True)
class Stored:
    """Rows of a table by their `names`, the columns that tell them apart. Of the columns `cycles`,
    the first one that both rows know is compared. `is_found`: they count what is found instead, of
    which any fewer are worse."""

    file: str
    columns: Columns
    names: tuple[str, ...]
    cycles: tuple[str, ...]
    is_found: bool = False
    rows: dict[tuple[str, ...], Cells] = field(default_factory=dict)

    def behind(self, line: str) -> str:
        """What is worse in a new row than in the stored one; "" where nothing is, or none is."""
        new = _cells(self.columns, line)
        key = self._key(new)
        old = self.rows.get(key)
        if old is None:
            return ""
        reason = self._worse_cycles(old, new)
        if not reason and old.get(STATUS) == PROVEN != new[STATUS]:
            reason = f"{STATUS} {PROVEN} -> {new[STATUS]}"
        return f"{' '.join(key)}: {reason}" if reason else ""

    def _worse_cycles(self, old: Cells, new: Cells) -> str:
        for name in self.cycles:
            before, now = _number(old[name]), _number(new[name])
            if before is not None and now is not None:
                share = f", {now / before - 1:+.1%}" if before else ""
                is_behind = now < before if self.is_found else now > MOST * before
                return f"{name} {before} -> {now}{share}" if is_behind else ""
        is_lost = any(_number(old[name]) is not None for name in self.cycles)
        return "no cycles are known any more" if is_lost else ""

    def has(self, line: str) -> bool:
        """Is there a row to compare a new one with?"""
        return self._key(_cells(self.columns, line)) in self.rows

    def _key(self, cells: Cells) -> tuple[str, ...]:
        return tuple(cells[name] for name in self.names)


def read_stored(
    file: Path,
    columns: Columns,
    names: tuple[str, ...],
    cycles: tuple[str, ...],
    is_found: bool = False,
) -> Stored:
    """The rows between the titles and an empty line; none where there is no such file.

    Raises:
        ValueError: the file has other columns.
    """
    stored = Stored(file.name, columns, names, cycles, is_found)
    if not file.exists():
        return stored
    lines = file.read_text().splitlines()
    if titles(columns) not in lines:
        raise ValueError(f"{file}: its columns are not those of this bench; store it anew")
    for line in lines[lines.index(titles(columns)) + 1 :]:
        if not line:
            break
        cells = _cells(columns, line)
        stored.rows[stored._key(cells)] = cells
    return stored


def complain(stored: Stored, lines: Iterable[str]) -> None:
    """Say on standard error what fell behind, and end with exit status 1 if something did."""
    lines = list(lines)
    compared = sum(map(stored.has, lines))
    behind = [text for text in map(stored.behind, lines) if text]
    print(f"{compared} of {len(lines)} rows compared with {stored.file}, {len(behind)} behind",
          *(f"BEHIND {text}" for text in behind), sep="\n", file=sys.stderr)  # fmt: skip
    if behind:
        sys.exit(1)


def _cells(columns: Columns, line: str) -> Cells:
    """By their places: a cell may be empty, or have spaces in it; one that is wider than its column
    moves the others on."""
    cells: Cells = {}
    begin = 0
    for name, width in columns:
        end = line.find(" ", begin + abs(width)) if width else len(line)
        end = len(line) if end < 0 else end
        cells[name] = line[begin:end].strip()
        begin = end + 1
    return cells


def _number(cell: str) -> int | None:
    """None where it is not known; an empty cell of a table of counts says 0."""
    if not cell:
        return 0
    digits = cell.rstrip("~")
    return int(digits) if digits.isdigit() else None
