"""The covering of a task in a schedule file.

In: the task's entry, the task, the machine. Out: the one covering that the mapper finds and the
entry names, or what in the entry fits none. Not its job: the tiling (`read_tiling`).
"""

from collections.abc import Iterable, Mapping
from itertools import chain

from isamap.hwdesc import Hardware, Reader
from isamap.mapper import Covering, Task

from .describe import Description, describe, names_parts, task_coverings
from .schema import TaskRef
from .yaml_text import yaml_text

Path = tuple[str | int, ...]
MAX_NAMED = 4


def read_covering(
    reader: Reader,
    path: Path,
    ref: TaskRef,
    task: Task,
    hw: Hardware,
    homes: Mapping[str, str],
    may_reassociate: bool,
) -> Covering | None:
    """The covering, or None when a mistake was recorded.

    Files that were written before loops were seen as one name them apart, and are read so.
    """
    wanted: Description = (
        ref.runs,
        tuple(ref.binding.items()),
        tuple((name, operand.route, operand.layout) for name, operand in ref.operands.items()),
    )
    nearest: list[Description] = []
    alike: list[Covering] = []
    names = chain(ref.tiles, *ref.binding.values())
    collapses = not names_parts(names, task, homes)
    for covering in task_coverings(task, hw, homes, may_reassociate, collapses=collapses):
        found = describe(covering, hw.external.name)
        nearest.append(found)
        if _same(found, wanted):
            alike.append(covering)
            if len(alike) > ref.choice:
                return covering
    if alike:
        message = f"there is no choice {ref.choice}: {len(alike)} coverings are alike"
        reader.error(message, (*path, "choice"), f"0 to {len(alike) - 1}")
    else:
        _say_what_differs(reader, path, wanted, nearest)
    return None


def _same(a: Description, b: Description) -> bool:
    """Equal, whatever the order of loops and operands."""
    return a[0] == b[0] and dict(a[1]) == dict(b[1]) and sorted(a[2]) == sorted(b[2])


def _say_what_differs(
    reader: Reader, path: Path, wanted: Description, found: list[Description]
) -> None:
    instruction, binding, operands = wanted
    by_instruction = [row for row in found if row[0] == instruction]
    if not by_instruction:
        names = _named(row[0] for row in found)
        message = f"'{instruction}' does not compute the task"
        reader.error(message, (*path, "runs"), f"computed by {names}" if names else "")
        return
    by_binding = [row for row in by_instruction if dict(row[1]) == dict(binding)]
    if not by_binding:
        texts = _named(yaml_text(dict(row[1])) for row in by_instruction)
        message = f"'{instruction}' is not bound to the task's loops in this way"
        reader.error(message, (*path, "binding"), f"one of: {texts}")
        return
    known = {name for name, _, _ in by_binding[0][2]}
    for name in known - {name for name, _, _ in operands}:
        reader.error(f"operand {name} is missing", (*path, "operands"))
    for name, route, layout in operands:
        place = (*path, "operands", name)
        if not reader.known("operand", name, sorted(known), place):
            continue
        ways = [(r, x) for row in by_binding for n, r, x in row[2] if n == name]
        if (route, layout) not in ways:
            texts = _named(yaml_text({"route": r, "layout": x}) for r, x in ways)
            reader.error(f"operand {name} cannot be brought like this", place, f"one of: {texts}")
    if not reader.problems.count:
        reader.error(
            "each operand can be brought like this, but not all of them at once",
            (*path, "operands"),
        )


def _named(texts: Iterable[str]) -> str:
    """The first few, each once."""
    unique = list(dict.fromkeys(texts))
    more = ", .." if len(unique) > MAX_NAMED else ""
    return ", ".join(unique[:MAX_NAMED]) + more
