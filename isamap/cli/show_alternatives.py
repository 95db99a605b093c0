"""Other coverings beside the chosen one.

In: a Result. Out: lines of text. Not its job: finding them.
"""

from isamap.compile import Result
from isamap.mapper import show_layouts

from .show_cores import show_split
from .show_mapping import show_binding
from .units import align, show_count


def alternative_lines(result: Result, limit: int) -> list[str]:
    """The best `limit` coverings beside the chosen one, one line each with a heading."""
    chosen = result.schedule.covering
    others = [a for a in result.answer.alternatives if a.covering != chosen][:limit]
    if not others:
        return []
    rows = [("instruction", "binding", "layouts", "bound [cycles]", "found [cycles]")]
    for other in others:
        covering = other.covering
        layouts = ", ".join(f"{p.buffer} {show_layouts(p)}" for p in covering.operands)
        found = "not better" if other.cycles is None else show_count(other.cycles)
        bound = show_count(other.bound_cycles)
        binding = show_binding(covering)
        if result.hardware.cores is not None:
            binding += f" on {show_split(covering)}"
        rows.append((covering.instruction, binding, layouts, bound, found))
    return align(rows, right=(3, 4))
