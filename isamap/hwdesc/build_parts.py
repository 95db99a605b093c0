"""Memories, units and channels from their models.

In: a checked model and a reader. Out: parts of `Hardware`; None for a part with a mistake.
Not its job: instructions, rules between several parts (`check`).
"""

import re
from fractions import Fraction
from functools import partial

from isamap.ir import DTYPES

from .build_exposed import build_fifo
from .c_form import (
    COPY_NUMBERS,
    COPY_OPERANDS,
    CompilerRule,
    CopyForm,
    CTemplate,
    HoleNames,
    PrefetchForm,
    parse_c_template,
)
from .document import Path
from .hardware import Channel, HostRule, Unit
from .memory import REFILLS_SHOWN, Direction, LargePages, Memory, MemoryKind, Port
from .reader import Reader
from .schema import ChannelModel, HardwareModel
from .schema_memory import OF_CACHES, MemoryModel, PortsModel
from .units import Quantity


def build_memory(name: str, model: MemoryModel, reader: Reader) -> Memory | None:
    """One memory; sizes in bytes, bandwidths in bytes per cycle."""
    path: Path = ("memories", name)
    before = reader.problems.count
    _check_kind(model, path, reader)
    memory = Memory(
        name=name,
        kind=MemoryKind(model.kind),
        size_bytes=reader.size(model.size, (*path, "size")),
        granule_bytes=reader.size(model.granule, (*path, "granule")),
        ports=_build_ports(model.ports, (*path, "ports"), reader),
        read_energy_pj_per_byte=reader.energy(model.read_energy, (*path, "read_energy")),
        write_energy_pj_per_byte=reader.energy(model.write_energy, (*path, "write_energy")),
        is_renamed=model.renamed,
        c_types=_build_c_types(model, path, reader),
        is_named=model.named_by_number,
        c_copy=_build_c_copy(model, path, reader),
        ways=_count(model.ways, (*path, "ways"), reader),
        latency_cycles=_cycles(model.latency, (*path, "latency"), reader),
        prefetched_rows=_count(model.prefetched_rows, (*path, "prefetched_rows"), reader),
        prefetched_loads=_count(model.prefetched_loads, (*path, "prefetched_loads"), reader),
        prefetched_lines=_count(model.prefetched_lines, (*path, "prefetched_lines"), reader),
        asked_cycles=_cycles(model.asked, (*path, "asked"), reader),
        lone_cycles=_cycles(model.lone, (*path, "lone"), reader),
        strayed_cycles=_cycles(model.strayed, (*path, "strayed"), reader),
        conflict_cycles=_cycles(model.conflict, (*path, "conflict"), reader),
        read_conflict_cycles=_cycles(
            model.read_conflict or model.conflict, (*path, "read_conflict"), reader
        ),
        resumed_conflict_cycles=_cycles(
            model.resumed_conflict or model.conflict, (*path, "resumed_conflict"), reader
        ),
        same_set_cycles=_cycles(model.same_set, (*path, "same_set"), reader),
        crowded_cycles=_cycles(model.crowded, (*path, "crowded"), reader),
        aliased_cycles=_cycles(model.aliased, (*path, "aliased"), reader),
        stores_shown_share=_share(model.stores_shown, (*path, "stores_shown"), reader),
        rushed_share=_share(model.rushed, (*path, "rushed"), reader),
        awaited_share=_share(model.awaited, (*path, "awaited"), reader) or 1.0,
        reads_per_cycle=_count(model.reads_per_cycle, (*path, "reads_per_cycle"), reader),
        shown_share=_share(model.shown, (*path, "shown"), reader),
        refills_shown_share=_share(model.refills_shown, (*path, "refills_shown"), reader)
        or REFILLS_SHOWN,
        lost_share=_factor(model.lost, (*path, "lost"), reader),
        left_bytes=reader.size(model.left, (*path, "left")) if model.left else 0,
        replaces_at_random=model.replacement == "random",
        split_cycles=_cycles(model.split, (*path, "split"), reader),
        prefetch=_build_prefetch(model, path, reader),
        within=model.within,
        handover_cycles=_cycles(model.handover, (*path, "handover"), reader),
        window_calls=_count(model.window, (*path, "window"), reader),
        large_pages=_build_large_pages(model, path, reader),
        source=model.source,
        fifo=build_fifo(model.fifo, (*path, "fifo"), reader),
        loc=reader.document.key_loc(path),
    )
    return memory if reader.problems.count == before else None


def _check_kind(model: MemoryModel, path: Path, reader: Reader) -> None:
    """No other memory has what only caches have."""
    for key in OF_CACHES if model.kind != MemoryKind.CACHE.value else ():
        if key in model.model_fields_set:
            hint = "other memories hold what the program puts there"
            reader.error(f"only caches have '{key}'", (*path, key), hint, at_key=True)


def _count(text: str | None, path: Path, reader: Reader) -> int:
    """A number from 1 on; 0 where none is given."""
    return reader.integer(text, path, 1) if text else 0


def _share(text: str | None, path: Path, reader: Reader) -> float:
    """A number above 0, up to 1; 0 where none is given."""
    if not text:
        return 0.0
    share = reader.real(text, "f64", path)
    if not 0.0 < share <= 1.0:
        reader.error(f"'{text}' must be more than 0, and 1 at most", path)
    return share


def _factor(text: str | None, path: Path, reader: Reader) -> float:
    """A number above 0; 0 where none is given."""
    factor = reader.real(text, "f64", path) if text else 0.0
    if text and factor <= 0.0:
        reader.error(f"'{text}' must be more than 0", path)
    return factor


def _cycles(text: str | None, path: Path, reader: Reader) -> float:
    """A time in cycles; 0 where none is given."""
    return float(reader.amount(text, Quantity.TIME, path)) if text else 0.0


def _build_c_types(model: MemoryModel, path: Path, reader: Reader) -> tuple[tuple[str, str], ...]:
    """C type of a register per scalar type; only of managed memories."""
    if model.c_types and model.kind != MemoryKind.MANAGED.value:
        hint = "data in other memories is reached by pointers"
        reader.error("only managed memories have 'c_types'", (*path, "c_types"), hint, True)
    for dtype in model.c_types:
        reader.known("scalar type", dtype, DTYPES, (*path, "c_types", dtype))
    return tuple(model.c_types.items())


def _build_c_copy(model: MemoryModel, path: Path, reader: Reader) -> CopyForm | None:
    """C that moves one register's bytes."""
    if model.c_copy is None:
        return None
    names = HoleNames(COPY_OPERANDS, COPY_NUMBERS, reader.parameters)
    save = _template(model.c_copy.save, (*path, "c_copy", "save"), names, reader)
    restore = _template(model.c_copy.restore, (*path, "c_copy", "restore"), names, reader)
    return CopyForm(save, restore) if save and restore else None


def _build_prefetch(model: MemoryModel, path: Path, reader: Reader) -> PrefetchForm | None:
    """C that asks a cache for a line."""
    if model.prefetch is None:
        return None
    path = (*path, "prefetch")
    ahead = reader.amount(model.prefetch.ahead, Quantity.TIME, (*path, "ahead"))
    names, walk = HoleNames(("line",), (), reader.parameters), model.prefetch.walk
    text = _template(model.prefetch.c, (*path, "c"), names, reader)
    along = _template(walk, (*path, "walk"), names, reader) if walk else None
    far, least = (
        reader.size(given, (*path, key)) if given else 0
        for key, given in (
            ("once_ahead", model.prefetch.once_ahead),
            ("once_from", model.prefetch.once_from),
        )
    )
    return PrefetchForm(float(ahead), text, along, far, least) if text else None


def _build_large_pages(model: MemoryModel, path: Path, reader: Reader) -> LargePages | None:
    """On which pages large arrays lie; only of the external memory."""
    if model.large_pages is None:
        return None
    path = (*path, "large_pages")
    if model.kind != MemoryKind.EXTERNAL.value:
        hint = "arrays lie in the external one"
        reader.error("only the external memory has 'large_pages'", path, hint, at_key=True)
    size = reader.size(model.large_pages.size, (*path, "size"))
    return LargePages(size, reader.size(model.large_pages.from_, (*path, "from")))


def _template(text: str, path: Path, names: HoleNames, reader: Reader) -> CTemplate | None:
    with reader.problems.caught():
        locate = partial(reader.document.loc_inside, path, text)
        return parse_c_template(text, names, locate)
    return None


def _build_ports(model: PortsModel, path: Path, reader: Reader) -> tuple[Port, ...]:
    if model.both and (model.read or model.write):
        hint = "give 'both' (one shared port), or 'read' and 'write'"
        reader.error("'both' excludes 'read' and 'write'", (*path, "both"), hint, at_key=True)
    widths = ((Direction.READ, model.read), (Direction.WRITE, model.write))
    return tuple(
        Port(
            direction.value,
            direction,
            float(reader.amount(width, Quantity.BANDWIDTH, (*path, direction.value))),
        )
        for direction, width in (*widths, (Direction.BOTH, model.both))
        if width is not None
    )


def build_units(model: HardwareModel, reader: Reader) -> tuple[Unit, ...]:
    """All units."""
    return tuple(
        Unit(
            name,
            reader.integer(unit.count, ("units", name, "count"), 1) if unit else 1,
            reader.document.key_loc(("units", name)),
        )
        for name, unit in model.units.items()
    )


def build_channels(model: HardwareModel, reader: Reader) -> tuple[Channel, ...]:
    """All token channels."""
    if model.channels and model.synchronisation != "tokens":
        hint = "write 'synchronisation: tokens', or remove the channels"
        message = "channels need token synchronisation"
        reader.error(message, ("channels",), hint, at_key=True)
    if not model.channels and model.synchronisation == "tokens" and len(model.units) > 1:
        hint = "list them: channels: {load_to_compute: {from: load, to: compute, depth: 512}}"
        reader.error("token synchronisation needs channels", ("synchronisation",), hint)
    return tuple(_build_channel(n, c, model, reader) for n, c in model.channels.items())


def _build_channel(
    name: str, channel: ChannelModel, model: HardwareModel, reader: Reader
) -> Channel:
    path: Path = ("channels", name)
    reader.known("unit", channel.from_, model.units, (*path, "from"))
    reader.known("unit", channel.to, model.units, (*path, "to"))
    if channel.from_ == channel.to:
        hint = "a unit runs its own calls in order without tokens"
        reader.error(f"channel '{name}' begins and ends at '{channel.to}'", path, hint, True)
    depth = reader.integer(channel.depth, (*path, "depth"), 1)
    return Channel(name, channel.from_, channel.to, depth)


def build_host(model: HardwareModel, reader: Reader) -> HostRule | None:
    """The host processor, if the machine has one; times in cycles."""
    host = model.host
    if host is None:
        return None
    reader.known("unit", host.unit, model.units, ("host", "unit"))
    return HostRule(
        host.unit,
        reader.amount(host.start, Quantity.TIME, ("host", "start")),
        reader.amount(host.operation, Quantity.TIME, ("host", "operation")),
        reader.amount(host.energy, Quantity.ENERGY, ("host", "energy"))
        if host.energy
        else Fraction(),
        host.source,
        host.apart,
        reader.integer(host.lanes, ("host", "lanes"), 1),
        reader.document.key_loc(("host",)),
    )


def build_compiler(model: HardwareModel, reader: Reader) -> CompilerRule | None:
    """How C is compiled and run, if the file says so."""
    compiler = model.compiler
    if compiler is None:
        return None
    for name, text in compiler.functions.items():
        if not re.search(rf"\b{re.escape(name)}\s*\(", text):
            reader.error(
                f"no function {name!r} in this text",
                ("compiler", "functions", name),
                hint="each entry is one C function under its own name",
            )
    for n, name in enumerate(compiler.around):
        reader.known("memory", name, model.memories, ("compiler", "around", n))
    return CompilerRule(
        compiler.command,
        tuple(compiler.flags),
        tuple(compiler.headers),
        compiler.preamble or "",
        tuple(sorted(compiler.functions.items())),
        compiler.begin or "",
        compiler.end or "",
        tuple(compiler.features),
        tuple(compiler.run),
        tuple(compiler.packages),
        reader.integer(compiler.unroll, ("compiler", "unroll"), 0),
        tuple(compiler.around),
    )
