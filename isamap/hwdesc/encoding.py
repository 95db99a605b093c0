"""How a machine's programs are written as bits.

In: nothing but these nodes. Out: frozen values. Not its job: reading them from YAML
(`build_encoding`), writing or reading programs (`codegen`).

Bits of a format count from 0, the least significant bit of the whole record read as one integer in
the encoding's byte order.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from isamap.errors import Loc

from .linear import Linear


@dataclass(frozen=True, slots=True)
class BitField:
    """`width` bits from `first_bit` on.

    `pops`, `pushes`: the field counts the call's tokens on these channels (a call's unit has at
    most one of them) and has no value of its own.
    """

    name: str
    first_bit: int
    width: int
    is_signed: bool = False
    pops: tuple[str, ...] = ()
    pushes: tuple[str, ...] = ()

    @property
    def least(self) -> int:
        """The smallest value."""
        return -(1 << (self.width - 1)) if self.is_signed else 0

    @property
    def most(self) -> int:
        """The largest value."""
        return (1 << (self.width - self.is_signed)) - 1


@dataclass(frozen=True, slots=True)
class Format:
    """A record of fixed size. `c`: a C statement that issues one, with {field} and {w0}, {w1}, ..
    for whole words (`codegen.write_c`); '' if there is none."""

    name: str
    size_bytes: int
    fields: tuple[BitField, ...]
    c: str = ""

    def field(self, name: str) -> BitField:
        """The field called `name`."""
        return {entry.name: entry for entry in self.fields}[name]


CHAIN_BEGINS = "begins chain"  # what a call may be, as its operands may be new
CHAIN_ENDS = "ends chain"

Choice = Linear | tuple[Linear, ...]  # several: one per copy of the state that the call obeys


@dataclass(frozen=True, slots=True)
class Entries:
    """Table entries that a call refers to: one, or one per round of the repeat `over`."""

    table: str
    over: str | None
    values: tuple[tuple[str, Linear], ...]


@dataclass(frozen=True, slots=True)
class Command:
    """One record of a format. Fields without a value are 0.

    `only`: (latched operand, True) writes it only in calls that find the operand newly loaded,
    (.., False) only in the others; (`CHAIN_BEGINS`, True) where a chain begins, and so on.
    """

    format: str
    values: tuple[tuple[str, Choice], ...]
    only: tuple[str, bool] | None = None
    loc: Loc | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Obeyed:
    """A state that a call obeys: the value that each named register must have."""

    state: str
    values: tuple[tuple[str, Linear], ...]


@dataclass(frozen=True, slots=True)
class Bits:
    """How a call is written: its commands in order.

    `entries`: what it needs in tables. `latches`: it writes nothing; calls that read what it wrote
    write it along, as `operand.loaded.quantity`. `chain`: the operand to which the unit adds only
    when calls that follow each other on the same place of it end, '' if every call adds. `names`:
    every quantity of the call that is not fixed by the instruction, in the order of listings.
    `fixed`, `counts`: as in `Quantities`. `view_of`: the instruction as which its records are read
    back, '' for itself.
    """

    commands: tuple[Command, ...]
    entries: tuple[Entries, ...] = ()
    latches: bool = False
    names: tuple[str, ...] = ()
    fixed: tuple[tuple[str, int], ...] = ()
    counts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    view_of: str = ""
    chain: str = ""

    def written(self, fresh: Collection[str]) -> tuple[Command, ...]:
        """The commands of a call that finds these operands new (is first or last)."""
        return tuple(
            command
            for command in self.commands
            if command.only is None or (command.only[0] in fresh) is command.only[1]
        )

    @property
    def kinds(self) -> tuple[tuple[str, ...], ...]:
        """What calls may find new, each a choice of its own."""
        found: list[tuple[str, ...]] = [()]
        for name in sorted({c.only[0] for c in self.commands if c.only is not None}):
            found += [(*some, name) for some in found]
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Table:
    """Records in a memory of the machine's own, `capacity` of them, that instructions refer to.

    `load` copies a range of them from the image; its names are `first` (entry in the machine),
    `count`, `address` (bytes, in the image) and `base`.
    """

    name: str
    format: str
    capacity: int
    unit: str
    load: Command


@dataclass(frozen=True, slots=True)
class State:
    """Registers that calls obey, `copies` times; `setter` sets all of a copy (names: the registers,
    `copy` and `base`)."""

    name: str
    registers: tuple[str, ...]
    copies: int
    unit: str
    setter: Command


@dataclass(frozen=True, slots=True)
class Ending:
    """The record that ends a run, on a unit that all others have told that they are done."""

    unit: str
    command: Command


@dataclass(frozen=True, slots=True)
class Encoding:
    """Byte order, formats, tables, states.

    The image with all data lies at `base` (a parameter of writing, a multiple of `base_align`).
    `constants`: (name, bytes of zeros in the image), whose addresses values may name. `idle`: the
    record of a cycle in which nothing starts, where the program says when calls start.
    """

    byte_order: Literal["little", "big"]
    word_bits: int
    base: int
    base_align: int
    formats: tuple[Format, ...]
    tables: tuple[Table, ...] = ()
    states: tuple[State, ...] = ()
    constants: tuple[tuple[str, int], ...] = ()
    ending: Ending | None = None
    idle: Command | None = None
    c_header: str = ""

    def format(self, name: str) -> Format:
        """The format called `name`."""
        return {entry.name: entry for entry in self.formats}[name]

    def table(self, name: str) -> Table:
        """The table called `name`."""
        return {entry.name: entry for entry in self.tables}[name]

    def state(self, name: str) -> State:
        """The state called `name`."""
        return {entry.name: entry for entry in self.states}[name]
