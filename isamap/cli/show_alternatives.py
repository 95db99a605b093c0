"""Other coverings beside the chosen one, and why instructions did not match.

In: a Result, or an Explanation. Out: lines of text, printed text. Not its job: finding them.
"""

from rich.console import Console
from rich.text import Text

from isamap.compile import Explanation, Result
from isamap.ir import pretty, pretty_statement

from .show_mapping import show_binding, show_layouts
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
        rows.append((covering.instruction, show_binding(covering), layouts, bound, found))
    return align(rows, right=(3, 4))


def print_explanation(found: Explanation, console: Console) -> None:
    """Per statement and instruction the first failed condition, nearest miss first, both sides."""
    console.print(Text("\nwhy other instructions do not compute it, nearest miss first", "bold"))
    for miss in sorted(found.mismatches, key=lambda m: (m.statement, -m.progress, m.instruction)):
        statement = found.kernel.statements[miss.statement]
        semantics = pretty(found.hardware.instruction(miss.instruction).semantics).rstrip()
        indented = semantics.replace("\n", "\n               ")
        console.print(Text(f"\n{miss.instruction}: {miss.reason}"))
        console.print(Text(f"  kernel       {pretty_statement(statement)}"))
        console.print(Text(f"  instruction  {indented}"))
