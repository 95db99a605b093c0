"""Let the host work on a part of what an iteration computes while the accelerator makes the rest.

In: a plan in which both take turns under a held loop (time steps). Out: its kernel with these tasks
cut into two and more parts along a dimension that they share. Not its job: the rewrite itself
(`split_nest`), scheduling the parts (`find_plan`), how much that gains (`timeline`).

Part n + 1 of the accelerator's work runs beside part n of the host's. Of k parts in the proportions
1 : r : r^2 .., r being the host's cycles per one of the accelerator's, neither waits in between;
what stays alone is the accelerator's first and the host's last part.
"""

from collections.abc import Iterator
from dataclasses import replace

from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import TiledLoop
from isamap.rewrites import Step, attempt, nest_site, split_nest

from .keep_parts import Part
from .plan import Plan, PlannedTask

COUNTS = (5, 3, 2)  # of parts: as many as are worth their starts, then few
GRAINS = 32  # parts of a loop that cuts are rounded to, if its blocks are smaller


def overlap_host(plan: Plan, hw: Hardware) -> Iterator[Part]:
    """For the outermost held loop under which the accelerator works longest: many parts, then few.

    None where tasks wait for each other by tokens, or run at given cycles, or where the host is the
    same core.
    """
    if hw.host is None or not hw.host.is_apart or not hw.is_interlocked:
        return
    rivals = [p for p in plan.tasks if not p.on_host and len(p.task.held) == 1]
    if not rivals:
        return
    seed = max(rivals, key=lambda p: p.cycles)
    under = [p for p in plan.tasks if p.task.held == seed.task.held]
    host = sum(p.cycles for p in under if p.on_host)
    others = sum(p.cycles for p in under if not p.on_host)
    for loop in _loops(seed) if host else ():
        found = False
        for count in COUNTS:
            sizes = _sizes(loop, count, host / others)
            part = _cut(plan, seed, loop, sizes)
            if part is not None:
                found = True
                gain = host + others - _beside(others, host, sizes)
                yield replace(part, least_cycles=plan.cycles - gain)
        if found:
            return


def _beside(first: float, then: float, sizes: list[int]) -> float:
    """Cycles of two units, the second one following part by part, each taking its share."""
    ready = done = 0.0
    for size in sizes:
        ready += first * size / sum(sizes)
        done = max(done, ready) + then * size / sum(sizes)
    return done


def _loops(seed: PlannedTask) -> list[TiledLoop]:
    """Of the result, free to run in parts, the longest first; those that are covered together with
    others in single iterations."""
    statement, held = seed.task.statement, seed.task.held
    covered = {x.name: x for x in seed.best.covering.loops}
    loops = [
        covered.get(x.name) or TiledLoop(x.name, x.extent, x.extent, 1, is_reduction=False)
        for x in statement.loops
        if statement.target.moves_with(x.name)
    ]
    free = [x for x in loops if x.name not in held and x.kernel_extent > 1]
    return sorted(free, key=lambda x: -x.kernel_extent)


def _sizes(loop: TiledLoop, count: int, ratio: float) -> list[int]:
    """Iterations of each part; empty where one would have none."""
    grain = loop.block * max(1, loop.units // GRAINS)
    shares = [ratio**number for number in range(count)]
    sizes: list[int] = []
    for number, share in enumerate(shares[:-1]):
        left = loop.kernel_extent - sum(sizes)
        sizes.append(grain * max(1, round(left * share / sum(shares[number:]) / grain)))
    sizes.append(loop.kernel_extent - sum(sizes))
    return sizes if sizes[-1] > 0 else []


def _cut(plan: Plan, seed: PlannedTask, loop: TiledLoop, sizes: list[int]) -> Part | None:
    """All parts, or None where there are none."""
    kernel, steps = plan.kernel, list(plan.steps)
    around, name, position = seed.task.held[-1], loop.name, seed.task.number
    target = seed.task.statement.target
    dim = next((d for d, i in enumerate(target.indices) if i.names == (name,)), None)
    if dim is None or not sizes:
        return None
    for size in sizes[:-1]:
        cut = attempt(split_nest, kernel, around, position, name, size)
        if cut is None:
            return None
        steps.append(Step("split_nest", nest_site(kernel, around, position, name, size)))
        kernel, position = cut, _last_like(cut, seed)
        (name,) = kernel.statements[position].target.indices[dim].names
    return Part(kernel, tuple(steps))


def _last_like(kernel: Kernel, seed: PlannedTask) -> int:
    """The last part of the statement that was cut."""
    own = seed.task.statement
    return max(
        number
        for number, statement in enumerate(kernel.statements)
        if (statement.target.buffer, statement.update) == (own.target.buffer, own.update)
    )
