"""The tiling of a task in a schedule file.

In: the task's entry, its covering, the machine. Out: a legal tiling, or every rule that the entry
breaks, where it does. Not its job: which covering (`read_covering`).
"""

from dataclasses import dataclass

from isamap.costmodels import Stay, Tiling
from isamap.hwdesc import Hardware, Reader
from isamap.mapper import Covering, TiledLoop
from isamap.scheduler import MAX_SLOTS, Breach, Part, breaches, may_keep_units, option_breaches

from .schema import StayRef, TaskRef

Path = tuple[str | int, ...]


def read_tiling(
    reader: Reader, path: Path, task: TaskRef, covering: Covering, hw: Hardware
) -> Tiling | None:
    """The tiling, or None when a mistake was recorded."""
    return _TilingReader(reader, path, task, covering).read(hw)


@dataclass(frozen=True, slots=True)
class _TilingReader:
    """Reads one entry."""

    reader: Reader
    path: Path
    task: TaskRef
    covering: Covering

    def read(self, hw: Hardware) -> Tiling | None:
        before = self.reader.problems.count
        tiles = {loop.name: self._tile(loop) for loop in self.covering.loops}
        for name in self.task.tiles:
            self._known_loop(name, (*self.path, "tiles", name))
        counts = {x.name: -(-x.units // tiles[x.name]) for x in self.covering.loops}
        outer = self._order("outer", self.task.outer, counts, "tiles")
        inner = self._order("inner", self.task.inner, tiles, "blocks in a tile")
        stays = self._stays(hw)
        if self.reader.problems.count > before:
            return None
        sizes = tuple((loop.name, tiles[loop.name]) for loop in self.covering.loops)
        tiling = Tiling(sizes, outer, inner, stays)
        found = list(option_breaches(self.covering, tiling, hw))
        for breach in found or breaches(self.covering, tiling, hw):
            self.reader.error(breach.message, self._place(breach), breach.hint)
        return tiling if self.reader.problems.count == before else None

    def _known_loop(self, name: str, path: Path) -> bool:
        return self.reader.known("loop", name, (x.name for x in self.covering.loops), path)

    def _listed(self, names: tuple[str, ...], path: Path) -> list[str]:
        """Loops of a list, each once."""
        found: list[str] = []
        for position, name in enumerate(names):
            place = (*path, position)
            if not self._known_loop(name, place):
                continue
            if name in found:
                self.reader.error(
                    f"loop {name} is in '{path[-1]}' twice", place, "drop one of them"
                )
                continue
            found.append(name)
        return found

    def _tile(self, loop: TiledLoop) -> int:
        """Units in a tile."""
        path = (*self.path, "tiles", loop.name)
        size = self.task.tiles.get(loop.name)
        if size is None:
            self.reader.error(f"no tile of loop {loop.name}", (*self.path, "tiles"))
            return 1
        if size == loop.extent:
            return loop.units
        if not 0 < size < loop.extent:
            message = f"a tile of {loop.name} has 1 to {loop.extent} iterations, not {size}"
            self.reader.error(message, path)
            return 1
        units, rest = divmod(size, loop.block)
        if rest:
            near = [n * loop.block for n in (units, units + 1) if n]
            sizes = " or ".join(str(min(n, loop.extent)) for n in near)
            message = f"a tile of {loop.name} must be a multiple of its block of {loop.block}"
            self.reader.error(f"{message}, or all {loop.extent}", path, f"{sizes}")
        return max(units, 1)

    def _order(
        self, key: str, names: tuple[str, ...], counts: dict[str, int], what: str
    ) -> tuple[str, ...]:
        """Every loop once; those that run once may be left out."""
        order = self._listed(names, (*self.path, key))
        left = [loop for loop in self.covering.loops if loop.name not in order]
        for loop in left:
            if counts[loop.name] > 1:
                message = f"loop {loop.name} ({counts[loop.name]} {what}) is not in '{key}'"
                self.reader.error(message, (*self.path, key), f"add {loop.name}")
        first = [x.name for x in left if x.is_held] if key == "outer" else []
        return (*first, *order, *(x.name for x in left if x.name not in first))

    def _stays(self, hw: Hardware) -> tuple[Stay, ...]:
        """One per operand and memory, in the covering's order."""
        found: dict[tuple[str, int], Stay] = {}
        for position, ref in enumerate(self.task.stays):
            stay = self._stay(ref, (*self.path, "stays", position), hw)
            if stay is None:
                continue
            if (stay.operand, stay.residence) in found:
                message = f"a second stay of {stay.operand} in '{ref.memory}'"
                self.reader.error(message, (*self.path, "stays", position), "drop one of them")
            found[stay.operand, stay.residence] = stay
        stays = []
        for plan in self.covering.operands:
            for number, residence in enumerate(plan.residences):
                if (plan.name, number) in found:
                    stays.append(found[plan.name, number])
                    continue
                named = (plan.name, residence.memory)
                if not any((ref.operand, ref.memory) == named for ref in self.task.stays):
                    message = f"no stay of {plan.name} in '{residence.memory}'"
                    self.reader.error(message, (*self.path, "stays"), "add it")
        return tuple(stays)

    def _stay(self, ref: StayRef, path: Path, hw: Hardware) -> Stay | None:
        operands = {plan.name: plan for plan in self.covering.operands}
        if not self.reader.known("operand", ref.operand, operands, (*path, "operand")):
            return None
        plan = operands[ref.operand]
        memories = [residence.memory for residence in plan.residences]
        what = f"memory of {plan.name}"
        if not self.reader.known(what, ref.memory, memories, (*path, "memory")):
            return None
        if not 1 <= ref.slots <= MAX_SLOTS:
            self.reader.error(f"slots are 1 to {MAX_SLOTS}, not {ref.slots}", (*path, "slots"))
        level = 1 if ref.holds == "tile" else 0
        self._listed(ref.keeps, (*path, "keeps"))
        number = memories.index(ref.memory)
        if ref.keeps and not level and not may_keep_units(plan, number, hw):
            self.reader.error("single blocks keep no tiles", (*path, "keeps"), "'holds: tile'")
        return Stay(plan.name, number, level, ref.slots, ref.keeps)

    def _place(self, breach: Breach) -> Path:
        """Where in the file the broken rule is about."""
        if breach.part is Part.TILES:
            return (*self.path, "tiles", breach.subject)
        if breach.part is Part.OUTER:
            return (*self.path, "outer")
        plan = self.covering.operand(breach.subject)
        memory = plan.residences[breach.residence].memory
        named = [(ref.operand, ref.memory) for ref in self.task.stays]
        number = named.index((breach.subject, memory))
        path = (*self.path, "stays", number)
        keeps = self.task.stays[number].keeps
        return (*path, "keeps", keeps.index(breach.kept)) if breach.kept else path
