"""One concrete call of a binary program: every number is known.

In: nothing but these nodes. Out: frozen values. Not its job: making them (`flatten`), bits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class CallKind(Enum):
    """What a record of a binary program is for."""

    INSTRUCTION = "instruction"
    LOAD_TABLE = "load"  # brings entries of a table into the machine
    SET_STATE = "set"  # sets the registers of a copy of a state
    IDLE = "idle"  # cycles in which nothing starts
    END = "end"  # ends the run


@dataclass(frozen=True, slots=True)
class Call:
    """`name`: of the instruction, table or state. `values`: its quantities (`hwdesc.quantities`).

    `fresh`: latched operands, or entries of fifos, that this call finds newly loaded. `copies`: per
    obeyed state with several copies, the one it obeys. `start`: the cycle in which it starts, where
    the program says so.
    """

    kind: CallKind
    name: str
    values: Mapping[str, int]
    pops: tuple[str, ...] = ()
    pushes: tuple[str, ...] = ()
    fresh: tuple[str, ...] = ()
    copies: tuple[tuple[str, int], ...] = ()
    start: int | None = None


@dataclass(frozen=True, slots=True)
class HostStep:
    """A call that the machine's host runs between two runs of the machine: which (a kernel of that
    name), and where each operand lies."""

    name: str
    operands: tuple[tuple[str, int, tuple[int, ...]], ...]  # name, byte address, byte strides


@dataclass(frozen=True, slots=True)
class Run:
    """Calls that the machine executes from an entry to the end."""

    calls: tuple[Call, ...]


Part = Run | HostStep


@dataclass(frozen=True, slots=True)
class TableRange:
    """`entries`: records of a table, as they lie at byte `address` of the image."""

    table: str
    address: int
    entries: tuple[int, ...]
