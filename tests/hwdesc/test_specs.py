"""The hardware files that come with isamap."""

import re
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from isamap.hwdesc import (
    Hardware,
    check_hardware,
    hardware_schema,
    immediate_value,
    load_hardware,
    with_host_calls,
)
from isamap.hwdesc.document import read_document
from isamap.hwdesc.problems import Problems
from isamap.ir import DTYPES, Statement, is_float, load_kernel

FOLDER = Path(__file__).parents[2] / "hw_specs"
FILES = sorted(FOLDER.glob("*.yaml"))


@cache
def published_schema() -> jsonschema.Draft202012Validator:
    """Made once: checking the schema itself takes longer than most machines."""
    return jsonschema.Draft202012Validator(hardware_schema())


def cycles(hw: Hardware, name: str, **values: int) -> tuple[int, int]:
    """Issue and latency of a call."""
    instruction = hw.instruction(name)
    return instruction.issue_cycles.evaluate(values), instruction.latency_cycles.evaluate(values)


def test_there_are_specs() -> None:
    expected = {
        "gemmini", "vta", "vecdot", "outer", "conv_engine", "gemv_engine", "fused_npu",
        "trainium", "tpu_v1", "mesh", "wormhole", "opentpu", "amx", "nvidia_hopper_mma", "aie_ml",
        "ascend",
    }  # fmt: skip
    assert expected <= {file.stem for file in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_specs_load_and_fit_the_published_schema(file: Path) -> None:
    assert check_hardware(file) == ()
    document = read_document(file, Problems())
    assert document is not None
    published_schema().validate(document.data)
    assert load_hardware(file).name == file.stem


@pytest.mark.parametrize(
    "change",
    [
        {"clock": 5},
        {"nam": "x"},
        {"memories": {"m": {"kind": "managd", "size": "1 KiB", "source": "x"}}},
        {"memories": {"m": {"kind": "managed", "size": "1 KiB"}}},
    ],
)
def test_the_schema_rejects_what_the_loader_rejects(change: dict[str, object]) -> None:
    document = read_document(FOLDER / "vecdot.yaml", Problems())
    assert document is not None
    assert isinstance(document.data, dict)
    with pytest.raises(jsonschema.ValidationError):
        published_schema().validate({**document.data, **change})


def test_every_float_type_may_be_an_immediates_type() -> None:
    definitions = hardware_schema()["$defs"]
    assert isinstance(definitions, dict)
    choices = definitions["ImmediateModel"]["properties"]["type"]["enum"]
    assert choices == ["integer", *(name for name in DTYPES if is_float(name))]


def test_the_schema_is_valid_and_describes_every_key() -> None:
    schema = hardware_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for model in schema["$defs"].values():  # type: ignore[attr-defined]
        for key, entry in model["properties"].items():
            assert key == "=" or entry.get("description"), (model["title"], key)


def test_gemmini_figures() -> None:
    hw = load_hardware(FOLDER / "gemmini.yaml")
    assert {memory.name: memory.size_bytes for memory in hw.memories if memory.name != "dram"} == {
        "scratchpad": 4 * 4096 * 16,
        "accumulator": 1024 * 64,
        "weights": 512,
        "weights_t": 512,
    }
    assert cycles(hw, "compute", i=16, j=16, k=16)[0] == 16
    assert cycles(hw, "mvin", r=16, c=16)[0] == 16
    assert cycles(hw, "mvin_acc", r=16, c=16)[0] == 64
    assert cycles(hw, "mvin_acc", r=5, c=3)[0] == 5
    assert hw.instruction("mvout_acc").operand("S").strides[0].fixed_bytes == 64
    assert cycles(hw, "mvout_acc", r=16, c=16) == (64, 40 + 64)
    for name in ("mvout_i8", "mvout_relu_i8"):
        assert cycles(hw, name, r=16, c=16) == (16, 40 + 16), "a quarter of the bytes"
        (scale,) = hw.instruction(name).immediates
        assert immediate_value(scale, 3.4028235e38) == scale.maximum == 2.0**128 - 2.0**104
        assert immediate_value(scale, -(2.0**-149)) == -(2.0**-149), "the smallest f32"


@pytest.mark.parametrize(
    ("core", "below", "counts"),
    [
        ("golden_cove", "avx512", (2, 2)),
        ("golden_cove_amx", "golden_cove", (2, 2)),
        ("redwood_cove", "golden_cove_amx", (2, 2)),
        ("golden_cove_avx2", "avx2", (2, 3)),
    ],
)
def test_golden_cove_has_the_instructions_it_builds_on_and_its_own_units_for_them(
    core: str, below: str, counts: tuple[int, int]
) -> None:
    hw, base = (load_hardware(FOLDER / f"x86_{name}.yaml") for name in (core, below))
    # one load for all vectors of a tile in place of an FMA that broadcasts for each of them
    gone = {"fma_packed_f32"} if core == "redwood_cove" else set()
    kept = [i for i in base.instructions if i.name not in gone]
    own = hw.instructions[: len(kept)]
    assert [i.name for i in own] == [i.name for i in kept]
    assert all(a.semantics == b.semantics for a, b in zip(own, kept))
    assert not gone or hw.instruction("broadcast_packed_f32").unit == "load"
    units = {unit.name: unit.count for unit in hw.units}
    assert (units["fma"], units["load"]) == counts


@pytest.mark.parametrize("file", sorted(FOLDER.glob("x86_*.yaml")), ids=lambda file: file.stem)
def test_groups_are_packed_by_one_store(file: Path) -> None:
    """A load that takes what several stores wrote waits until they have reached the cache."""
    hw = load_hardware(file)
    rooms = {memory.name for memory in hw.memories if memory.within}
    for copy in hw.instructions:
        target = copy.semantics.statements[0].target.buffer
        if copy.is_copy and copy.c_form and copy.operand(target).memory in rooms:
            template = copy.c_form.full
            assert template.operands.count(target) == 1, copy.name
            assert not any(isinstance(x, str) and "for (" in x for x in template.parts), copy.name


def test_conv_engine_figures() -> None:
    hw = load_hardware(FOLDER / "conv_engine.yaml")
    assert hw.memory("buffer").size_bytes == 16 * 64 * 512, "banks x bytes x entries of nv_large"
    assert cycles(hw, "stripe", q=32, k=16, c=64)[0] == 2 + 32, "a position per cycle"
    assert cycles(hw, "row", q=32, k=16, s=3, c=64)[0] == 2 + 3 * 32
    assert cycles(hw, "load_inputs", p=32, c=64)[0] == 64, "32 bytes per cycle"
    row = hw.instruction("row")
    assert row.semantics.buffer("x").shape == (32 + 4 - 1, 64), "a window is longer than its stripe"
    assert hw.instruction("stripe").extent("k").maximum == 32, "2048 MACs"


def test_nv_small_is_a_set_of_parameters(tmp_path: Path) -> None:
    text = (FOLDER / "conv_engine.yaml").read_text()
    (comment,) = re.findall(r"nv_small is \{(.*)\}", text)
    for name, value in re.findall(r"(\w+): (\d+)", comment):
        text = re.sub(rf"(parameters: .*\b{name}: )\d+", rf"\g<1>{value}", text)
    (tmp_path / "nv_small.yaml").write_text(text)
    hw = load_hardware(tmp_path / "nv_small.yaml")
    assert hw.memory("buffer").size_bytes == 128 << 10
    assert hw.instruction("stripe").extent("c").maximum == 8
    assert cycles(hw, "load_inputs", p=32, c=8)[0] == 32, "8 bytes per cycle"
    assert cycles(hw, "store_scaled", p=4, k=8)[0] == 4 * 8, "an element per cycle"


def test_gemv_engine_figures() -> None:
    hw = load_hardware(FOLDER / "gemv_engine.yaml")
    counts = {m.name: m.size_bytes // m.granule_bytes for m in hw.memories if m.name != "dram"}
    assert counts == {"vectors": 1024, "tiles": 256, "sums": 256}
    assert cycles(hw, "mv_mul", i=64, k=64)[0] == 1, "a native tile per cycle"
    assert cycles(hw, "load_tile", i=64, k=64)[0] == 64


def test_fused_npu_figures() -> None:
    hw = load_hardware(FOLDER / "fused_npu.yaml")
    assert cycles(hw, "multiply", i=16, j=16, k=16)[0] == 16
    assert cycles(hw, "multiply_rescale", i=16, j=16, k=64)[0] == 4 * 16
    loops = [[loop.name for loop in s.loops] for s in statements(hw, "multiply_rescale")]
    assert loops == [["i", "j", "k"], ["i", "j"]], "both statements share i and j"
    assert cycles(hw, "rescale", i=16, j=16)[0] == 16


def statements(hw: Hardware, name: str) -> tuple[Statement, ...]:
    """What the instruction computes."""
    return hw.instruction(name).semantics.statements


def test_gemmini_is_a_family(tmp_path: Path) -> None:
    text = (FOLDER / "gemmini.yaml").read_text().replace("dim: 16,", "dim: 32,")
    (tmp_path / "big.yaml").write_text(text)
    hw = load_hardware(tmp_path / "big.yaml")
    assert hw.memory("scratchpad").granule_bytes == 32
    assert hw.instruction("compute").extent("k").maximum == 32
    assert cycles(hw, "preload", k=1, j=1)[0] == 32


def test_ascend_figures() -> None:
    hw = load_hardware(FOLDER / "ascend.yaml")
    assert cycles(hw, "multiply", i=16, j=32, k=32)[0] == 2, "16 x 16 x 32 products per cycle"
    assert cycles(hw, "multiply_half", i=16, j=16, k=16)[0] == 1
    assert cycles(hw, "load_bytes", r=16, c=32)[0] == 8, "67 bytes per cycle"
    assert cycles(hw, "feed_a", r=16, c=32)[0] == 1, "512 bytes per cycle"
    assert cycles(hw, "feed_b", r=32, c=32)[0] == 4, "256 bytes per cycle"
    assert cycles(hw, "take_sums", r=16, c=32)[0] == 4, "512 bytes per cycle"
    assert cycles(hw, "store_sums", r=16, c=32)[0] == 32, "64 bytes per cycle"
    units = {unit.name for unit in hw.units}
    ends = {(c.source_unit, c.target_unit) for c in hw.channels}
    assert ends == {(a, b) for a in units for b in units if a != b}


def test_vta_figures() -> None:
    hw = load_hardware(FOLDER / "vta.yaml")
    assert hw.has_tokens
    assert len(hw.channels) == 6  # two of them with the host
    counts = {m.name: m.size_bytes // m.granule_bytes for m in hw.memories if m.name != "dram"}
    assert counts == {"inp": 2048, "wgt": 1024, "acc": 2048}
    per_element = {
        name: cycles(hw, name, rows=1, columns=1)[0]
        for name in ("load_inp", "load_wgt", "load_acc", "store")
    }
    assert per_element == {"load_inp": 2, "load_wgt": 32, "load_acc": 8, "store": 2}
    assert cycles(hw, "gemm", outer=3, inner=5, uop=7)[0] == 105
    assert cycles(hw, "alu_add", outer=3, inner=5, uop=7)[0] == 210
    gemm = hw.instruction("gemm")
    assert [repeat.maximum for repeat in gemm.repeats] == [2**14 - 1, 2**14 - 1, 2**13]
    elements = [
        (rule.maximum_bytes or 0) // rule.multiple_bytes for rule in gemm.repeats[0].strides
    ]
    assert elements == [2**11 - 1, 2**10 - 1, 2**11 - 1]
    assert [i.name for i in hw.instructions if i.is_sync] == [
        "nop_load",
        "nop_compute",
        "nop_store",
        "nop_host",
    ]


def test_the_host_takes_energy_per_operation_and_access() -> None:
    hw = load_hardware(FOLDER / "gemmini.yaml")
    add_up = load_kernel(FOLDER.parent / "kernels" / "reductions.py", {"m": 10, "n": 7}, "row_sum")
    call = with_host_calls(hw, [add_up]).instruction(add_up.name)
    assert call.energy_pj is not None
    assert call.energy_pj.evaluate_exact({}) == 10 * 7 * 4 * 70  # sum, two reads, write
