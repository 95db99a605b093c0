"""How a task in a schedule file is shared out over cores.

In: the task's entry, its covering on one core, the machine. Out: the covering as the cores run it,
or what in the entry fits no way of sharing. Not its job: the tiling (`read_tiling`).
"""

from isamap.hwdesc import Hardware, Reader
from isamap.mapper import Covering, spread, why_one_core

from .describe import multicasts_of, split_of
from .schema import TaskRef
from .yaml_text import yaml_text

Path = tuple[str | int, ...]
MAX_NAMED = 6


def read_cores(
    reader: Reader, path: Path, ref: TaskRef, covering: Covering, hw: Hardware
) -> Covering | None:
    """The covering on the entry's cores, or None when a mistake was recorded."""
    if not ref.cores and not ref.multicast:
        return covering
    if hw.cores is None:
        key = "cores" if ref.cores else "multicast"
        reader.error(f"'{hw.name}' has no cores to share loops", (*path, key), "drop it", True)
        return None
    ways = list(spread(covering, hw))
    fitting = [found for found in ways if split_of(found) == ref.cores]
    if not fitting:
        texts = dict.fromkeys(yaml_text(split_of(found)) for found in ways)
        hint = f"one of: {', '.join(list(texts)[:MAX_NAMED])}" if ways else ""
        hint = hint or why_one_core(covering, hw)
        reader.error("loops cannot be shared out like this", (*path, "cores"), hint)
        return None
    for found in fitting:
        if multicasts_of(found, hw) == ref.multicast:
            return found
    texts = dict.fromkeys(yaml_text(multicasts_of(found, hw)) for found in fitting)
    hint = f"one of: {', '.join(list(texts)[:MAX_NAMED])}"
    place = (*path, "multicast") if ref.multicast else (*path, "cores")
    reader.error("operands are not brought to these cores like this", place, hint)
    return None
