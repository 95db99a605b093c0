"""Inputs that are packed before a program runs: how coverings find them.

In: a covering, the inputs. Out: the covering for each way in which they may lie, the inputs that
are to be packed for one. Not its job: packing (`program.use_order`).

Packed in the order of their use, they are read along a single row, where no line, page or set of a
cache is touched in vain. From memory a processor may read several rows side by side faster: large
inputs may be left as they lie.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from math import prod

from isamap.costmodels import PAGE_BYTES
from isamap.hwdesc import Hardware
from isamap.ir import size_bytes
from isamap.mapper import Covering, OperandPlan


def as_called(covering: Covering, ahead: Collection[str], hw: Hardware) -> Iterator[Covering]:
    """With inputs `ahead` in the order of their use where calls can read them so; and once more
    with those as they lie that one row is too slow for."""
    ordered = {p.name for p in covering.operands if p.buffer in ahead and _can_follow(covering, p)}
    yield _reordered(covering, ordered)
    large = {name for name in ordered if _is_slow_alone(covering, covering.operand(name), hw)}
    if large:
        yield _reordered(covering, ordered - large)


def to_reorder(coverings: Iterable[Covering], ahead: Iterable[str]) -> tuple[str, ...]:
    """Of the inputs `ahead` all but those that each of the coverings reads as they lie, though it
    could follow them in the order of their use."""
    reads = [(c, plan) for c in coverings for plan in c.operands]
    wanted = {p.buffer for c, p in reads if p.is_reordered or not _can_follow(c, p)}
    read = {p.buffer for _, p in reads}
    return tuple(name for name in ahead if name in wanted or name not in read)


def copies(covering: Covering, inputs: Collection[str]) -> bool:
    """Does it bring one of these inputs, as it is, into room within the external memory?"""
    read = (plan for plan in covering.operands if plan.buffer in inputs)
    return any(r.is_packed and r.dtype == plan.end_dtype for plan in read for r in plan.residences)


def _reordered(covering: Covering, names: Collection[str]) -> Covering:
    if not any(p.is_reordered or p.name in names for p in covering.operands):
        return covering
    plans = tuple(replace(plan, is_reordered=plan.name in names) for plan in covering.operands)
    return replace(covering, operands=plans)


def _can_follow(covering: Covering, plan: OperandPlan) -> bool:
    """Do calls read it where it lies, in blocks of neighbours, as they will lie in any order of
    use, or one for all?"""
    if plan.inlet is None or copies(covering, (plan.buffer,)):
        return False
    running = size_bytes(plan.inlet.layout.dtype)
    for block, stride in zip(reversed(plan.blocks), reversed(plan.inlet.block_strides_bytes)):
        if block.extent > 1 and stride not in (0, running):
            return False
        running *= block.extent if stride else 1
    return True


def _is_slow_alone(covering: Covering, plan: OperandPlan, hw: Hardware) -> bool:
    """Does it come from behind a cache whose lines take longer along one row, and has it rows of a
    page or more that may be read side by side?"""
    buffer = covering.kernel.buffer(plan.buffer)
    element = size_bytes(buffer.dtype)
    is_long = element * buffer.shape[-1] >= PAGE_BYTES
    size = element * prod(buffer.shape)
    return is_long and any(c.lone_cycles and size > c.size_bytes for c in hw.caches)
