"""Cores from their model, and the rules that instructions follow on a machine that has them.

In: a checked model and a reader, built parts. Out: `Cores`, recorded problems. Not its job: what
else memories, units and instructions must satisfy (`check`).
"""

from collections.abc import Mapping

from .hardware import Cores, Instruction, Unit, is_same_work
from .memory import Memory, MemoryKind
from .reader import Reader
from .schema import CoresModel, HardwareModel

ONLY_AXIS = "core"  # of a machine that says how many cores it has, not how they are arranged
MAX_CORES = 4096  # the emulator keeps the bytes of every core
MAX_INSTANCES = 16384  # of one unit on all cores: a line of the emulator's C names each


def build_cores(model: HardwareModel, reader: Reader) -> Cores | None:
    """The cores, if the machine has several; None too where their entry has a mistake."""
    cores = model.cores
    if cores is None:
        return None
    before = reader.problems.count
    axes = _build_axes(cores, reader)
    for what, key, names, known in (
        ("memory", "memories", cores.memories, model.memories),
        ("unit", "units", cores.units, model.units),
    ):
        for number, name in enumerate(names):
            reader.known(what, name, known, ("cores", key, number))
            if name in names[:number]:
                hint = "name each once"
                reader.error(f"'{name}' is listed twice", ("cores", key, number), hint)
    if model.host is not None and model.host.unit in cores.units:
        message = f"the host's unit '{model.host.unit}' cannot be one per core"
        hint = "the one host works on arrays in the external memory; share its unit"
        reader.error(message, ("cores", "units", cores.units.index(model.host.unit)), hint)
    if reader.problems.count != before:
        return None
    loc = reader.document.key_loc(("cores",))
    return Cores(axes, tuple(cores.memories), tuple(cores.units), cores.source, loc)


def _build_axes(cores: CoresModel, reader: Reader) -> tuple[tuple[str, int], ...]:
    if (cores.count is None) == (not cores.grid):
        hint = "write 'count: 4' or 'grid: {row: 2, column: 2}'"
        reader.error("'cores' needs one of 'count' and 'grid'", ("cores",), hint, at_key=True)
        return ((ONLY_AXIS, 1),)
    if cores.count is not None:
        only = reader.integer(cores.count, ("cores", "count"), 1)
        axes: tuple[tuple[str, int], ...] = ((ONLY_AXIS, only),)
    else:
        for name in cores.grid:
            if not name.isidentifier():
                hint = "use letters, digits, _"
                reader.error(f"axis '{name}' is not a name", ("cores", "grid", name), hint, True)
        axes = tuple(
            (name, reader.integer(size, ("cores", "grid", name), 1))
            for name, size in cores.grid.items()
        )
    total = 1
    for _, size in axes:
        total *= size
    if total > MAX_CORES:
        path = ("cores", "grid" if cores.grid else "count")
        reader.error(f"{total} cores, at most {MAX_CORES} can be", path, "describe fewer")
    return axes


def multicast_axes(multicast: str | list[str], machine: HardwareModel) -> tuple[str, ...]:
    """The axes along which an instruction writes to every core (names unchecked), in the grid's
    order."""
    if machine.cores is None:
        return ("all",) if multicast == "all" else tuple(multicast)
    axes = tuple(machine.cores.grid) or (ONLY_AXIS,)
    if multicast == "all":
        return axes
    return tuple(sorted(multicast, key=lambda name: axes.index(name) if name in axes else 0))


def check_cores(
    cores: Cores | None, memories: Mapping[str, Memory], units: tuple[Unit, ...], reader: Reader
) -> None:
    """Only managed memories are private; no unit is there too often, on all cores if they have
    one each."""
    for number, name in enumerate(cores.memories if cores else ()):
        if name in memories and memories[name].kind is not MemoryKind.MANAGED:
            kind = memories[name].kind.value
            message = f"the {kind} memory '{name}' cannot be one per core"
            hint = "inputs and outputs live in the one external memory; caches are shared"
            reader.error(message, ("cores", "memories", number), hint)
    for unit in units:
        copies = cores.count if cores is not None and unit.name in cores.units else 1
        total = unit.count * copies
        if total > MAX_INSTANCES:
            on_cores = f" on {copies} cores" * (copies > 1)
            message = f"{total} of unit '{unit.name}'{on_cores}, at most {MAX_INSTANCES} can be"
            reader.error(message, ("units", unit.name, "count"), "describe fewer")


def check_multicasts(
    instructions: tuple[Instruction, ...], cores: Cores | None, reader: Reader
) -> None:
    """A multicast runs on a shared unit, reads shared memories and writes private ones; another
    instruction does the same for one core."""
    for instruction in instructions:
        if not instruction.multicast:
            continue
        before = reader.problems.count
        _check_multicast(instruction, cores, reader)
        if reader.problems.count == before and not any(
            is_same_work(instruction, other) for other in instructions if not other.multicast
        ):
            path = ("instructions", instruction.name, "multicast")
            message = f"no instruction does for one core what multicast '{instruction.name}' does"
            reader.error(message, path, "add one with the same semantics, extents and operands")


def _check_multicast(instruction: Instruction, cores: Cores | None, reader: Reader) -> None:
    path = ("instructions", instruction.name, "multicast")
    if cores is None:
        hint = "describe them: cores: {count: 4, memories: [..], units: [..]}"
        reader.error(f"'{instruction.name}' is multicast on a machine without cores", path, hint)
        return
    for name in instruction.multicast:
        reader.known("axis", name, [axis for axis, _ in cores.axes], path)
    if instruction.unit in cores.units:
        message = f"multicast '{instruction.name}' runs on '{instruction.unit}', one per core"
        reader.error(message, path, "let a unit run it that all cores share")
    written = {s.target.buffer for s in instruction.semantics.statements}
    for operand in instruction.operands:
        is_private = operand.memory in cores.memories
        if is_private != (operand.name in written):
            verb = "writes" if operand.name in written else "reads"
            other = "shared" if verb == "writes" else "private"
            message = f"multicast '{instruction.name}' {verb} the {other} memory '{operand.memory}'"
            hint = "it reads memories that all cores share and writes memories of each core"
            reader.error(
                message, ("instructions", instruction.name, "operands", operand.name), hint
            )
