"""A binary as C: one statement per record, for a processor that issues them itself.

In: a Program, its machine (whose formats have a `c` text), a folder. Out: a C file and a manifest.
Not its job: what a record says (`encode`), compiling.

The data image may lie anywhere: wherever the base address entered a record, the C adds the image's
address instead.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.program import Program
from isamap.write_all import make_folder, write_all

from .assemble import Binary, EncodedRun, assemble, table_bytes
from .call import HostStep
from .encode import LIMB_BITS, Records
from .manifest import MANIFEST, make_manifest, manifest_text
from .pack_record import read_field

HOLE = re.compile(r"\{(\w+)\}")
WORD = re.compile(r"w(\d+)")
CHUNK = 1000  # statements per function: compilers are slow on long ones
BYTES_PER_LINE = 16


def write_c(program: Program, kernel: Kernel, hw: Hardware, folder: str | Path) -> Path:
    """Write the program's C file and its manifest; the C file's path comes back.

    Raises:
        ProgramError: a format has no C text, or the host works in between.
        IsamapError: the files cannot be written; then both are as they were.
    """
    binary = assemble(program, hw, 0)
    path = Path(folder) / f"{c_name(program.name)}.c"
    text, manifest = make_c(binary, hw), manifest_text(make_manifest(binary, kernel, hw))
    make_folder(path.parent)
    write_all({path: text, path.parent / MANIFEST: manifest})
    return path


def make_c(binary: Binary, hw: Hardware) -> str:
    """The C text: `NAME_prepare(image)` fills tables and zeros, `NAME_run(image)` computes."""
    assert hw.encoding is not None
    if any(isinstance(part, HostStep) for part in binary.parts):
        step = next(part for part in binary.parts if isinstance(part, HostStep))
        raise ProgramError(
            f"the host computes '{step.name}' between two runs of {hw.name}",
            hint="'--emit bin' writes such programs, with what the host does in the manifest",
        )
    name = c_name(binary.program.name)
    lines = [
        f"/* {binary.program.name} on {hw.name}: {_count(binary)} records, written by isamap. */",
        "#include <stdint.h>",
        "#include <string.h>",
        hw.encoding.c_header,
        *_places(binary, name),
        *_prepare(binary, hw, name),
    ]
    calls = []
    for number, run in enumerate(binary.runs):
        statements = _statements(run, hw)
        for first in range(0, len(statements), CHUNK):
            function = f"{name}_run_{number}_{first // CHUNK}"
            lines += _function(function, statements[first : first + CHUNK])
            calls.append(f"  {function}(image);")
    lines += [f"void {name}_run(uint8_t *image)", "{", *calls, "}"]
    return "\n".join(lines) + "\n"


def c_name(name: str) -> str:
    """The kernel's name as a C identifier."""
    return re.sub(r"\W", "_", name)


def _count(binary: Binary) -> int:
    return sum(run.num_records for run in binary.runs)


def _places(binary: Binary, name: str) -> Iterator[str]:
    yield f"#define {name.upper()}_IMAGE_BYTES {binary.image_bytes}"
    groups = (("INPUT", binary.program.inputs), ("OUTPUT", binary.program.outputs))
    for group, places in groups:
        for place in places:
            word = c_name(place.buffer).upper()
            yield f"#define {name.upper()}_{group}_{word} {place.address}"


def _prepare(binary: Binary, hw: Hardware, name: str) -> Iterator[str]:
    yield f"void {name}_prepare(uint8_t *image)"
    yield "{"
    yield f"  memset(image, 0, {binary.image_bytes});"
    for number, part in enumerate(binary.tables):
        content = table_bytes(part, hw)
        yield f"  static const uint8_t table_{number}[] = {{"
        for first in range(0, len(content), BYTES_PER_LINE):
            row = content[first : first + BYTES_PER_LINE]
            yield "    " + " ".join(f"{byte}," for byte in row)
        yield "  };"
        yield f"  memcpy(image + {part.address}, table_{number}, sizeof table_{number});"
    yield "}"


def _function(name: str, statements: list[str]) -> list[str]:
    lines = [f"static void {name}(uint8_t *image)", "{"]
    lines.append("  const uint64_t base = (uint64_t)(uintptr_t)image;")
    lines.append("  (void)base;")
    return [*lines, *(f"  {statement}" for statement in statements), "}"]


def _statements(run: EncodedRun, hw: Hardware) -> list[str]:
    """One per record, in order."""
    found = [""] * run.num_records
    for part in run.records:
        if not part.layout.c:
            raise ProgramError(
                f"{hw.name} does not say how a record of format '{part.layout.name}' is written"
                " in C",
                hint="add 'c:' to the format",
            )
        text = part.layout.c.strip()
        for place, limbs in zip(part.places.tolist(), part.limbs.tolist()):
            word = sum(limb << LIMB_BITS * number for number, limb in enumerate(limbs))
            found[place] = HOLE.sub(partial(_filled, part, word, hw), text)
    return found


def _filled(part: Records, bits: int, hw: Hardware, hole: re.Match[str]) -> str:
    """A whole word, or the number in a field."""
    assert hw.encoding is not None
    word = WORD.fullmatch(hole[1])
    if word is None:
        return str(read_field(part.layout.field(hole[1]), bits))
    width = hw.encoding.word_bits
    first = int(word[1]) * width
    value = (bits >> first) & ((1 << width) - 1)
    text = f"{value:#x}ull"
    for bit, factor in part.shift_by_base:
        if first <= bit < first + width:
            text += f" + {_shifted(bit - first, factor)}"
    return text


def _shifted(bit: int, factor: Fraction) -> str:
    text = "base" if factor.numerator == 1 else f"base * {factor.numerator}"
    text = text if factor.denominator == 1 else f"{text} / {factor.denominator}"
    return f"({text} << {bit})" if bit else (text if text == "base" else f"({text})")
