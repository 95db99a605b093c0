"""Operands that an instruction reads where they lie in the external memory.

Oracle: the interpreter, through `verify="full"`; the emulator checks strides, bounds and hazards.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

import isamap
from isamap.hwdesc import load_hardware
from isamap.mapper import show_route

ROOT = Path(__file__).parents[1]
KERNELS = ROOT / "codegen" / "c_kernels.py"
IN_PLACE = """
  multiply_add:
    semantics: |
      A, B, C = In(f32, {shape_a}), In(f32, lanes), InOut(f32, lanes)
      for j in range(lanes):
        C[j] += A[{index_a}] * B[j]
    extents: {{j: at_most}}
    operands: {{A: {a}, B: {b}, C: {c}}}
    unit: alu
    issue: 1 cycle
    latency: 3 cycles
    source: invented
"""


def machine(
    folder: Path, *, a: str, b: str, c: str = "regs", shape_a: str = "1", index_a: str = "0",
    port: str = "",
) -> isamap.Hardware:  # fmt: skip
    """The core of vec4.yaml with one multiplying instruction, whose operands lie as told."""
    text = (ROOT / "codegen" / "vec4.yaml").read_text()
    start, end = text.index("  multiply_add:"), text.index("  clear:")
    made = IN_PLACE.format(shape_a=shape_a, index_a=index_a, a=a, b=b, c=c)
    text = text[:start] + made.lstrip("\n") + text[end:]
    text = text.replace("{kind: external, ", f"{{kind: external, {port}")
    (folder / "vec4.yaml").write_text(text)
    return load_hardware(folder / "vec4.yaml")


SCALAR = {"a": "dram", "b": "regs"}
BOTH = {"a": "dram", "b": "{memory: dram, strides: [4 bytes]}"}
STRIDED = {"a": "dram", "b": "{memory: dram, strides: [free]}"}


def routes(result: isamap.Result) -> dict[str, str]:
    """Operand to the way of its data."""
    return {plan.name: show_route(plan, "dram") for plan in result.schedule.covering.operands}


@pytest.mark.parametrize("operands", [SCALAR, BOTH, STRIDED], ids=str)
@pytest.mark.parametrize(
    "kernel, sizes",
    [
        ("sgemm", {"m": 1, "n": 1, "k": 1}),
        ("sgemm", {"m": 5, "n": 7, "k": 3}),
        ("sgemm_adds", {"m": 13, "n": 6, "k": 11}),
        ("window", {"n": 11, "r": 3}),
    ],
)
def test_a_product_with_operands_in_place_is_right(
    operands: Mapping[str, str], kernel: str, sizes: dict[str, int], tmp_path: Path
) -> None:
    result = isamap.map(
        f"{KERNELS}:{kernel}", machine(tmp_path, **operands), sizes=sizes, verify="full",
        may_reassociate=True, time_limit_s=2,
    )  # fmt: skip
    assert isinstance(result, isamap.Result)
    assert result.verification.is_verified
    assert routes(result)["A"] == "in dram"
    assert (routes(result)["B"] == "in dram") == (operands is not SCALAR)


def test_strides_that_the_instruction_lacks_make_the_buffer_packed(tmp_path: Path) -> None:
    hw = machine(tmp_path, a="dram", b="{memory: dram, strides: [4 bytes]}")
    sizes = {"m": 3, "n": 6, "k": 5}
    result = isamap.map(
        f"{ROOT / 'codegen' / 'c_kernels.py'}:sgemm_nt", hw, sizes=sizes, verify="full",
        may_reassociate=True,
    )  # fmt: skip
    assert isinstance(result, isamap.Result) and result.verification.is_verified
    packed = [p.buffer for p in result.schedule.program.inputs if not p.layout.is_natural]
    assert packed == ["B"] or packed == ["A"]


def test_every_call_takes_the_external_memorys_port(tmp_path: Path) -> None:
    hw = machine(tmp_path, a="dram", b="regs", port="ports: {read: 2 bytes/cycle}, ")
    result = isamap.map(
        f"{KERNELS}:sgemm", hw, sizes={"m": 8, "n": 8, "k": 8}, may_reassociate=True
    )
    assert isinstance(result, isamap.Result) and result.timing is not None
    ports = dict(result.schedule.estimate.port_cycles)
    assert ports["dram", "read"] >= 2 * 8 * 8 * 2  # 4 bytes for each of 8 x 8 x 2 calls
    assert result.timing.cycles >= ports["dram", "read"]


def test_a_target_in_the_external_memory_is_explained(tmp_path: Path) -> None:
    hw = machine(tmp_path, a="dram", b="regs", c="dram")
    with pytest.raises(isamap.IsamapError, match="multiply_add writes C in dram, not on chip"):
        isamap.map(f"{KERNELS}:sgemm", hw, may_reassociate=True)


STORE_BIASED = """
  store_biased:
    semantics: |
      S, bias, D = In(f32, lanes), In(f32, lanes), Out(f32, lanes)
      for j in range(lanes):
        D[j] = relu(S[j] + bias[j])
    extents: {j: at_most}
    operands: {S: regs, bias: regs, D: {memory: dram, strides: [4 bytes]}}
    unit: alu
    issue: 1 cycle
    source: invented
"""


def test_a_store_that_computes_of_two_operands_writes_in_place(tmp_path: Path) -> None:
    machine(tmp_path, a="regs", b="regs")
    file = tmp_path / "vec4.yaml"
    file.write_text(file.read_text().rstrip("\n") + STORE_BIASED)
    (tmp_path / "biased.py").write_text(
        "from isamap.lang import In, Out, f32, grid, kernel, relu\n\n\n@kernel\n"
        "def biased(m=3, n=7):\n    x, b, y = In(f32, m, n), In(f32, n), Out(f32, m, n)\n"
        "    for i, j in grid(m, n):\n        y[i, j] = relu(x[i, j] + b[j])\n"
    )
    result = isamap.map(tmp_path / "biased.py", load_hardware(file), verify="full")
    assert isinstance(result, isamap.Result) and result.verification.is_verified
    assert result.schedule.covering.instruction == "store_biased"
    assert routes(result)["D"] == "in dram"
