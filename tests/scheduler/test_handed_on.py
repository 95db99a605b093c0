"""What tasks hand on to each other through the external memory: layouts, zeros, old values.

In: small kernels on the shipped machines. Out: failures. Not its job: joins (`test_joins`), parts
of arrays (`test_partial_arrays`).
"""

import pytest
from cases import machine

from isamap.ir import parse_semantics
from isamap.scheduler import Wishes, find_plan
from isamap.verify import verify_full

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
}


@pytest.mark.parametrize(("hw_name", "text"), KERNELS.values(), ids=KERNELS.keys())
def test_tasks_find_what_others_left(hw_name: str, text: str) -> None:
    subject, hw = parse_semantics(text, "handed"), machine(hw_name)
    found = verify_full(find_plan(subject, hw, Wishes()).program, subject, hw)
    assert found.is_verified, found
