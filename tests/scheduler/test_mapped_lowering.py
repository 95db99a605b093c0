"""Any mapping, not only those worth scheduling, lowers to a program that computes the kernel.

In: mappings of small odd kernels on every machine. Out: failures. Not its job: which mappings there
are, all of them (`bench/mappings.py`).
"""

import random
from pathlib import Path

import pytest

from isamap.ir import load_kernel
from isamap.mapper import layout_rank, mappings
from tests.scheduler.cases import MACHINES, kernel, machine
from tests.scheduler.execution import assert_computes
from tests.scheduler.lowered import lower_mapping

SUBJECTS = (
    ("depthwise_conv", (("h", 3), ("w", 5), ("c", 3))),
    ("conv2d", (("n", 2), ("h", 3), ("w", 5), ("c", 3), ("k", 3), ("r", 2), ("stride", 2))),
    ("pointwise_conv", (("h", 2), ("w", 19), ("c", 5), ("k", 3))),  # 19 holds no whole group
)
SAMPLES = 3
FLEXIBLE = ("gemmini", "vta", "vecdot", "outer")  # their copies serve every mapping


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize(("name", "sizes"), SUBJECTS)
def test_mappings_chosen_at_random_compute_the_kernel(
    hw_name: str, name: str, sizes: tuple[tuple[str, int], ...]
) -> None:
    generator = random.Random(f"{hw_name} {name}")
    subject, hw = kernel(name, name, sizes), machine(hw_name)
    found = list(mappings(subject, hw, gather=True))
    for mapping in generator.sample(found, min(SAMPLES, len(found))):
        lowered = lower_mapping(subject, hw, mapping, generator, greedy=False)
        if isinstance(lowered, str):
            assert hw_name not in FLEXIBLE and "no copy" in lowered, f"{mapping}: {lowered}"
            continue
        label = f"{mapping}\n{lowered.tiling}"
        assert_computes(subject, lowered.program, hw, label)


def test_window_split_between_loops_of_one_call_is_written_out() -> None:
    """Rows p against filter rows u: the tile of x is gathered, the layout holds it twice."""
    subject = kernel("conv2d", "conv2d", SUBJECTS[1][1])
    hw = machine("gemmini")
    mapping = next(
        m
        for m in mappings(subject, hw, gather=True)
        if dict(m.groups) == {"i": ("p",), "j": ("o",), "k": ("u", "v")}
    )
    lowered = lower_mapping(subject, hw, mapping, random.Random(0), greedy=True)
    assert not isinstance(lowered, str), lowered
    plan = next(p for p in lowered.covering.operands if p.buffer == "x")
    assert plan.inlet is not None and plan.inlet.layout.is_replicated
    assert layout_rank(plan) > 2, "less natural than packed blocks"
    assert plan.inlet.layout.size_bytes > 3 * 3 * 5 * 3
    assert_computes(subject, lowered.program, hw, "gathered")


BEYOND = '''
from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def corner(m=5, n=6, k=5):
    """A corner of a product of larger matrices: what lies beyond is not zero."""
    A, B, C = In(i8, 2 * m, 2 * k), In(i8, 2 * k, 2 * n), InOut(i32, 2 * m, 2 * n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[p, j])


@kernel
def scatter(w=5, s=3, c=3, k=6):
    """Transposed convolution that leaves the last elements of D as they are."""
    A, W, D = In(i8, w, c), In(i8, s, c, k), InOut(i32, w + s, k)
    for x, r, i, o in grid(w, s, c, k):
        D[x + r, o] += i32(A[x, i]) * i32(W[r, i, o])
'''
REFUSALS = (
    "its tiles overlap and cannot be read back as they are written",
    "zeros there would change the result",
    "no copy takes i32 from",  # machines that drain packed blocks only, or load gapless ones
    "no copy brings it from",
)


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("name", ["corner", "scatter"])
def test_elements_that_the_kernel_leaves_alone_are_kept_or_the_mapping_refused(
    hw_name: str, name: str, tmp_path: Path
) -> None:
    file = tmp_path / "beyond.py"
    file.write_text(BEYOND)
    subject, hw = load_kernel(file, {}, name), machine(hw_name)
    generator, num_right = random.Random(name), 0
    for mapping in mappings(subject, hw, gather=True):
        for greedy in (True, False):
            lowered = lower_mapping(subject, hw, mapping, generator, greedy=greedy)
            if isinstance(lowered, str):
                assert any(reason in lowered for reason in REFUSALS), lowered
            else:
                num_right += 1
                assert_computes(subject, lowered.program, hw, str(mapping))
    assert num_right or hw_name != "gemmini", "takes any extent, reads and writes any stride"
