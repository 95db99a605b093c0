"""Many sizes of a kernel, from the command line or a table.

In: texts such as `m=64,128`, `n=16..64:16`, `k=8..64:*2`; a CSV file. Out: shapes, each once. Not
its job: whether the kernel can be built at them.
"""

import csv
from collections.abc import Collection, Iterator
from itertools import product
from pathlib import Path

from isamap.errors import IsamapError, Loc, closest

from .read_ranges import read_range

Shape = dict[str, int]
EXAMPLE = "for example --size m=64,128 or --size n=16..64:16"


def read_shapes(
    texts: tuple[str, ...], file: str | None, known: Collection[str]
) -> tuple[Shape, ...]:
    """Every combination of the sizes given as texts; with a file, for each of its rows.

    `known`: the kernel's sizes. Columns with other names are ignored, if there is one that counts.

    Raises:
        IsamapError: a text or a file that cannot be read; where, and what was expected.
    """
    ranges: dict[str, tuple[int, ...]] = {}
    for text in texts:
        name, numbers = _read_range(text, known)
        if name in ranges:
            raise IsamapError(f"--size {name} is given twice", hint=EXAMPLE)
        ranges[name] = numbers
    rows = [{}] if file is None else list(_read_rows(Path(file), known))
    shapes = [
        {**row, **dict(zip(ranges, choice, strict=True))}
        for row in rows
        for choice in product(*ranges.values())
    ]
    unique = {tuple(sorted(shape.items())): shape for shape in shapes}
    return tuple(unique.values())


def _read_range(text: str, known: Collection[str]) -> tuple[str, tuple[int, ...]]:
    name, _, values = text.partition("=")
    if name not in known:
        hint = closest(name, known) or f"its sizes are {', '.join(known)}"
        raise IsamapError(f"--size {text!r}: the kernel has no size {name!r}", hint=hint)
    numbers: list[int] = []
    for part in values.split(","):
        found = read_range(part, f"--size {text!r}", EXAMPLE)
        if found is not None:
            numbers += found
        elif part.strip().isdecimal():
            numbers.append(int(part))
        else:
            raise IsamapError(f"--size {text!r} is not NAME=NUMBERS", hint=EXAMPLE)
    if not numbers:
        raise IsamapError(f"--size {text!r} has no number", hint=EXAMPLE)
    return name, tuple(numbers)


def _read_rows(path: Path, known: Collection[str]) -> Iterator[Shape]:
    """The rows of a CSV file whose first line names columns."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()  # spreadsheets begin with a mark
    except (OSError, UnicodeDecodeError) as error:
        raise IsamapError(f"cannot read {path}: {error}") from error
    table = csv.reader(lines)
    names = [cell.strip() for cell in next(table, [])]
    head = Loc(str(path), 1, 1, lines[0] if lines else "")
    if not set(names) & set(known):
        raise IsamapError(
            f"no column of {path} is a size of the kernel",
            loc=head,
            hint=f"its sizes are {', '.join(known)}",
        )
    for name in known:
        if names.count(name) > 1:
            hint = "rename those that do not count"
            raise IsamapError(f"{names.count(name)} columns are named {name}", loc=head, hint=hint)
    is_empty = True
    for cells in table:
        if any(cell.strip() for cell in cells):
            is_empty = False
            yield _read_row(path, table.line_num, lines, names, cells, known)
    if is_empty:
        raise IsamapError(f"{path} has no row below its first line", loc=head)


def _read_row(
    path: Path,
    number: int,
    lines: list[str],
    names: list[str],
    cells: list[str],
    known: Collection[str],
) -> Shape:
    given = {name: cell.strip() for name, cell in zip(names, cells) if name in known}
    missing = [name for name in names if name in known and not given.get(name)]
    wrong = [*missing, *(n for n, c in given.items() if not c.isdecimal())]
    if wrong:
        raise IsamapError(
            f"{wrong[0]} is {given.get(wrong[0], '')!r}, expected a number",
            loc=Loc(str(path), number, 1, lines[number - 1]),
        )
    return {name: int(cell) for name, cell in given.items()}
