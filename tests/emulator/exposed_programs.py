"""Programs for the test machine without interlocks, and its rules once more.

In: rows and places. Out: Programs for `machines/tiny_exposed.yaml`; the least distances between
calls, from the machine's description by hand. Not its job: the emulator's way to find them.
"""

from dataclasses import dataclass, replace

from isamap.program import Issue, Node, Operand, Placement, Program, Run, Span, natural_layout
from tests.emulator.hand_programs import at, machine

HW = machine("tiny_exposed")
WEIGHTS, OUT = 4096, 8192  # in dram, behind the rows


@dataclass(frozen=True, slots=True)
class Row:
    """A call: `rows` rows from `source` (rows of dram, of `rows` or of `sums`) to `target`; `tile`:
    number of the tile fetched or read."""

    name: str
    rows: int = 4
    source: int = 0
    target: int = 0
    tile: int = 0

    def issue(self) -> Issue:
        """The call as a node."""
        a, b = self.source, self.target
        moved = (("l", Span(self.rows)), ("c", Span(4)))
        products = (("l", Span(self.rows)), ("j", Span(4)), ("k", Span(4)))
        match self.name:
            case "get":
                operands = (_rows("S", "dram", 4 * a), _rows("D", "rows", 4 * b))
                return Issue("get", operands, moved)
            case "put":
                operands = (_rows("S", "rows", 4 * a), _rows("D", "dram", OUT + 4 * b))
                return Issue("put", operands, moved)
            case "act":
                operands = (_sums("S", a), _rows("D", "rows", 4 * b))
                return Issue("act", operands, (("l", Span(self.rows)), ("j", Span(4))))
            case "fetch":
                tile = _rows("S", "dram", WEIGHTS + 16 * self.tile)
                entry = _rows("D", "tiles", self.tile % 2 * 16)
                return Issue("fetch", (tile, entry), (("k", Span(4)), ("j", Span(4))))
            case _:
                tile = _rows("W", "tiles", self.tile % 2 * 16)
                operands = (_rows("A", "rows", 4 * a), tile, _sums("C", b))
                return Issue(self.name, operands, products)


def _rows(name: str, memory: str, address: int) -> Operand:
    return Operand(name, memory, at(address), (4, 1))


def _sums(name: str, row: int) -> Operand:
    return Operand(name, "sums", at(16 * row), (16, 4))


def program(rows: list[Row], starts: list[int] | None = None) -> Program:
    """The calls in order, started when `starts` says."""
    issues = [row.issue() for row in rows]
    if starts is not None:
        runs = [(Run(start, 0, 1),) for start in starts]
        issues = [replace(issue, starts=run) for issue, run in zip(issues, runs, strict=True)]
    body: tuple[Node, ...] = tuple(issues)
    inputs = (
        Placement("A", 0, natural_layout("i8", (64, 4))),
        Placement("W", WEIGHTS, natural_layout("i8", (16, 4, 4))),
    )
    outputs = (Placement("C", OUT, natural_layout("i8", (64, 4))),)
    return Program(
        "rows", "tiny_exposed", (*inputs, Placement("C", OUT, outputs[0].layout)), outputs, body
    )


UNIT = {"get": "in", "fetch": "tile", "mul": "mul", "mul_first": "mul", "act": "act", "put": "out"}


def issue_cycles(row: Row) -> int:
    """How long the call keeps its unit."""
    if row.name == "fetch":
        return 4
    return row.rows + 1 if row.name.startswith("mul") else row.rows


def touched(row: Row) -> list[tuple[str, int, bool, int, int, bool]]:
    """(memory, row, written, begin, end, update) after the start, one row of a memory each: reads
    hold it from begin to end, writes are visible at end."""
    found: list[tuple[str, int, bool, int, int, bool]] = []
    for i in range(row.rows):
        match row.name:
            case "get":
                found.append(("rows", row.target + i, True, i, i + 1, False))
            case "put":
                found.append(("rows", row.source + i, False, i, i + 1, False))
                found.append(("out", row.target + i, True, i, i + 2, False))
            case "act":
                found.append(("sums", row.source + i, False, i, i + 1, False))
                found.append(("rows", row.target + i, True, i, i + 1, False))
            case "mul" | "mul_first":
                found.append(("rows", row.source + i, False, i, i + 2, False))
                found.append(("sums", row.target + i, True, i, i + 9, True))
    if row.name == "fetch":
        found.append(("tiles", row.tile % 2, True, 0, 9, False))
    if row.name.startswith("mul"):
        found.append(("tiles", row.tile % 2, False, 0, row.rows + 1, False))
    return found


def least_distance(first: Row, then: Row) -> int | None:
    """Cycles between the starts of two calls that follow each other in program order, but for ports
    and new tiles; None: any order."""
    least = [issue_cycles(first)] if UNIT[first.name] == UNIT[then.name] else []
    for memory, place, is_written, begin, end, is_update in touched(first):
        for other, there, writes, after, _, updates in touched(then):
            if (memory, place) != (other, there) or not (is_written or writes):
                continue
            is_added = is_update and updates and then.name == "mul"
            least.append((begin + 1 if is_added else end) - after)
    return max(least, default=None)
