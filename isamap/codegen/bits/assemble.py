"""From a Program to a machine's binary: records, tables, where everything lies.

In: a Program and its machine. Out: a `Binary`. Not its job: files (`write_binary`), reading back.

The image holds every buffer of the program at its own byte address, then blocks of zeros, then the
tables; it lies at a base address that the caller chooses.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from isamap.errors import ProgramError
from isamap.hwdesc import Encoding, Hardware
from isamap.program import Program

from .call import Calls, HostStep, TableRange, count_calls, in_order
from .chain_sums import chain_sums
from .cut_runs import cut_runs
from .encode import Records, encode, record_bytes
from .fill_idle import fill_idle
from .flatten import flatten
from .place_tables import ALIGN_BYTES, TablePlacer
from .resolve_latches import resolve_latches
from .set_state import set_state
from .spread_tokens import spread_tokens


@dataclass(frozen=True, slots=True)
class EncodedRun:
    """A run of the machine: its calls, settled, and their records."""

    calls: tuple[Calls, ...]
    records: tuple[Records, ...]

    @property
    def num_calls(self) -> int:
        """How many calls it makes."""
        return count_calls(self.calls)

    @property
    def num_records(self) -> int:
        """How many records it has."""
        return sum(len(part.places) for part in self.records)

    @property
    def num_bytes(self) -> int:
        """How long its records are together."""
        return sum(len(part.places) * part.layout.size_bytes for part in self.records)


@dataclass(frozen=True, slots=True)
class Binary:
    """A program as a machine takes it: runs and what the host does between them, in order.

    `constants`: byte address in the image of each block of zeros, and `base`, the image's address.
    """

    program: Program
    base: int
    parts: tuple[EncodedRun | HostStep, ...]
    tables: tuple[TableRange, ...]
    constants: Mapping[str, int]
    image_bytes: int

    @property
    def runs(self) -> tuple[EncodedRun, ...]:
        """What the machine executes, in order."""
        return tuple(part for part in self.parts if isinstance(part, EncodedRun))


def check_base(hw: Hardware, base: int | None) -> Encoding:
    """The machine's encoding, if it has one and data may lie at `base`; else a ProgramError."""
    if hw.encoding is None:
        raise ProgramError(
            f"{hw.name} does not say how programs are written as bits",
            hint="describe byte order and formats under 'encoding' in its file",
        )
    align = hw.encoding.base_align
    if base is not None and base % align:
        raise ProgramError(f"base address {base} is no multiple of {align} bytes")
    return hw.encoding


def assemble(program: Program, hw: Hardware, base: int | None = None) -> Binary:
    """The binary of a program; `base`: where its data lies (None: the machine's default).

    Raises:
        ProgramError: the machine has no encoding, or a call cannot be written in it.
    """
    encoding = check_base(hw, base)
    base = encoding.base if base is None else base
    end = data_bytes(program)
    constants = {"base": base}
    for name, size in encoding.constants:
        constants[name] = end
        end = _aligned(end + size)
    parts = chain_sums(cut_runs(flatten(program, hw), hw), hw)
    parts = resolve_latches(parts, hw)
    tables = TablePlacer(hw, end, constants)
    result: list[EncodedRun | HostStep] = []
    for part in parts:
        if isinstance(part, HostStep):
            result.append(part)
            continue
        calls = spread_tokens(in_order(part.calls), hw)
        calls = tables.place(set_state(calls, hw, constants))
        if hw.is_exposed:
            calls = fill_idle(calls, hw)
        result.append(EncodedRun(calls, encode(calls, hw, constants)))
    ranges = tuple(tables.ranges)
    return Binary(program, base, tuple(result), ranges, constants, _aligned(tables.end))


def run_bytes(run: EncodedRun, hw: Hardware) -> bytes:
    """A run's records as the machine fetches them."""
    return record_bytes(run.records, hw)


def table_bytes(part: TableRange, hw: Hardware) -> bytes:
    """A table's entries as they lie in the image."""
    assert hw.encoding is not None
    size = hw.encoding.format(hw.encoding.table(part.table).format).size_bytes
    order = hw.encoding.byte_order
    return b"".join(entry.to_bytes(size, order) for entry in part.entries)


def data_bytes(program: Program) -> int:
    """How much of the image the program's arrays take."""
    return _aligned(program.room_bytes)


def _aligned(size: int) -> int:
    return -(-size // ALIGN_BYTES) * ALIGN_BYTES
