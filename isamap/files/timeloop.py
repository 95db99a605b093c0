"""A schedule as Timeloop's model reads it: architecture, problem and mapping.

In: a Result. Out: three YAML texts in format 0.4, as the `timeloop-model` program takes them. Not
its job: energies (Accelergy's), schedules of several tasks.

Every stay becomes a storage level of its own, outermost first: a stay that keeps tiles of loops
lies outside those loops. One call is one cycle of as many multipliers as a block has products.
Numbers of partial tiles and blocks are residual factors: `16,8` means 16, and 8 the last time.
Source: NVlabs/timeloop, src/mapping/parser.cpp (factors, residues, permutation from inner to
outer); timeloop.csail.mit.edu, input formats.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from string import ascii_uppercase

from isamap.compile import PlanResult, Result
from isamap.costmodels import Stay, Tiling, trips
from isamap.errors import IsamapError
from isamap.hwdesc import Direction, Hardware, Memory
from isamap.ir import (
    DTYPES,
    Access,
    Apply,
    Expr,
    Kernel,
    Role,
    pretty_statement,
    size_bytes,
)
from isamap.mapper import Covering, OperandPlan, Transfer
from isamap.scheduler import memory_of

from .yaml_text import Value, yaml_text

VERSION = "0.4"
TIMELOOP_FILES = tuple(f"timeloop_{x}.yaml" for x in ("architecture", "problem", "mapping"))
PRODUCT = "*"
PASSED = "passed"  # a level that holds nothing: Timeloop has each loop once per level
HINT = "Timeloop models one sum of products of two arrays, tile by tile"


@dataclass(frozen=True, slots=True)
class _Level:
    """A storage level: one stay, and the loops between it and the next one, outermost first."""

    name: str
    stay: Stay | None  # None: the external memory, or nothing
    outer: tuple[str, ...]  # loops over tiles
    inner: tuple[str, ...] = ()  # loops over blocks


def timeloop_files(result: Result | PlanResult) -> Mapping[str, str]:
    """File names and texts.

    Raises:
        IsamapError: Timeloop cannot express the schedule; the message says what.
    """
    if isinstance(result, PlanResult):
        count = len(result.plan.tasks)
        tasks = f"{count} task{'s' if count > 1 else ''}"
        message = f"--emit timeloop: the schedule is a plan of {tasks}, not one nest of loops"
        raise IsamapError(message, hint=HINT)
    schedule = result.schedule
    return _Writer(result.kernel, schedule.covering, schedule.tiling, result.hardware).files()


class _Writer:
    """Writes the files of one schedule."""

    def __init__(self, kernel: Kernel, covering: Covering, tiling: Tiling, hw: Hardware) -> None:
        self.kernel = kernel
        self.covering = covering
        self.tiling = tiling
        self.hw = hw
        self.statement = covering.kernel.statements[covering.statement]
        self.refuse_what_is_no_einsum()
        names = [loop.name for loop in self.statement.loops]
        self.letters = _letters(names)
        self.access = {plan.name: self.access_of(plan) for plan in covering.operands}
        self.levels = self.lay_out_levels()
        self.multipliers = prod(self.block(name) for name in names)
        instruction = hw.instruction(covering.instruction)
        blocks = {
            loop: prod(covering.loop(name).block for name in group)
            for loop, group in covering.binding
        }
        values = {**{r.name: 1 for r in instruction.repeats}, **blocks}
        self.issue_cycles = instruction.issue_cycles.evaluate(values)

    def refuse_what_is_no_einsum(self) -> None:
        """IsamapError for everything but `C[..] += A[..] * B[..]` of different arrays."""
        text = pretty_statement(self.statement)
        if len(self.statement.loops) > len(ascii_uppercase):
            raise IsamapError("--emit timeloop: more loops than letters", hint=HINT)
        if self.covering.shares:
            raise IsamapError("--emit timeloop: several cores share loops", hint=HINT)
        if any(stay.kept_units for stay in self.tiling.stays):
            raise IsamapError("--emit timeloop: blocks stay side by side", hint=HINT)
        factors = _factors(self.statement.value)
        read = [factor.buffer for factor in factors or ()]
        names = {*read, self.statement.target.buffer}
        if self.statement.update != "+=" or len(read) != 2 or len(names) != 3:
            raise IsamapError(f"--emit timeloop: not a sum of products: {text}", hint=HINT)
        for access in self.statement.accesses:
            if any(step < 0 for index in access.indices for _, step in index.terms):
                message = f"--emit timeloop: {access.buffer} is read backwards: {text}"
                raise IsamapError(message, hint=HINT)
        for plan in self.covering.operands:
            if plan.buffer not in names:
                message = f"--emit timeloop: operand {plan.name} is no array of the kernel"
                raise IsamapError(message, hint=HINT)
            for _, name, end in plan.ends:
                if end.layout.is_replicated:
                    message = f"--emit timeloop: {name} lies with windows written out (im2col)"
                    raise IsamapError(message, hint=HINT)

    def access_of(self, plan: OperandPlan) -> Access:
        """The kernel's access to an operand's buffer."""
        found = self.statement.accesses
        return next(access for access in found if access.buffer == plan.buffer)

    def block(self, name: str) -> int:
        """Iterations of a loop in one call."""
        return self.covering.loop(name).block

    def lay_out_levels(self) -> tuple[_Level, ...]:
        """The external memory, tiles at the depth from which they keep, then single blocks."""
        outer = [n for n in self.tiling.outer if n in self.letters]
        inner = [n for n in self.tiling.inner if n in self.letters]
        tiles = [(self.depth(stay, outer), -stay.residence, stay)
                 for stay in self.tiling.stays if stay.level]  # fmt: skip
        tiles = sorted(tiles, key=lambda row: row[:2])
        blocks = sorted(
            (stay for stay in self.tiling.stays if not stay.level), key=lambda s: -s.residence
        )
        stays = [None, *(stay for _, _, stay in tiles)]
        begins = [0, *(depth for depth, _, _ in tiles), len(outer)]
        levels = [
            _Level(self.level_name(stay), stay, tuple(outer[begins[n] : begins[n + 1]]))
            for n, stay in enumerate(stays)
        ]
        if levels[-1].outer:
            levels.append(_Level(PASSED, None, ()))
        levels[-1] = replace(levels[-1], inner=tuple(inner))
        return (*levels, *(_Level(self.level_name(stay), stay, ()) for stay in blocks))

    def depth(self, stay: Stay, outer: list[str]) -> int:
        """How many of the outer loops are around the stay."""
        kept = [
            outer.index(name) for name in stay.kept if trips(self.covering, self.tiling, name) > 1
        ]
        return min(kept, default=len(outer))

    def level_name(self, stay: Stay | None) -> str:
        """`dram`, `scratchpad_A`."""
        if stay is None:
            return self.hw.external.name
        return f"{memory_of(self.covering, stay)}_{stay.operand}"

    def files(self) -> Mapping[str, str]:
        """The three texts."""
        head = [
            f"{self.kernel.name} on {self.hw.name}: {pretty_statement(self.statement)}",
            "timeloop-model timeloop_*.yaml",
        ]
        parts = (
            (self.architecture_notes(), self.architecture()),
            (self.problem_notes(), self.problem()),
            (self.mapping_notes(), self.mapping()),
        )
        return {
            name: "\n".join([*(f"# {x}" for x in (*head, *notes)), *lines, ""])
            for name, (notes, lines) in zip(TIMELOOP_FILES, parts, strict=True)
        }

    def architecture_notes(self) -> list[str]:
        call = f"{self.issue_cycles} cycle{'s' if self.issue_cycles != 1 else ''}"
        notes = [
            "Each level is what one operand holds of a memory; depth: of all its slots, in words.",
            f"A cycle here is one full call of {self.covering.instruction}, {call} of the machine.",
        ]
        for plan in self.covering.operands:
            notes += [
                f"{plan.name} is repeated in {residence.memory}: more moves there than its elements"
                for residence in plan.residences
                if residence.fill is not None and _repeats(residence.fill)
            ]
        return notes

    def architecture(self) -> list[str]:
        seconds = max(self.issue_cycles, 1) / self.hw.clock_hz
        rows = [self.level_row(level) for level in self.levels]
        bits = max(8 * size_bytes(plan.dtype) for plan in self.covering.operands)
        rows.append(
            {
                "name": f"multipliers[1..{self.multipliers}]",
                "class": "intmac",
                "attributes": {"datawidth": bits, "meshX": self.multipliers},
            }
        )
        system: dict[str, Value] = {"technology": "45nm", "global_cycle_seconds": seconds}
        return [
            "architecture:",
            f'  version: "{VERSION}"',
            "  subtree:",
            f"  - name: {yaml_text(self.hw.name)}",
            f"    attributes: {yaml_text(system)}",
            "    local:",
            *(f"    - {yaml_text(row)}" for row in rows),
        ]

    def level_row(self, level: _Level) -> dict[str, Value]:
        if level.name == PASSED:
            empty: dict[str, Value] = {"width": 1, "depth": 1, "datawidth": 1, "meshX": 1}
            return {"name": f"{PASSED}[1..1]", "class": "dummy_storage", "attributes": empty}
        if level.stay is None:
            memory, dtype = self.hw.external, self.covering.operands[0].end_dtype
        else:
            memory = self.hw.memory(memory_of(self.covering, level.stay))
            plan = self.covering.operand(level.stay.operand)
            dtype = plan.residences[level.stay.residence].dtype
        bits = 8 * size_bytes(dtype)
        attributes: dict[str, Value] = {"width": bits, "datawidth": bits, "meshX": 1}
        if level.stay is not None:
            words = prod(self.tile_shape(level.stay))
            attributes["depth"] = words * level.stay.slots
            attributes["multiple_buffering"] = level.stay.slots
        attributes |= self.bandwidth(memory, size_bytes(dtype))
        kind = "DRAM" if level.stay is None else "SRAM"
        return {"name": f"{level.name}[1..1]", "class": kind, "attributes": attributes}

    def bandwidth(self, memory: Memory, word_bytes: int) -> dict[str, Value]:
        """Words per call through the memory's ports; nothing where none is named."""
        found: dict[str, Value] = {}
        for direction in (Direction.READ, Direction.WRITE):
            width = sum(
                port.bytes_per_cycle
                for port in memory.ports
                if port.direction in (direction, Direction.BOTH)
            )
            if width:
                words = width * max(self.issue_cycles, 1) / word_bytes
                found[f"{direction.value}_bandwidth"] = words
        return found

    def tile_shape(self, stay: Stay) -> Iterator[int]:
        """Elements along each dimension of the operand that the stay holds."""
        spans = {name: self.span(stay, name) for name in self.letters}
        for index in self.access[stay.operand].indices:
            yield 1 + sum(step * (spans[name] - 1) for name, step in index.terms)

    def span(self, stay: Stay, name: str) -> int:
        """Iterations of a loop over which the stay holds data."""
        loop = self.covering.loop(name)
        if not stay.level:
            return loop.block
        units = loop.units if name in stay.kept else self.tiling.tile(name)
        return min(units * loop.block, loop.extent)

    def problem_notes(self) -> list[str]:
        notes = [f"{letter}: loop {name}" for name, letter in self.letters.items()]
        for name in self.letters:
            loop = self.covering.loop(name)
            if loop.extent != loop.kernel_extent:
                notes.append(f"{name} is padded with zeros from {loop.kernel_extent}")
        for loop in self.covering.loops:
            if loop.name not in self.letters and loop.extent > 1:
                notes.append(f"not here: {loop.name}, {loop.extent} iterations filled with zeros")
        for access in self.statement.accesses:
            if access.pad is not None:
                notes.append(f"{access.buffer} here is the array with its border of zeros")
            if any(len(index.terms) > 1 for index in access.indices):
                notes.append(
                    f"windows of {access.buffer} overlap: Timeloop keeps what neighbours share,"
                    " this schedule fetches it again"
                )
        output = self.kernel.buffer(self.statement.target.buffer)
        if output.role is Role.INOUT:
            notes.append(f"{output.name} begins with values that are read; Timeloop's with zeros")
        return notes

    def problem(self) -> list[str]:
        coefficients = sorted(
            {step for access in self.access.values() for i in access.indices
             for _, step in i.terms if step != 1}
        )  # fmt: skip
        spaces: list[Value] = []
        for plan in self.covering.operands:
            projection = [
                [
                    [self.letters[name]] if step == 1 else [self.letters[name], f"step{step}"]
                    for name, step in index.terms
                ]
                for index in self.access[plan.name].indices
                if index.terms
            ]
            space: dict[str, Value] = {"name": plan.name, "projection": projection}
            if plan.is_output:
                space["read_write"] = True
            spaces.append(space)
        sizes = {letter: self.covering.loop(n).extent for n, letter in self.letters.items()}
        steps: list[Value] = [{"name": f"step{step}", "default": step} for step in coefficients]
        instance: dict[str, Value] = {**sizes, **{f"step{step}": step for step in coefficients}}
        return [
            "problem:",
            f'  version: "{VERSION}"',
            "  shape:",
            f"    name: {yaml_text(self.kernel.name)}",
            f"    dimensions: {yaml_text(list(self.letters.values()))}",
            f"    coefficients: {yaml_text(steps)}",
            "    data_spaces:",
            *(f"    - {yaml_text(space)}" for space in spaces),
            f"  instance: {yaml_text(instance)}",
        ]

    def mapping_notes(self) -> list[str]:
        names = ", ".join(f"{letter} {name}" for name, letter in self.letters.items())
        return [f"{names}; permutations from the innermost loop outwards"]

    def mapping(self) -> list[str]:
        lines = ["mapping:"]
        everything = [plan.name for plan in self.covering.operands]
        for level in self.levels:
            factors = {name: self.tile_factor(name, level) for name in self.letters}
            order = (*level.outer, *level.inner)
            lines += self.directive(level.name, "temporal", factors, order)
            keep = [] if level.stay is None else [level.stay.operand]
            keep = everything if level is self.levels[0] else keep
            bypass = [name for name in everything if name not in keep]
            row: dict[str, Value] = {"target": level.name, "type": "bypass"}
            lines.append(f"- {yaml_text({**row, 'keep': keep, 'bypass': bypass})}")
        blocks = {name: self.block_factor(name) for name in self.letters}
        return lines + self.directive(self.levels[-1].name, "spatial", blocks, ())

    def directive(
        self, target: str, kind: str, factors: Mapping[str, tuple[int, int]], order: tuple[str, ...]
    ) -> list[str]:
        texts = [
            f"{self.letters[name]}={end}" if end == rest else f"{self.letters[name]}={end},{rest}"
            for name, (end, rest) in factors.items()
        ]
        idle = [name for name in self.letters if name not in order]
        permutation = "".join(self.letters[name] for name in (*idle, *reversed(order)))
        row: dict[str, Value] = {"target": target, "type": kind}
        rest_of = f'factors: "{" ".join(texts)}", permutation: {permutation}'
        return [f"- {yaml_text(row)[:-1]}, {rest_of}}}"]

    def tile_factor(self, name: str, level: _Level) -> tuple[int, int]:
        """Iterations at a level, and in the last round."""
        count, tile = trips(self.covering, self.tiling, name), self.tiling.tile(name)
        if name in level.outer:
            return count, count
        if name in level.inner:
            return tile, self.covering.loop(name).units - (count - 1) * tile
        return 1, 1

    def block_factor(self, name: str) -> tuple[int, int]:
        """Iterations in a call, and in the last one."""
        loop = self.covering.loop(name)
        return loop.block, loop.extent - (loop.units - 1) * loop.block


def _repeats(fill: Transfer) -> bool:
    """Does a copy put one element in several places?"""
    dims = [*fill.walked, *(dim for _, group in fill.assigned for dim in group)]
    return any(dim.source_stride_bytes == 0 and dim.extent > 1 for dim in dims)


def _letters(names: list[str]) -> dict[str, str]:
    """A capital letter per loop, its first one where that is free."""
    found: dict[str, str] = {}
    for name in names:
        wanted = (name[0].upper(), *ascii_uppercase)
        free = [x for x in wanted if x in ascii_uppercase and x not in found.values()]
        found[name] = free[0]
    return found


def _factors(value: Expr) -> tuple[Access, Access] | None:
    """The two arrays of a product, casts aside."""
    value = _bare(value)
    if not isinstance(value, Apply) or value.op != PRODUCT:
        return None
    left, right = map(_bare, value.args)
    if isinstance(left, Access) and isinstance(right, Access):
        return left, right
    return None


def _bare(value: Expr) -> Expr:
    while isinstance(value, Apply) and value.op in DTYPES:
        (value,) = value.args
    return value
