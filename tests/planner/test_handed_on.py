"""What tasks hand on to each other through the external memory: layouts, zeros, old values.

In: small kernels on the shipped machines. Out: failures. Not its job: joins (`test_joins`), parts
of arrays (`test_partial_arrays`).
"""

from dataclasses import replace

import pytest

from isamap.hwdesc import Hardware
from isamap.ir import parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.verify import verify_full
from tests.scheduler.cases import MACHINES, machine

KERNELS = {
    "a vector in byte planes": (
        "vta",
        """
B0, B2, B3 = Out(i32, 4), In(i8, 5), In(i8, 4)
for i in range(4):
  for k in range(5):
    B0[i] += i32(B3.at(i + k - 1, pad=0)) * i32(B2[k])
  B0[i] = B0[i]
""",
    ),
    "sums continued from another layout": (
        "vecdot",
        """
B0, B1, B2 = Out(i32, 2, 3), In(i8, 2, 2), In(i8, 2, 3)
B3, B4, B5 = In(i8, 3), In(i8, 2, 2), In(i8, 2, 3)
for i, j, k in grid(2, 3, 2):
  B0[i, j] += i32(B1[i, k]) * i32(B2[k, j])
for i, j, k in grid(2, 3, 2):
  B0[i, j] += i32(B3.at(i + k - 1, pad=0)) * i32(B2[k, j])
  B0[i, j] += i32(B4[k, i]) * i32(B5[k, j])
""",
    ),
    "elements used before they are written": (
        "conv_engine",
        """
T, D = Temp(i32, 4, 4), Out(i32, 4, 4)
for i, j in grid(4, 4):
  T[i, j] = 5
  D[i, j] = T[j, i]
""",
    ),
    "the rest of an array in byte planes": (
        "vta",
        """
B0, B1, B2 = InOut(i32, 2, 3, 4), In(i8, 4, 3), In(i8, 4, 4)
S = Out(i32, 3)
for i, j, k in grid(3, 4, 4):
  B0[1, i, j] += i32(B1[k, i]) * i32(B2[k, j])
for i in range(3):
  S[i] = i32(B1[0, i])
""",
    ),
    "every other element, then all": (
        "vta",
        """
A, B, D, E = In(i8, 3, 4), In(i8, 4, 5), InOut(i32, 5, 5), Out(i32, 5, 5)
for i, j, k in grid(3, 5, 4):
  D[2 * i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid(5, 5):
  E[i, j] = D[i, j] + 1
""",
    ),
    "a diagonal, then all": (
        "gemv_engine",
        """
A, B, D, E = In(i8, 5, 4), In(i8, 4), InOut(i32, 5, 5), Out(i32, 5, 5)
for i, k in grid(5, 4):
  D[i, i] += i32(A[i, k]) * i32(B[k])
for i, j in grid(5, 5):
  E[i, j] = D[j, i] + 1
""",
    ),
    "scalars": (
        "vta",
        """
A, B, C = In(i8), InOut(i8), Out(i8)
for i, j in grid(2, 3):
  C[()] = A[()]
for i, j in grid(2, 3):
  B[()] += A.at(pad=0)
""",
    ),
}


STEPS = """
A, B, C = In(i8, 3, 3, 5), In(i8, 5, 3), In(i8, 5, 3)
T, S, D = Temp(i32, 3, 3), Temp(i32, 3, 3), Out(i32, 3, 3, 3)
for t in range(3):
  for i, j, k in grid(3, 3, 5):
    T[i, j] += i32(A[t, i, k]) * i32(B[k, j])
  for i, j, k in grid(3, 3, 5):
    S[i, j] += i32(A[t, i, k]) * i32(C[k, j])
  for i, j in grid(3, 3):
    D[t, i, j] = T[i, j] + S[i, j]
  for i, j in grid(3, 3):
    T[i, j] = D[t, i, j]
"""


@pytest.mark.parametrize("hw_name", MACHINES)
def test_what_stays_on_chip_over_time_steps_is_not_overwritten(hw_name: str) -> None:
    subject, hw = parse_semantics(STEPS, "steps"), machine(hw_name)
    found = verify_full(find_plan(subject, hw, Wishes()).program, subject, hw)
    assert found.is_verified, found


def resized(hw: Hardware, sizes: dict[str, int]) -> Hardware:
    """The machine with other sizes of some memories, in bytes."""
    return replace(
        hw,
        memories=tuple(replace(m, size_bytes=sizes.get(m.name, m.size_bytes)) for m in hw.memories),
    )


def test_what_does_not_fit_side_by_side_is_fetched_again() -> None:
    """One tile of weights is all that the engine holds: each product brings its own every step."""
    subject, hw = parse_semantics(STEPS, "steps"), machine("gemv_engine")
    narrow = resized(hw, {"tiles": 4096, "vectors": 4 * 64, "sums": 8 * 256})
    plan = find_plan(subject, narrow, Wishes())
    assert verify_full(plan.program, subject, narrow).is_verified
    assert plan.costs.dram_bytes > find_plan(subject, hw, Wishes()).costs.dram_bytes


def test_two_products_keep_their_weights_in_different_memories() -> None:
    """These registers hold one set of stationary weights as it is and one transposed."""
    subject, gemmini = (
        parse_semantics(STEPS, "steps"),
        resized(machine("gemmini"), {"weights": 256}),
    )
    plan = find_plan(subject, gemmini, Wishes())
    assert verify_full(plan.program, subject, gemmini).is_verified
    used = {task.best.covering.instruction for task in plan.tasks if not task.on_host}
    assert used == {"compute", "compute_wt"}


@pytest.mark.parametrize(("hw_name", "text"), KERNELS.values(), ids=KERNELS.keys())
def test_tasks_find_what_others_left(hw_name: str, text: str) -> None:
    subject, hw = parse_semantics(text, "handed"), machine(hw_name)
    found = verify_full(find_plan(subject, hw, Wishes()).program, subject, hw)
    assert found.is_verified, found
