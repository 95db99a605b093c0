"""An operand's way and layouts as text.

In: operand plans, layouts. Out: one line each. Not its job: whole coverings as a person reads them.
"""

from isamap.program import Layout

from .covering import OperandPlan, Transfer


def show_route(plan: OperandPlan, external: str) -> str:
    """`dram -mvin-> scratchpad -preload-> array`, and the way back of an output; `in sbuf`
    where the instruction works on the buffer in place. `tiles (i end to end)`: tiles are moved as a
    whole, and blocks along i by one call as far as that takes them."""
    inside = external if plan.inlet is None else plan.inlet.home or external
    outside = external if plan.outlet is None else plan.outlet.home or external
    if not plan.residences:
        return f"in {inside if plan.outlet is None else outside}"
    parts = [inside] if plan.residences[-1].fill is not None else []
    for number, residence in reversed(list(enumerate(plan.residences))):
        entry = residence.fill or residence.zero
        arrow = [f"-{_show_instructions(entry)}->"] if entry is not None else []
        ribbons = (axis.loops[0] for axis in plan.windows_at(number) if axis.is_ribbon)
        parts += [*arrow, residence.memory, *(f"({name} end to end)" for name in ribbons)]
    for number, residence in enumerate(plan.residences):
        if residence.drain is not None:
            is_last = residence is plan.residences[-1]
            target = outside if is_last else plan.residences[number + 1].memory
            steps = [update.instruction for update in residence.finish]
            way = " ".join([*steps, _show_instructions(residence.drain)])
            parts += [f"-{way}->", target]
    return " ".join(parts)


def _show_instructions(transfer: Transfer) -> str:
    shift = f"+{transfer.shift.instruction}" if transfer.shift else ""
    if transfer.inward is not None:
        inward = transfer.inward
        before = _show_instructions(inward.transfer)
        return f"{before}-> {inward.memory} -{transfer.instruction}{shift}"
    if transfer.onward is None:
        return transfer.instruction + shift
    onward = transfer.onward
    return f"{transfer.instruction}-> {onward.memory} -{_show_instructions(onward.transfer)}"


def show_layouts(plan: OperandPlan) -> str:
    """`natural`, `zero border`, `packed` or `gathered`, of the buffer before and after."""
    layouts = [x.layout for x in (plan.inlet, plan.outlet) if x is not None]
    words = list(dict.fromkeys(show_layout_kind(layout) for layout in layouts))
    return " in, ".join(words) + (" out" if len(words) > 1 else "")


def show_layout_kind(layout: Layout) -> str:
    """One word for how a buffer lies in the external memory."""
    if layout.is_natural:
        return "natural"
    if layout.plane_bytes is not None:
        return "byte planes"
    if layout.is_replicated:
        return "gathered"
    is_bordered = len(layout.axes) == len(layout.shape)
    return f"{layout.padding or 'zero'} border" if is_bordered else "packed"
