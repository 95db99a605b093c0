"""Kernels without a sum: every machine that has a fitting vector instruction computes them.

In: small kernels as text. Out: failures. Not its job: sums of products (`test_oracle`).
"""

from pathlib import Path

import pytest

from isamap.costmodels import bound_cycles, count_work, roofline
from isamap.ir import Kernel, load_kernel
from isamap.mapper import Covering, coverings
from isamap.scheduler import solve
from tests.scheduler.cases import machine
from tests.scheduler.execution import assert_correct

HEAD = "from isamap.lang import *\n\n\n@kernel\ndef subject(m=5, n=37):\n"
NEST = "    for i, j in grid(m, n):\n        "
PAIR = "    A, B, D = In(i32, m, n), In(i32, m, n), Out(i32, m, n)\n" + NEST
ONE = "    A, D = In(i32, m, n), Out(i32, m, n)\n" + NEST
IN_PLACE = "    A, D = In(i32, m, n), InOut(i32, m, n)\n" + NEST
ROW = "    A, b, D = In(i32, m, n), In(i32, n), Out(i32, m, n)\n" + NEST
NARROW = "    A, b, D = In(i32, m, n), In(i32, n), Out(i8, m, n)\n" + NEST

TEXTS = {
    "add": PAIR + "D[i, j] = A[i, j] + B[i, j]\n",
    "maximum": PAIR + "D[i, j] = max(A[i, j], B[i, j])\n",
    "minimum": PAIR + "D[i, j] = min(A[i, j], B[i, j])\n",
    "multiply": PAIR + "D[i, j] = A[i, j] * B[i, j]\n",
    "double": ONE + "D[i, j] = A[i, j] + A[i, j]\n",
    "relu": ONE + "D[i, j] = relu(A[i, j])\n",
    "floor": ONE + "D[i, j] = max(A[i, j], -7)\n",
    "offset": ONE + "D[i, j] = 5 + A[i, j]\n",
    "shift": ONE + "D[i, j] = A[i, j] >> 3\n",
    "shift_round": ONE + "D[i, j] = rshift_round(A[i, j], 3)\n",
    "clip_in_place": IN_PLACE + "D[i, j] = max(D[i, j], -3)\n",
    "add_in_place": IN_PLACE + "D[i, j] += A[i, j]\n",
    "add_row": ROW + "D[i, j] = A[i, j] + b[j]\n",
    "flipped": "    A, D = In(i32, n, m), Out(i32, m, n)\n" + NEST + "D[i, j] = max(A[j, i], 0)\n",
    "spread": "    A, D = In(i32, n), Out(i32, m, n)\n" + NEST + "D[i, j] = max(A[j], 0)\n",
    "shifted": ONE.replace("In(i32, m, n)", "In(i32, m, n + 1)")
    + "D[i, j] = max(A[i, j + 1], 0)\n",
    "border": ONE + "D[i, j] = max(A.at(i - 1, j, pad=0), 0)\n",
    "below": "    A, D = In(i32, m, n), InOut(i32, m + 2, n)\n"
    + NEST
    + "D[i + 1, j] = max(A[i, j], 0)\n",
    "narrow": NARROW + "D[i, j] = sat_i8(A[i, j])\n",
    "rescale": NARROW + "D[i, j] = sat_i8(rshift_round(relu(A[i, j] + b[j]), 7))\n",
    "multiply_add": "    A, s, b, D = In(i32, m, n), In(i32, n), In(i32, n), Out(i32, m, n)\n"
    + NEST
    + "D[i, j] = relu(A[i, j] * s[j] + b[j])\n",
}
# machine -> kernel -> an instruction that computes it
EXPECTED = {
    "vta": {
        "add": "alu_add",
        "maximum": "alu_max",
        "minimum": "alu_min",
        "double": "alu_add",
        "relu": "alu_max_imm",
        "floor": "alu_max_imm",
        "offset": "alu_add_imm",
        "shift": "alu_shr_imm",
        "clip_in_place": "alu_max_imm",
        "add_in_place": "alu_add",
        "add_row": "alu_add",
        "flipped": "alu_max_imm",
        "spread": "alu_max_imm",
        "shifted": "alu_max_imm",
        "border": "alu_max_imm",
        "below": "alu_max_imm",
    },
    "fused_npu": {
        "add": "add",
        "double": "add",
        "relu": "maximum",
        "floor": "maximum",
        "shift_round": "shift_round",
        "clip_in_place": "maximum",
        "add_in_place": "add",
        "add_row": "add_row",
        "flipped": "maximum",
        "spread": "maximum",
        "shifted": "maximum",
        "border": "maximum",
        "below": "maximum",
        "narrow": "narrow",
        "rescale": "rescale",
        "multiply_add": "multiply_add_relu",
    },
    "gemv_engine": {
        "add": "vv_add",
        "maximum": "vv_max",
        "multiply": "vv_mul",
        "double": "vv_add",
        "relu": "v_relu",
        "add_in_place": "vv_add",
        "add_row": "vv_add",
        "flipped": "v_relu",
        "spread": "v_relu",
        "shifted": "v_relu",
        "border": "v_relu",
        "below": "v_relu",
        "multiply_add": "v_multiply_add_relu",
    },
}
CASES = [(hw, name) for hw, kernels in EXPECTED.items() for name in kernels]


def subject(name: str, folder: Path) -> Kernel:
    """The kernel called `name`."""
    file = folder / "subject.py"
    file.write_text(HEAD + TEXTS[name])
    return load_kernel(file, {}, "subject")


def one_each(kernel: Kernel, hw_name: str) -> dict[str, Covering]:
    """The first covering by every instruction that computes the kernel."""
    first: dict[str, Covering] = {}
    for covering in coverings(kernel, machine(hw_name), []):
        first.setdefault(covering.instruction, covering)
    return first


@pytest.mark.parametrize(("hw_name", "name"), CASES)
def test_elementwise_kernels_are_computed_bit_by_bit(
    hw_name: str, name: str, tmp_path: Path
) -> None:
    kernel, hw = subject(name, tmp_path), machine(hw_name)
    found = one_each(kernel, hw_name)
    assert EXPECTED[hw_name][name] in found
    for covering in found.values():
        work = count_work(covering, hw)
        solution = solve(covering, work, hw, time_limit_s=2)
        assert solution.tiling is not None
        timing = assert_correct(kernel, covering, solution.tiling, hw)
        assert roofline(kernel, hw).cycles <= timing.cycles
        assert bound_cycles(covering, work, hw)[0] <= timing.cycles
