"""From a YAML file to a machine.

In: a path. Out: a `Hardware`, or all errors of the file. Not its job: finding files, printing.
"""

from collections.abc import Sequence
from pathlib import Path

from isamap.errors import IsamapError, SpecErrors

from .build_assembly import build_assembly
from .build_bits import add_bits
from .build_cores import build_cores, check_cores, check_multicasts
from .build_encoding import build_encoding
from .build_exposed import build_distances, build_issue_width, check_fifos, check_single_core
from .build_instruction import build_instruction
from .build_parts import (
    build_channels,
    build_compiler,
    build_host,
    build_memory,
    build_units,
)
from .check import (
    check_carriers,
    check_host_tokens,
    check_instruction,
    check_memories,
    check_names,
    check_nearest,
    check_routes,
)
from .hardware import Hardware, Instruction, Synchronisation
from .make_json_schema import make_json_schema
from .memory import Memory
from .problems import Problems
from .read_with_bases import read_with_bases
from .reader import Reader, read_parameters
from .recall import recall
from .schema import HardwareModel
from .settings import Setting, lay_settings, setting_text
from .units import Quantity
from .validate import validate


def load_hardware(path: str | Path, settings: Sequence[Setting] = ()) -> Hardware:
    """Read a hardware file, with values of it set otherwise. The same value as before where nothing
    is set, and neither the file nor what it builds on was touched since.

    Raises:
        SpecErrors: everything wrong in the file and the settings, sorted by position.
    """

    def read() -> Hardware:
        hardware, errors = _read(Path(path), settings)
        if hardware is None:
            raise SpecErrors(errors)
        return hardware

    return read() if settings else recall(Path(path), read)


def check_hardware(path: str | Path) -> tuple[IsamapError, ...]:
    """Everything wrong in a hardware file, sorted by position; empty if it loads."""
    return _read(Path(path))[1]


def hardware_schema() -> dict[str, object]:
    """The JSON Schema (2020-12) of hardware files, for editors."""
    return make_json_schema(HardwareModel)


def variant_text(path: str | Path, settings: Sequence[Setting], name: str, base: str) -> str:
    """A hardware file that builds on `base`, which is the file at `path`, and sets values of it.

    Raises:
        SpecErrors: the file, with those values, is wrong.
    """
    load_hardware(path, settings)
    document = read_with_bases(Path(path), Problems())
    assert document is not None, f"{path} was read before"
    return setting_text(document, settings, name, base)


def _read(
    path: Path, settings: Sequence[Setting] = ()
) -> tuple[Hardware | None, tuple[IsamapError, ...]]:
    problems = Problems()
    hardware = _build(path, settings, problems)
    errors = problems.sorted()
    assert (hardware is None) == bool(errors), f"{path}: {errors}"
    return hardware, errors


def _build(path: Path, settings: Sequence[Setting], problems: Problems) -> Hardware | None:
    document = read_with_bases(path, problems)
    if document is None:
        return None
    document = lay_settings(document, settings, problems)
    if settings and problems.count:
        return None
    model = validate(document, problems)
    if model is None:
        return None
    parameters = read_parameters(model.parameters, document, problems)
    if problems.count:  # everything else depends on them
        return None
    reader = Reader(document, problems, parameters)
    check_names(model, reader)
    memories = _build_memories(model, reader)
    units = build_units(model, reader)
    channels = build_channels(model, reader)
    cores = build_cores(model, reader)
    instructions = _build_instructions(model, memories, reader)
    if cores is not None or model.cores is None:
        check_cores(cores, memories, units, reader)
        check_multicasts(instructions, cores, reader)
    host = build_host(model, reader)
    compiler = build_compiler(model, reader)
    encoding = build_encoding(model, reader)
    check_single_core(model, reader)
    issue_width = build_issue_width(model, reader)
    assembly = build_assembly(model, reader)
    distances = build_distances(model, instructions, reader)
    clock_hz = float(reader.amount(model.clock, Quantity.CLOCK, ("clock",)))
    if not problems.count:  # a part with a mistake is missing here: routes over it would mislead
        check_routes(memories, instructions, reader)
        check_carriers(channels, instructions, reader)
        if host is not None and model.synchronisation == "tokens":
            check_host_tokens(host, units, channels, reader)
    if not problems.count and encoding is not None:
        instructions = add_bits(instructions, encoding, model, reader)
    if problems.count:
        return None
    hardware = Hardware(
        name=model.name,
        clock_hz=clock_hz,
        memories=tuple(memories.values()),
        units=units,
        instructions=instructions,
        synchronisation=Synchronisation(model.synchronisation),
        channels=channels,
        parameters=tuple(parameters.items()),
        host=host,
        compiler=compiler,
        cores=cores,
        encoding=encoding,
        assembly=assembly,
        issue_width=issue_width,
        distances=distances,
        files=document.files,
    )
    check_fifos(hardware, reader)
    return None if problems.count else hardware


def _build_memories(model: HardwareModel, reader: Reader) -> dict[str, Memory]:
    before = reader.problems.count
    built = {name: build_memory(name, memory, reader) for name, memory in model.memories.items()}
    memories = {name: memory for name, memory in built.items() if memory is not None}
    if reader.problems.count == before:
        check_memories(memories, reader)
        check_nearest(model, memories, reader)
    return memories


def _build_instructions(
    model: HardwareModel, memories: dict[str, Memory], reader: Reader
) -> tuple[Instruction, ...]:
    result = []
    for name, entry in model.instructions.items():
        instruction = build_instruction(name, entry, model, reader)
        if instruction is None:
            continue
        check_instruction(instruction, memories, reader)
        result.append(instruction)
    return tuple(result)
