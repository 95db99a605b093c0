"""How a schedule's loops are shared out over the cores of a machine.

In: a covering, the machine. Out: lines of text, JSON values. Not its job: how busy the cores are
(`show_timing`).
"""

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, TiledLoop, why_one_core

MAX_SHARES = 8  # written out one by one


def core_lines(covering: Covering, hw: Hardware) -> list[str]:
    """A line on the grid, one per loop that is shared out, one per operand that is multicast;
    nothing on a machine without cores."""
    if hw.cores is None:
        return []
    grid = " x ".join(f"{size} {name}" for name, size in hw.cores.axes)
    loops = [loop for loop in covering.loops if loop.cores > 1]
    used = 1
    for loop in loops:
        used *= loop.active_cores
    alone = why_one_core(covering.on_one_core, hw)
    lines = [f"{used} of {hw.num_cores} ({grid})" + (f": {alone}" if alone else "")]
    for loop in loops:
        axes = " x ".join(s.axis for s in covering.shares if s.loop == loop.name)
        lines.append(f"{loop.name} along {axes}: {_shares_text(loop)}")
    for plan in covering.operands:
        fill = plan.residences[-1].fill if plan.residences else None
        axes = " and ".join(hw.instruction(fill.instruction).multicast) if fill else ""
        if fill and axes:
            lines.append(f"{plan.buffer} by {fill.instruction}: one call for all along {axes}")
    return lines


def show_split(covering: Covering) -> str:
    """`i/2 row, j/2 column`; `one core` where nothing is shared out."""
    return ", ".join(f"{s.loop}/{s.count} {s.axis}" for s in covering.shares) or "one core"


def core_shares(loop: TiledLoop) -> tuple[int, ...]:
    """Iterations of every core that shares the loop, 0 where none are left."""
    firsts = range(0, loop.cores * loop.extent, loop.extent)
    return tuple(min(loop.extent, max(0, loop.total_extent - first)) for first in firsts)


def _shares_text(loop: TiledLoop) -> str:
    """`4 shares of 16`; `shares of 16, 16, 9, 3 cores idle`."""
    shares = [share for share in core_shares(loop) if share]
    idle = loop.cores - len(shares)
    note = f", {idle} core{'s' if idle > 1 else ''} idle" if idle else ""
    if len(set(shares)) == 1:
        return f"{len(shares)} shares of {shares[0]}{note}"
    if len(shares) <= MAX_SHARES:
        return f"shares of {', '.join(map(str, shares))}{note}"
    return f"{len(shares) - 1} shares of {loop.extent}, then {shares[-1]}{note}"
