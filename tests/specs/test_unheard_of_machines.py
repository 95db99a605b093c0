"""Machines that exist nowhere else: what they are like stands in their files, not in Python.

In: machines/*.yaml, kernels at odd sizes. Out: verdicts. Not its job: quality of schedules.
"""

from pathlib import Path

import pytest

import isamap
from isamap.hwdesc import check_hardware, load_hardware
from isamap.ir import parse_semantics
from tests.specs.mapped import FIRST, Sizes, assert_computes, map_and_run

FOLDER = Path(__file__).parent
MACHINES = sorted((FOLDER / "machines").glob("*.yaml"))
SHORT = str(FOLDER / "short_kernels.py")
PRODUCTS: list[tuple[str, Sizes]] = [
    ("gemm:gemm", {"m": 5, "n": 3, "k": 7}),
    ("gemm:gemm", {"m": 13, "n": 9, "k": 11}),
    ("gemv:gemv", {"m": 7, "k": 10}),
    ("conv1d:conv1d", {"n": 1, "w": 9, "c": 2, "k": 3, "s": 3, "pad": 1}),
    ("conv2d:conv2d", {"n": 1, "h": 3, "w": 5, "c": 2, "k": 3, "r": 2, "s": 3}),
]
SHORTS: list[tuple[str, Sizes]] = [
    (f"{SHORT}:product", {}),
    (f"{SHORT}:product", {"m": 1, "n": 4, "k": 23}),
    (f"{SHORT}:filtered", {}),
    (f"{SHORT}:filtered", {"w": 6, "s": 2}),
]
RESCALED: list[tuple[str, Sizes]] = [
    (f"{SHORT}:converted", {}),
    (f"{SHORT}:converted", {"m": 1, "n": 1, "k": 8}),
]
COMPLEX: list[tuple[str, Sizes]] = [
    (f"{SHORT}:complex_filtered", {}),
    (f"{SHORT}:complex_filtered", {"n": 1, "taps": 5}),
]
OWN = {  # machines that do not compute long i32 sums, and one whose sums have to be taken apart
    "short_sums": SHORTS,
    "complex_products": COMPLEX,
    "crossbar": RESCALED,
    "in_memory": PRODUCTS[:3],  # convolutions in that form take seconds
    "unit_chain": PRODUCTS[:3] + RESCALED,
    "chained_sums": PRODUCTS[:3],
}
EFFORT = {"in_memory": 0.2}  # to find a form of the kernel first
CASES = [
    pytest.param(file, name, sizes, id=f"{file.stem}-{name.rpartition('/')[2]}-{number}")
    for file in MACHINES
    for number, (name, sizes) in enumerate(OWN.get(file.stem, PRODUCTS))
]


@pytest.mark.parametrize("file", MACHINES, ids=lambda file: file.stem)
def test_the_file_has_no_mistakes(file: Path) -> None:
    assert check_hardware(file) == ()


@pytest.mark.parametrize(("file", "name", "sizes"), CASES)
def test_an_instruction_computes_it(file: Path, name: str, sizes: Sizes) -> None:
    assert map_and_run(name, load_hardware(file), sizes, EFFORT.get(file.stem, FIRST))


IN_STEPS = """
h, U, V = InOut(i8, 4, 2, 8), In(i8, 8, 8), In(i8, 8, 8)
T, S = Temp(i32, 3, 2, 8), Temp(i32, 3, 2, 8)
for t in range(3):
  for b, j, p in grid(2, 8, 8):
    T[t, b, j] += i32(h[t, b, p]) * i32(U[p, j])
  for b, j, p in grid(2, 8, 8):
    S[t, b, j] += i32(h[t, b, p]) * i32(V[p, j])
  for b, j in grid(2, 8):
    h[t + 1, b, j] = i8(T[t, b, j] - S[t, b, j])
"""


def test_weights_of_two_products_in_turn_pass_one_fifo_again_in_every_step() -> None:
    """What stayed in it would be read after what the other product wrote behind it."""
    hw = load_hardware(FOLDER / "machines" / "fifo_array.yaml")
    kernel = parse_semantics(IN_STEPS, "in_steps")
    found = isamap.map(kernel, hw, verify="off")
    assert isinstance(found, isamap.PlanResult)
    assert sum(not task.on_host for task in found.plan.tasks) == 2
    assert_computes(kernel, found.program, hw)
