"""No program moves less than the traffic bound says, however little room the chip has.

In: random small kernels on chips of a few blocks. Out: failures. Not its job: the bound in cycles
(test_roofline).
"""

import random
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.costmodels import (
    Aim,
    Metric,
    chip_bytes,
    compulsory_bytes,
    count_work,
    find_bounds,
    least_traffic,
    moved_by,
    moved_bytes,
)
from isamap.emulator import time_program
from isamap.scheduler import lower, solve
from tests.scheduler.cases import first_coverings, kernel, machine
from tests.scheduler.tilings import random_legal_tiling, with_less_memory

SUBJECTS = (
    ("gemm", "gemm", ("m", "n", "k"), 70),
    ("gemm", "gemm_tn", ("m", "n", "k"), 70),
    ("gemv", "gemv", ("m", "k"), 200),
    ("batched_gemm", "batched_gemm", ("b", "m", "n", "k"), 20),
    ("pointwise_conv", "pointwise_conv", ("h", "w", "c", "k"), 12),
    ("depthwise_conv", "depthwise_conv", ("h", "w", "c"), 9),
    ("conv2d", "conv2d", ("h", "w", "c", "k"), 9),
)


@settings(max_examples=60)
@given(st.data())
def test_no_schedule_moves_less_than_the_bound(data: st.DataObject) -> None:
    file, name, loops, most = data.draw(st.sampled_from(SUBJECTS))
    sizes = tuple((loop, data.draw(st.integers(1, most), loop)) for loop in loops)
    hw_name = data.draw(st.sampled_from(["gemmini", "vecdot", "outer", "vta"]))
    found = first_coverings(file, name, sizes, hw_name, 2)
    covering = data.draw(st.sampled_from(found))
    hw = machine(hw_name)
    room = {m.name: data.draw(st.integers(1, 4), m.name) for m in hw.memories}
    hw = with_less_memory(hw, covering, room)
    generator = random.Random(data.draw(st.integers(0, 9)))
    tiling = random_legal_tiling(covering, hw, generator, any_tile=True, attempts=20)
    if tiling is None:
        return
    moved = moved_by(covering, count_work(covering, hw), tiling)
    read, written = least_traffic(kernel(file, name, sizes), hw)
    assert read <= dict(moved.read_bytes)["dram"]
    assert written <= dict(moved.written_bytes)["dram"]


@pytest.mark.parametrize("hw_name", ["gemmini", "outer", "vecdot"])
@pytest.mark.parametrize(
    "subject",
    [
        ("gemm", "gemm", (("m", 96), ("n", 80), ("k", 700))),
        ("conv2d", "conv2d", (("h", 12), ("w", 11), ("c", 24), ("k", 20))),
        ("pointwise_conv", "pointwise_conv", (("h", 8), ("w", 9), ("c", 64), ("k", 48))),
    ],
    ids=lambda subject: subject[1],
)
def test_the_least_traffic_of_any_tiling_is_above_the_bound(
    hw_name: str, subject: tuple[str, str, tuple[tuple[str, int], ...]]
) -> None:
    covering = first_coverings(*subject, hw_name, 1)[0]
    hw = with_less_memory(
        machine(hw_name),
        covering,
        dict.fromkeys((memory.name for memory in machine(hw_name).memories), 3),
    )
    work = count_work(covering, hw)
    solution = solve(covering, work, hw, time_limit_s=20, aim=Aim.least(Metric.DRAM_BYTES))
    assert solution.tiling is not None
    program = lower(covering, solution.tiling, hw)
    assert program is not None
    timing = time_program(program, hw)
    traffic = next(t for t in timing.traffic if t.memory == "dram")
    assert all(bound.cycles <= timing.cycles for bound in find_bounds(covering, work, hw))
    read, written = least_traffic(kernel(*subject), hw)
    assert read <= traffic.read_bytes and written <= traffic.written_bytes
    if subject[1] == "gemm":
        assert sum(compulsory_bytes(kernel(*subject))) < read + written, "the bound bites"


def test_a_large_product_comes_close_to_the_known_constant() -> None:
    subject = kernel("gemm", "gemm", (("m", 2000), ("n", 2000), ("k", 2000)))
    room = 10_000
    element = sqrt(1 * 1 * 4)  # A and B are i8, C is i32
    smith = 2 * 2000**3 * element / sqrt(room) - 2 * room
    assert smith * 0.99 <= moved_bytes(subject, room) <= smith


def test_with_room_for_everything_each_byte_moves_once() -> None:
    subject = kernel("gemm", "gemm", (("m", 60), ("n", 60), ("k", 60)))
    hw = machine("gemmini")
    assert chip_bytes(hw) > 3 * 60 * 60 * 4
    assert least_traffic(subject, hw) == compulsory_bytes(subject)
