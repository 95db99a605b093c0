"""Blocks that pass a memory on their way: so many at a time that no latency holds them up."""

from dataclasses import replace

import pytest

from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel, parse_semantics
from isamap.mapper import Passage, Task, coverings, cut_tasks, flatten, join_tasks
from isamap.resources import find_hardware, find_kernel

AIE_ML = load_hardware(find_hardware("aie_ml"))
TRAINIUM = load_hardware(find_hardware("trainium"))
BIASED = """
A, B, b = In(bf16, 4, 256), In(bf16, 256, 256), In(f32, 256)
C = Out(f32, 4, 256)
for i, j in grid(4, 256):
  C[i, j] = b[j]
for i, j, p in grid(4, 256, 256):
  C[i, j] += f32(A[i, p]) * f32(B[p, j])
"""


def passage(hw: Hardware) -> Passage:
    """On the bias's way into PSUM: blocks of 128 x 4 sums, 2 KiB in SBUF."""
    kernel = parse_semantics(BIASED, "biased")
    tasks = tuple(task for task in flatten(cut_tasks(kernel)) if isinstance(task, Task))
    joined = next(found for n in range(2) for found in join_tasks(kernel, tasks, n))
    stream = coverings(joined.kernel, hw, [], joined.setting(), may_reassociate=True)
    covering = next(
        c for c in stream if c.instruction == "matmul" and c.group("m")[0].startswith("j")
    )
    fills = [r.fill for plan in covering.operands for r in plan.residences if r.fill]
    (found,) = [fill.inward for fill in fills if fill.inward]
    assert found.memory == "sbuf" and found.block_bytes == 2048
    return found


@pytest.mark.parametrize(
    ("size_bytes", "slots"),
    [
        (24 << 20, 46),  # of 1 + (1432 until it is there + 5 to take it on) / 32 between two
        (32 * 7 * 2048, 7),  # a small part of the memory
        (32 * 2048, 2),
    ],
)
def test_as_many_pass_as_a_latency_takes(size_bytes: int, slots: int) -> None:
    memories = tuple(
        replace(m, size_bytes=size_bytes) if m.name == "sbuf" else m for m in TRAINIUM.memories
    )
    assert passage(replace(TRAINIUM, memories=memories)).slots == slots


@pytest.mark.parametrize(
    ("accumulators", "size_bytes", "slots"),
    [
        (9, 62 << 10, 9),  # the next tile's sums wait for all of them; 4 take a latency
        (9, 32 * 5 * 128, 5),  # a small part of the memory
        (2, 62 << 10, 4),
    ],
)
def test_as_many_pass_as_the_memory_behind_holds(
    accumulators: int, size_bytes: int, slots: int
) -> None:
    sizes = {"accumulators": accumulators * 128, "data": size_bytes}
    memories = tuple(
        replace(m, size_bytes=sizes.get(m.name, m.size_bytes)) for m in AIE_ML.memories
    )
    kernel = load_kernel(find_kernel("gemm")[0], {}, "gemm")
    covering = next(coverings(kernel, replace(AIE_ML, memories=memories), []))
    (sums,) = covering.operand("C").residences
    assert sums.fill is not None and sums.fill.inward is not None
    assert sums.fill.inward.slots == slots
