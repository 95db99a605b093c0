"""What a loader needs to know about a binary, as JSON.

In: a Binary and its machine. Out: JSON data, explained in docs/binary.md. Not its job: files.
"""

import json
from collections.abc import Mapping

from isamap.hwdesc import Format, Hardware
from isamap.ir import Kernel, pretty
from isamap.program import Layout, Placement, Program

from .assemble import Binary
from .call import HostStep

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
VERSION = 2
PROGRAM, IMAGE, LISTING, MANIFEST = "program.bin", "data.bin", "listing.txt", "manifest.json"


def make_manifest(binary: Binary, kernel: Kernel, hw: Hardware) -> dict[str, Json]:
    """The manifest; all offsets and sizes are bytes. `kernel`: as it was asked for."""
    assert hw.encoding is not None
    zeros = dict(hw.encoding.constants)
    return {
        "isamap_binary": VERSION,
        "kernel": binary.program.name,
        "machine": hw.name,
        "byte_order": hw.encoding.byte_order,
        "program": {"file": PROGRAM, "parts": _parts(binary)},
        "image": {
            "file": IMAGE,
            "bytes": binary.image_bytes,
            "base": binary.base,
            "base_align": hw.encoding.base_align,
        },
        **array_places(binary.program, kernel),
        "zeros": {
            name: {"offset": binary.constants[name], "bytes": size} for name, size in zeros.items()
        },
        "tables": _tables(binary, hw),
        "formats": {entry.name: _format(entry) for entry in hw.encoding.formats},
    }


def manifest_text(manifest: Mapping[str, Json]) -> str:
    """As it stands in its file."""
    return json.dumps(manifest, indent=1) + "\n"


def array_places(program: Program, kernel: Kernel) -> dict[str, Json]:
    """Where arrays lie, and what the host computes. `kernel`: as it was asked for."""
    given = [b.name for b in kernel.buffers if b.role.is_given]
    inputs = [place for place in program.inputs if place.buffer in given]
    cleared = [place for place in program.inputs if place.buffer not in given]
    return {
        "inputs": [_array_place(place, kernel) for place in inputs],
        "outputs": [_array_place(place, kernel) for place in program.outputs],
        "cleared": [_place(place) for place in cleared],
        "scratch": [_place(place) for place in program.scratch],
        "host_calls": {call.name: _host_call(call) for call in program.host_calls},
    }


def _host_call(call: Kernel) -> Json:
    """What the host computes: its text, and the arrays that the text names."""
    operands: dict[str, Json] = {
        buffer.name: {"type": buffer.dtype, "shape": list(buffer.shape), "role": buffer.role.value}
        for buffer in call.buffers
    }
    return {"text": pretty(call), "operands": operands}


def _parts(binary: Binary) -> list[Json]:
    parts: list[Json] = []
    offset = 0
    for part in binary.parts:
        if isinstance(part, HostStep):
            parts.append({"host": show_step(part)})
            continue
        run: dict[str, Json] = {"offset": offset, "bytes": part.num_bytes}
        run |= {"records": part.num_records, "calls": part.num_calls}
        parts.append({"run": run})
        offset += part.num_bytes
    return parts


def show_step(step: HostStep) -> dict[str, Json]:
    """What the host does, and where its arrays lie."""
    return {
        "call": step.name,
        "operands": {
            name: {"offset": address, "strides_bytes": list(strides)}
            for name, address, strides in step.operands
        },
    }


def host_step(data: Mapping[str, Json]) -> HostStep:
    """A host step read back."""
    operands = data["operands"]
    assert isinstance(operands, dict)
    rows = []
    for name, row in operands.items():
        assert isinstance(row, dict)
        offset, strides = row["offset"], row["strides_bytes"]
        assert isinstance(offset, int) and isinstance(strides, list)
        rows.append((name, offset, tuple(s for s in strides if isinstance(s, int))))
    return HostStep(str(data["call"]), tuple(rows))


def _array_place(place: Placement, kernel: Kernel) -> dict[str, Json]:
    """A place with the shape that the kernel gives the array (`shape` is what axes index)."""
    return {**_place(place), "array_shape": list(kernel.buffer(place.buffer).shape)}


def _place(place: Placement) -> dict[str, Json]:
    layout = place.layout
    return {
        "buffer": place.buffer,
        "type": layout.dtype,
        "shape": list(layout.shape),
        "offset": place.address,
        "bytes": layout.size_bytes,
        **_layout(layout),
    }


def _layout(layout: Layout) -> dict[str, Json]:
    axes: list[Json] = [
        {"dim": a.dim, "step": a.step, "size": a.size, "stride_bytes": a.stride_bytes}
        for a in layout.axes
    ]
    found: dict[str, Json] = {"axes": axes, "border": list(layout.border)}
    return {**found, "plane_bytes": layout.plane_bytes, "padding": layout.padding}


def _tables(binary: Binary, hw: Hardware) -> list[Json]:
    assert hw.encoding is not None
    found: list[Json] = []
    for part in binary.tables:
        size = hw.encoding.format(hw.encoding.table(part.table).format).size_bytes
        row: dict[str, Json] = {"table": part.table, "offset": part.address}
        found.append({**row, "entries": len(part.entries), "entry_bytes": size})
    return found


def _format(entry: Format) -> dict[str, Json]:
    fields: dict[str, Json] = {
        field.name: {
            "first_bit": field.first_bit,
            "bits": field.width,
            "signed": field.is_signed,
        }
        for field in entry.fields
    }
    return {"bytes": entry.size_bytes, "fields": fields}
