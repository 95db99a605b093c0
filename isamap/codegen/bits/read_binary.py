"""A binary's files back to its listing.

In: a folder that `write_binary` wrote, or a file of records. Out: text. Not its job: the records
themselves (`decode`).
"""

import json
from pathlib import Path

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware

from .call import HostStep
from .decode import Decoder
from .list_calls import show_calls, show_host_step
from .manifest import IMAGE, MANIFEST, PROGRAM, Json, host_step


def disassemble(path: str | Path, hw: Hardware) -> str:
    """The listing of a binary: a folder with its manifest, or records alone.

    Records alone are one run at the machine's default base address; what lies in the image (tables)
    is then missing.

    Raises:
        ProgramError: files that cannot be read, or bytes that are no instruction of the machine.
    """
    path = Path(path)
    if hw.encoding is None:
        raise ProgramError(
            f"{hw.name} does not say how programs are written as bits",
            hint="describe byte order and formats under 'encoding' in its file",
        )
    if path.is_dir():
        return _read_folder(path, hw)
    decoder = Decoder(hw, b"", {"base": hw.encoding.base})
    return _list_run(decoder, _read(path))


def _read_folder(folder: Path, hw: Hardware) -> str:
    try:
        manifest = _mapping(json.loads(_read(folder / MANIFEST)))
        image = _mapping(manifest["image"])
        zeros = _mapping(manifest["zeros"])
        parts = _mapping(manifest["program"])["parts"]
        assert isinstance(parts, list)
        constants = {"base": _number(image["base"])}
        for name, row in zeros.items():
            constants[name] = _number(_mapping(row)["offset"])
        steps = [_read_part(_mapping(part)) for part in parts]
    except (KeyError, ValueError, AssertionError, RecursionError) as error:
        raise ProgramError(
            f"{folder / MANIFEST} is no manifest of a binary: {error}",
            hint="it is written by 'isamap map .. --emit bin -o DIR'",
        ) from error
    decoder = Decoder(hw, _read(folder / IMAGE), constants)
    data = _read(folder / PROGRAM)
    needed = max((step.stop for step in steps if isinstance(step, slice)), default=0)
    if len(data) != needed:
        raise ProgramError(
            f"{folder / PROGRAM} has {len(data)} bytes, and {MANIFEST} says {needed}",
            hint="it is written by 'isamap map .. --emit bin -o DIR'",
        )
    texts = []
    for step in steps:
        if isinstance(step, HostStep):
            texts.append(show_host_step(step) + "\n")
        else:
            texts.append(_list_run(decoder, data[step]))
    return "".join(texts)


def _read_part(part: dict[str, Json]) -> HostStep | slice:
    """What the host does, or where a run's bytes lie."""
    if "host" in part:
        return host_step(_mapping(part["host"]))
    run = _mapping(part["run"])
    first = _number(run["offset"])
    return slice(first, first + _number(run["bytes"]))


def _list_run(decoder: Decoder, data: bytes) -> str:
    return "\n".join(["run", *(f"  {line}" for line in show_calls(decoder.decode(data)))]) + "\n"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ProgramError(f"cannot read {path}: {error.strerror}") from error


def _mapping(data: Json) -> dict[str, Json]:
    assert isinstance(data, dict), f"{data!r} should be a mapping"
    return data


def _number(data: Json) -> int:
    assert isinstance(data, int), f"{data!r} should be a number"
    return data
