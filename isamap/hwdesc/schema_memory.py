"""The shape of a hardware file's `memories`.

In: plain data. Out: models whose leaves are still text. Not its job: other entries (`schema`), what
they mean (`build_parts`).
"""

from typing import Literal

from pydantic import Field, StrictBool

from .schema_base import SOURCE, Amount, Integer, Model, Number, Text

OF_CACHES = (
    *("ways", "latency", "prefetched_rows", "prefetched_loads", "prefetched_lines", "asked"),
    *("lone", "strayed", "conflict", "read_conflict", "resumed_conflict", "same_set", "crowded"),
    *("aliased", "stores_shown", "rushed", "awaited", "reads_per_cycle", "shown", "lost"),
    *("refills_shown", "left", "replacement", "split", "prefetch"),
)  # keys of memories of that kind alone
OF_NEAREST = (
    *("crowded", "aliased", "stores_shown", "reads_per_cycle", "shown", "refills_shown", "split"),
)  # keys of the cache that serves the calls


class PortsModel(Model):
    """Bandwidths shared by all accesses of a direction. Without ports a memory never limits."""

    read: Amount | None = Field(
        default=None, description="Bytes per cycle that leave, '16 bytes/cycle'."
    )
    write: Amount | None = Field(default=None, description="Bytes per cycle that enter.")
    both: Amount | None = Field(default=None, description="One port that reads and writes share.")


class FifoModel(Model):
    """Granules are entries, read in the order in which they were written."""

    within: Amount | None = Field(
        default=None,
        description="How long after the first read of an entry the next one may arrive.",
    )


class CopyModel(Model):
    """C statements between a register and the bytes at `{bytes}`, which are as many as its
    granule."""

    save: Text = Field(description="Writes the register to `{bytes}`.")
    restore: Text = Field(description="Reads the register from `{bytes}`.")


class PrefetchModel(Model):
    """A C statement that asks a cache for a line."""

    ahead: Text = Field(description="How long before its use, '1000 cycles'.")
    c: Text = Field(description="Asks for the line that the pointer `{line}` points into.")
    walk: Text | None = Field(
        default=None,
        description="As `c`, where a loop moves along a single row, which it reads once: into a "
        "nearer cache. Left out where the hardware's own prefetchers bring such lines sooner than "
        "`asked`.",
    )
    once_ahead: Amount | None = Field(
        default=None,
        description="How far ahead, '16 KiB', `c` asks for what such loops read once of large "
        "arrays, where they are many times as long: what enters from memory takes longer than from "
        "a shared cache. `walk` is left with the rest (left out: with all).",
    )
    once_from: Amount | None = Field(
        default=None, description="Least size of these arrays, '8 MiB' (left out: of any)."
    )


class LargePagesModel(Model):
    """Pages of large arrays."""

    size: Amount = Field(description="Of one page, '2 MiB'.")
    from_: Amount = Field(alias="from", description="Least size of an array on them, '4 MiB'.")


class MemoryModel(Model):
    """A place for bytes."""

    kind: Literal["external", "managed", "cache"] = Field(
        description="external: holds inputs and outputs (exactly one); managed: the program "
        "decides what it holds (scratchpad, registers); cache: the hardware decides."
    )
    size: Amount = Field(description="Capacity, '256 KiB'.")
    granule: Amount = Field(
        default="1 byte", description="Operands start at multiples of it, '16 bytes'."
    )
    ports: PortsModel = Field(default=PortsModel(), description="Bandwidths.")
    fifo: FifoModel | None = Field(
        default=None,
        description="Its granules are entries that are read in the order in which they were "
        "written: 'fifo: {}'; the first read of one drops the one before it.",
    )
    read_energy: Amount | None = Field(default=None, description="Energy of reading, '2 pJ/byte'.")
    write_energy: Amount | None = Field(default=None, description="Energy of writing, '2 pJ/byte'.")
    renamed: StrictBool = Field(
        default=False,
        description="Registers renamed by the hardware: a write never waits for earlier uses.",
    )
    handover: Text | None = Field(
        default=None,
        description="Of registers of generated C: what each takes, '1 cycle', that compilers move "
        "or spill where a loop stands between loops that are written out, at each of its starts.",
    )
    window: Integer | None = Field(
        default=None,
        description="Of renamed registers: how many calls the processor has under way at a time, "
        "and so how many later sums it begins while calls wait for their own; none if not given.",
    )
    c_types: dict[str, Text] = Field(
        default_factory=dict,
        description="C type of a register per scalar type, '{f32: __m512}'; in generated C each "
        "register is then a variable, not a place in an array.",
    )
    c_copy: CopyModel | None = Field(
        default=None,
        description="C statements that copy a register where pointers cannot: 'check --exercise' "
        "fills and reads registers with them. '{register}' is its variable, '{at}' its address.",
    )
    ways: Integer | None = Field(
        default=None,
        description="Of a cache: lines per set. Its granule is the line, its port 'write' the pace "
        "at which lines come in from behind it.",
    )
    latency: Text | None = Field(
        default=None,
        description="Of a cache: what a line from behind it adds, '40 cycles', where no line "
        "before it in the same page was used just before (no prefetcher foresees it).",
    )
    prefetched_rows: Integer | None = Field(
        default=None,
        description="Of a cache: rows of lines that its prefetcher follows side by side; where a "
        "program walks more of them, every line has the latency.",
    )
    prefetched_loads: Integer | None = Field(
        default=None,
        description="Of a cache: the same where each row is read by an instruction of its own, not "
        "in turn by the one of a loop over rows (left out: as many).",
    )
    prefetched_lines: Integer | None = Field(
        default=None,
        description="Of a cache: how many lines of a row, or more, its prefetcher follows so well "
        "that what C asks for costs more than it gains (left out: C asks for rows of any length).",
    )
    asked: Text | None = Field(
        default=None,
        description="Of a cache: how long a line takes that C asked for, '4 cycles', where that is "
        "longer than at the pace of its port 'write'.",
    )
    lone: Text | None = Field(
        default=None,
        description="Of a cache: how much longer a line takes, '6 cycles', of a single row; of "
        "several that are read side by side, each takes its share of that (left out: no longer).",
    )
    strayed: Text | None = Field(
        default=None,
        description="Of a cache: how long a line takes, '12 cycles', of rows that are read side by "
        "side, several lines of each at a time, so that lines of more other rows than "
        "'prefetched_rows' come between two visits to a row (left out: as any other).",
    )
    conflict: Text | None = Field(
        default=None,
        description="Of a cache with ways: what each line takes, '10 cycles', of a call whose rows "
        "share so few sets that they drive each other out.",
    )
    read_conflict: Text | None = Field(
        default=None,
        description="The same of rows that are only read, '0.1 cycles' (left out: as 'conflict').",
    )
    resumed_conflict: Text | None = Field(
        default=None,
        description="The same of sums that several calls take up again from such rows, '2 cycles' "
        "(left out: as 'conflict').",
    )
    same_set: Text | None = Field(
        default=None,
        description="Of a cache with ways: what a line takes, '10 cycles', of a call that stores "
        "rows (and loads them, if they are sums), where it lies in the set of the line before, "
        "though all have room (left out: as any other).",
    )
    crowded: Text | None = Field(
        default=None,
        description="Of the nearest cache, with ways: what each line takes, '2 cycles', that is "
        "read for a tile of sums, where rows share so few sets that they drive each other out "
        "before they are used (left out: as any other).",
    )
    aliased: Text | None = Field(
        default=None,
        description="Of the nearest cache: what a tile of sums waits, '20 cycles', before it is "
        "loaded, where the lowest 12 bits of its addresses are those of the tile that was stored "
        "just before: the processor takes it for that one (left out: nothing).",
    )
    stores_shown: Number | None = Field(
        default=None,
        description="Of the nearest cache: which share, '0.5', of the time for storing sums that "
        "were loaded before adds to that of calls which run meanwhile (left out: none).",
    )
    rushed: Number | None = Field(
        default=None,
        description="Of a cache: where several rounds of a loop read the same lines, all of which "
        "enter during the first one, which share, '0.5', of the time that later rounds do not hide "
        "is waited for (left out: none; nothing where rounds share what comes next).",
    )
    awaited: Number | None = Field(
        default=None,
        description="Of a cache with a latency: which share, '0.1', of the lines of sums that are "
        "taken up again is waited for where the next tile lies further on in the same rows, and "
        "these are as long as 'prefetched_lines' (left out: all).",
    )
    reads_per_cycle: Integer | None = Field(
        default=None,
        description="Of the nearest cache: how many operands it hands in a cycle to calls that "
        "read them in place, long ones at the pace of its port 'read'; copies into registers take "
        "what their instructions say.",
    )
    shown: Number | None = Field(
        default=None,
        description="Of the nearest cache: which share, '0.25', of the time in which it serves "
        "copies into registers and operands read in place adds to that of calls which run "
        "meanwhile (left out: none).",
    )
    refills_shown: Number | None = Field(
        default=None,
        description="Of the nearest cache: which share, '0.2', of computing and of refills of "
        "caches adds to the longest of them (left out: 0.125).",
    )
    lost: Number | None = Field(
        default=None,
        description="Of a cache: which lines that a round of a loop brought are gone when the next "
        "round looks for them, since others come in meanwhile, asked for or not: '1.5' times the "
        "share of the cache that a round touches, to the power of 1.5; half as many in each "
        "further round (left out: none).",
    )
    left: Amount | None = Field(
        default=None,
        description="Of a cache that other cores use, too: what they leave of it for certain, "
        "'8 MiB'; of more than that a part stays.",
    )
    replacement: Literal["lru", "random"] = Field(
        default="lru",
        description="Of a cache: which line makes room for a new one, the one used least recently, "
        "or any ('random': approximations of 'lru' come close to that), so that some stay even of "
        "what is too much.",
    )
    split: Text | None = Field(
        default=None,
        description="Of the nearest cache: what a copy into registers waits, '2 cycles', whose "
        "bytes lie in two lines.",
    )
    prefetch: PrefetchModel | None = Field(
        default=None,
        description="Of a cache: how C asks for lines that loops read in rows far apart.",
    )
    within: Text | None = Field(
        default=None,
        description="Of a managed memory: the external memory that it is a part of, 'dram'. What "
        "is copied there goes through the same caches, in the order in which it is used.",
    )
    large_pages: LargePagesModel | None = Field(
        default=None,
        description="Of the external memory: pages of arrays that are large. A cache whose granule "
        "is a page holds addresses of as many pages, whatever their size.",
    )
    named_by_number: StrictBool = Field(
        default=False,
        description="Registers that C text names itself, as in '\"vadd v{D_at // 16}\"' (inline "
        "assembly): generated C keeps all their addresses constant.",
    )
    source: Text = Field(description=SOURCE)
