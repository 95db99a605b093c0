"""A covering as equations a person reads.

In: a covering. Out: lines of text. Not its job: tiles and order (`show_nest`), colours.
"""

from isamap.ir import Access, pretty_expr
from isamap.mapper import (
    Covering,
    OperandPlan,
    TiledLoop,
    show_layout_kind,
    show_layouts,
    show_route,
)
from isamap.program import Layout


def show_binding(covering: Covering) -> str:
    """`i <- i (16), k <- p (16)`: instruction loop, kernel loops, iterations per call."""
    groups = [f"{loop} <- {_show_group(covering, loop, group)}" for loop, group in covering.binding]
    return ", ".join(groups) or "one element"


def _show_group(covering: Covering, loop: str, group: tuple[str, ...]) -> str:
    if not group:
        stand_in = [covering.loop(name) for name in covering.group(loop)]
        return f"nothing ({stand_in[0].extent} zero-filled)" if stand_in else "nothing (1)"
    blocks = " x ".join(str(covering.loop(name).block) for name in group)
    padded = [covering.loop(name) for name in group if _padding(covering.loop(name))]
    note = "".join(f", {tiled.name} padded by {_padding(tiled)}" for tiled in padded)
    return f"{' x '.join(group)} ({blocks}{note})"


def _padding(loop: TiledLoop) -> int:
    return loop.total_extent - loop.kernel_extent


def show_outside(covering: Covering, hidden: tuple[str, ...] = ()) -> str:
    """Kernel loops that no instruction loop runs over, with their extents; empty if none."""
    bound = {*hidden, *(name for _, group in covering.binding for name in group)}
    statement = covering.kernel.statements[covering.statement]
    return ", ".join(f"{x.name} ({x.extent})" for x in statement.loops if x.name not in bound)


def operand_rows(covering: Covering, external: str) -> list[tuple[str, str, str]]:
    """Per operand: `A <- A[i, p]`, its way to and from the `external` memory, its layout."""
    return [
        (
            f"{plan.name} {_show_accesses(covering, plan)}",
            show_route(plan, external),
            show_layouts(plan),
        )
        for plan in covering.operands
    ]


def _show_accesses(covering: Covering, plan: OperandPlan) -> str:
    """`<- A[i]`, `-> D[i]`, or both where an update in place begins with another buffer."""
    if plan.inlet is None:
        return f"-> {_show_access(covering, plan.buffer)}"
    entry = f"<- {_show_access(covering, plan.inlet_buffer)}"
    is_same = plan.inlet_buffer == plan.buffer
    return entry if is_same else f"{entry} -> {_show_access(covering, plan.buffer)}"


def _show_access(covering: Covering, buffer: str) -> str:
    statement = covering.kernel.statements[covering.statement]
    found: list[Access] = [access for access in statement.accesses if access.buffer == buffer]
    return pretty_expr(found[0]) if found else buffer


def packing_sentences(covering: Covering) -> list[str]:
    """A plain sentence per buffer that must not lie as NumPy lays it."""
    lines = []
    for plan in covering.operands:
        for buffer, when, external in (
            (plan.inlet_buffer, "before the call", plan.inlet),
            (plan.buffer, "after the call", plan.outlet),
        ):
            if external is not None and not external.layout.is_natural:
                what = _explain(external.layout, covering, plan)
                lines.append(f"buffer {buffer} lies {what} {when}")
    return list(dict.fromkeys(lines))


def _explain(layout: Layout, covering: Covering, plan: OperandPlan) -> str:
    kind = show_layout_kind(layout)
    if kind.endswith("border"):
        return f"with a border of {layout.padding or 'zeros'} around it"
    if kind == "byte planes":
        return "with the bytes of its elements in separate planes"
    if kind == "gathered":
        return f"with windows written out (im2col), in {layout.size_bytes} bytes"
    blocks = " x ".join(
        f"{block.extent} of {block.loop}"
        for block in plan.blocks
        if covering.loop(block.loop).block == block.extent
    )
    return f"in contiguous blocks ({blocks})" if blocks else "in another order of its dimensions"
