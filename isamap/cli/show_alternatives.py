"""Other coverings beside the chosen one, and why instructions did not match.

In: a Result, or an Explanation. Out: lines of text. Not its job: finding them.
"""

from isamap.bindings import Explanation, TaskExplanation
from isamap.compile import Result
from isamap.hwdesc import Hardware
from isamap.ir import pretty_statement
from isamap.mapper import Mismatch, show_layouts

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


def explanation_lines(found: Explanation) -> list[str]:
    """Per statement and instruction the nearest failed condition, nearest miss first, both sides.

    Instructions that do compute the statement in some other binding come last.
    """
    lines: list[str] = []
    for task in found.tasks:
        part = _task_lines(task, found.hardware, is_only=len(found.tasks) == 1)
        lines += ["", *part] if part else []
    return ["why not other instructions, nearest miss first", *lines] if lines else []


def _task_lines(found: TaskExplanation, hw: Hardware, *, is_only: bool) -> list[str]:
    misses = nearest_misses(found)
    if not misses and not found.problem and is_only:
        return []
    held = ", ".join(found.task.held)
    within = f"   (one {held} at a time)" if held else ""
    lines = [f"kernel: {pretty_statement(found.task.statement)}{within}"]
    lines += [f"    no instruction may: {found.problem}"] if found.problem else []
    lines += [f"    computed by {', '.join(found.matched)}"] if found.matched else []
    for miss, count in misses:
        semantics = hw.instruction(miss.instruction).semantics
        texts = "; ".join(pretty_statement(part) for part in semantics.statements)
        word = "in some bindings " if miss.instruction in found.matched else ""
        more = f"   (and {count - 1} more bindings)" if count > 1 else ""
        lines += [f"{miss.instruction}: {texts}", f"    {word}{miss.reason}{more}"]
    return lines


def nearest_misses(found: TaskExplanation) -> list[tuple[Mismatch, int]]:
    """Per instruction the miss that got farthest, and how many bindings failed."""
    grouped: dict[str, list[Mismatch]] = {}
    for miss in found.mismatches:
        grouped.setdefault(miss.instruction, []).append(miss)
    nearest = [(max(misses, key=lambda m: m.progress), len(misses)) for misses in grouped.values()]
    return sorted(
        nearest, key=lambda pair: (pair[0].instruction in found.matched, -pair[0].progress)
    )
