"""Check a mapping and its schedule in about a second: the same structure on cut-down sizes.

In: a covering, its tiling, the machine. Out: a Verification of the small program. Not its job:
the large program's timing, hazards and bounds (the emulator's timing run checks those).
"""

from itertools import islice, product
from math import prod

from isamap.costmodels import Tiling
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, verify
from isamap.mapper import Covering, Transfer, coverings, spread_like
from isamap.program import Layout, Program
from isamap.scheduler import is_legal, lower

from .run_full import KernelFile, execute, with_reference
from .shrink import Limits, shrink, shrink_tiling
from .verification import Check, Verification

# Tried in order; the first under which the mapper finds the same structure again is executed.
LIMITS = (Limits(2, 3), Limits(2, 2), Limits(4, 3), Limits(4, 4), Limits(8, 4))
# Then with strides that keep their rests by so many elements, where an instruction asks for that.
PERIODS = (1, 64)
MAX_ITERATIONS = 2**26  # of the small kernel, about a second of emulation
MAX_COVERINGS = 4000  # looked at in search of the same structure, operands exchanged or not


def verify_quick(
    kernel: Kernel,
    covering: Covering,
    tiling: Tiling,
    hw: Hardware,
    *,
    seed: int = 0,
    may_reassociate: bool = False,
    file: KernelFile | None = None,
) -> Verification:
    """Run the kernel's covering and schedule on the smallest sizes that have all their edges.

    A result with `failure` and not `is_wrong` says why no small program could be made.
    """
    reason = "no cut-down sizes give the same covering"
    for period, limits in product(PERIODS, LIMITS):
        found = _small_program(covering, tiling, hw, limits, period, may_reassociate)
        if isinstance(found, str):
            reason = found
            continue
        small, program = found
        checked = execute(program, small.kernel, hw, Check.QUICK, seed)
        return with_reference(checked, kernel, file, seed)
    return Verification(Check.QUICK, failure=f"quick check not possible: {reason}")


def _small_program(
    covering: Covering,
    tiling: Tiling,
    hw: Hardware,
    limits: Limits,
    period: int,
    may_reassociate: bool,
) -> tuple[Covering, Program] | str:
    """The small covering and its program, or why there is none."""
    extents, small_tiling = shrink_tiling(covering, tiling, limits)
    if prod(extents.values()) > MAX_ITERATIONS:
        return f"cut down to {prod(extents.values())} iterations it is still too large"
    kernel = shrink(covering.kernel, extents, period)
    try:
        verify(kernel)
    except IsamapError as error:
        return f"the cut-down kernel is no kernel: {error.message}"
    wanted = structure(covering.on_one_core)
    stream = coverings(kernel, hw, [], may_reassociate=may_reassociate, collapses=False)
    for candidate in islice(stream, MAX_COVERINGS):
        if structure(candidate) == wanted:
            break
    else:
        return "no cut-down sizes give the same covering"
    candidate = spread_like(candidate, covering)
    if not is_legal(candidate, small_tiling, hw):
        return "the cut-down schedule is not legal"
    program = lower(candidate, small_tiling, hw)
    assert program is not None, "a legal tiling has a place"
    return candidate, program


def structure(covering: Covering) -> tuple[object, ...]:
    """What two coverings share when they differ in sizes only."""
    loops = tuple((loop.name, loop.block, loop.is_partial) for loop in covering.loops)
    operands = tuple(
        (
            plan.name,
            plan.buffer,
            plan.inlet_buffer,
            plan.axes,
            plan.blocks,
            tuple(
                (r.memory, r.opening, *(_shape_of(t) for t in (r.fill, r.zero, r.again, r.drain)))
                for r in plan.residences
            ),
            _kind_of(plan.inlet.layout) if plan.inlet else None,
            _kind_of(plan.outlet.layout) if plan.outlet else None,
        )
        for plan in covering.operands
    )
    return covering.instruction, covering.binding, covering.immediates, loops, operands


def _shape_of(transfer: Transfer | None) -> tuple[object, ...] | None:
    if transfer is None:
        return None
    assigned = tuple(
        (loop, tuple((dim.block, dim.axis, dim.extent) for dim in dims))
        for loop, dims in transfer.assigned
    )
    walked = tuple((dim.block, dim.axis, dim.extent) for dim in transfer.walked)
    onward = transfer.onward.transfer if transfer.onward else None
    shapes = (_shape_of(transfer.shift), _shape_of(onward))
    return transfer.instruction, assigned, walked, transfer.planes, transfer.rows, *shapes


def _kind_of(layout: Layout) -> tuple[object, ...]:
    if layout.is_natural:  # however many dimensions are seen as one
        return ("natural",)
    is_planar = layout.plane_bytes is not None
    return is_planar, tuple((axis.dim, axis.step) for axis in layout.axes)
