"""A small reader of Timeloop's files that walks the mapped nest and counts what moves.

In: the texts of architecture, problem and mapping. Out: elements read from and written to every
storage level. Not its job: windows that overlap, times, energies.

Written from Timeloop's description of mappings, not from the writer: a level holds, of each array
that it keeps, what the loops at and below it touch; it is filled when the loops above change that.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

FACTOR = re.compile(r"([A-Za-z]+)\s*=*\s*([0-9]+)(?:,([0-9]+))?")
Box = tuple[tuple[int, int], ...]  # start and size along each dimension of an array
Point = dict[tuple[int, str], int]  # (subnest, dimension) -> index


@dataclass
class SubNest:
    """The loops of one directive, outermost first."""

    level: str
    is_spatial: bool
    ends: dict[str, tuple[int, int]]
    order: list[str]


@dataclass
class Counts:
    """Elements per (level, array)."""

    reads: Counter[tuple[str, str]] = field(default_factory=Counter)
    writes: Counter[tuple[str, str]] = field(default_factory=Counter)


class Mapped:
    """A problem mapped onto levels, outermost first."""

    def __init__(self, architecture: str, problem: str, mapping: str) -> None:
        local = yaml.safe_load(architecture)["architecture"]["subtree"][0]["local"]
        self.components = {row["name"].split("[")[0]: row for row in local}
        self.problem = yaml.safe_load(problem)["problem"]
        self.dimensions: list[str] = self.problem["shape"]["dimensions"]
        directives = yaml.safe_load(mapping)["mapping"]
        self.kept = {
            row["target"]: set(row["keep"]) for row in directives if row["type"] == "bypass"
        }
        self.nests = [self.read_nest(row) for row in directives if row["type"] != "bypass"]
        self.check()

    def read_nest(self, row: dict[str, str]) -> SubNest:
        ends = {d: (int(n), int(rest or n)) for d, n, rest in FACTOR.findall(row["factors"])}
        return SubNest(
            row["target"], row["type"] == "spatial", ends, list(row["permutation"])[::-1]
        )

    def check(self) -> None:
        """What the model's parser checks: names, all dimensions everywhere, products."""
        names = list(self.components)
        temporal = [nest.level for nest in self.nests if not nest.is_spatial]
        assert temporal == names[:-1], "every storage level once, outermost first"
        for nest in self.nests:
            assert sorted(nest.ends) == sorted(nest.order) == sorted(self.dimensions)
        for dimension in self.dimensions:
            covered = 0
            for nest in self.nests:
                end, rest = nest.ends[dimension]
                covered = covered * end + rest - 1
            assert covered + 1 == self.problem["instance"][dimension]
        fanout = 1
        for end, _ in self.nests[-1].ends.values():
            fanout *= end
        count = re.search(r"\.\.(\d+)\]", list(self.components.values())[-1]["name"])
        assert count is not None and fanout <= int(count[1])

    def depth(self, array: str) -> list[int]:
        """Numbers of the temporal nests whose levels keep the array, outermost first."""
        return [
            n
            for n, nest in enumerate(self.nests)
            if not nest.is_spatial and array in self.kept[nest.level]
        ]

    def extents(self, point: Point, first: int) -> dict[str, tuple[int, int]]:
        """Start and size along each dimension of what nests `first`.. touch at a point of those
        above."""
        found = {}
        for dimension in self.dimensions:
            start, is_last = 0, True
            for number in range(first):
                end, rest = self.nests[number].ends[dimension]
                index = point[number, dimension]
                start = start * end + index
                is_last = is_last and index == (rest if is_last else end) - 1
            full, last = 1, 0
            for number in range(first, len(self.nests)):
                end, rest = self.nests[number].ends[dimension]
                full, last = full * end, last * end + rest - 1
            found[dimension] = (start * full, last + 1 if is_last else full)
        return found

    def points(self, number: int, point: Point) -> Iterator[Point]:
        """All iterations of the temporal nests from `number` on, in order."""
        if self.nests[number].is_spatial:
            yield point
            return
        yield from self.rounds(number, list(self.nests[number].order), point)

    def rounds(self, number: int, order: list[str], point: Point) -> Iterator[Point]:
        if not order:
            yield from self.points(number + 1, point)
            return
        dimension, *inner = order
        end, rest = self.nests[number].ends[dimension]
        is_last = all(
            point[n, dimension] == self.nests[n].ends[dimension][1] - 1 for n in range(number)
        )
        for index in range(rest if is_last else end):
            yield from self.rounds(number, inner, {**point, (number, dimension): index})

    def count(self, begins: bool) -> Counts:
        """Walk everything; `begins`: outputs hold values that are read at first."""
        counts = Counts()
        arrays = {row["name"]: row for row in self.problem["shape"]["data_spaces"]}
        here: dict[tuple[str, int], Box] = {}
        seen: set[tuple[str, int, Box]] = set()
        for point in self.points(0, {}):
            for array, row in arrays.items():
                levels = self.depth(array)
                for parent, child in zip(levels, levels[1:]):
                    tile = self.tile(row, point, child)
                    old = here.get((array, child))
                    if tile == old:
                        continue
                    if old is not None and row.get("read_write"):
                        self.move(counts, array, child, parent, old)
                    if not row.get("read_write") or begins or (array, child, tile) in seen:
                        self.move(counts, array, parent, child, tile)
                    here[array, child] = tile
                    seen.add((array, child, tile))
                name = self.nests[levels[-1]].level
                size = volume(self.tile(row, point, len(self.nests) - 1))
                counts.reads[name, array] += size
                if row.get("read_write"):
                    counts.writes[name, array] += size
        for (array, child), tile in here.items():
            if arrays[array].get("read_write"):
                levels = self.depth(array)
                self.move(counts, array, child, levels[levels.index(child) - 1], tile)
        return counts

    def tile(self, row: dict[str, list[list[list[str]]]], point: Point, first: int) -> Box:
        """Start and size along the array's dimensions of what a level holds."""
        extents = self.extents(point, first)
        found = []
        for terms in row["projection"]:
            steps = [self.problem["instance"][t[1]] if len(t) > 1 else 1 for t in terms]
            pairs = [extents[term[0]] for term in terms]
            start = sum(step * at for step, (at, _) in zip(steps, pairs, strict=True))
            size = 1 + sum(step * (n - 1) for step, (_, n) in zip(steps, pairs, strict=True))
            found.append((start, size))
        return tuple(found)

    def move(
        self,
        counts: Counts,
        array: str,
        source: int,
        target: int,
        tile: Box,
    ) -> None:
        counts.reads[self.nests[source].level, array] += volume(tile)
        counts.writes[self.nests[target].level, array] += volume(tile)


def volume(tile: Box) -> int:
    """Elements of a box."""
    result = 1
    for _, size in tile:
        result *= size
    return result
