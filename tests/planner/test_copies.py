"""Statements that only copy, cast or not: the machine's loads and stores compute them.

In: small kernels, a machine of the tests' own and the shipped ones. Out: failures. Not its job:
copies on the way of operands (`tests/mapper`).
"""

from pathlib import Path

import pytest

from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.resources import find_hardware
from isamap.verify import verify_full
from tests.scheduler.cases import MACHINES, machine

CAST_STORE = """
name: casts
clock: 1 GHz
synchronisation: interlocked
source: invented
memories:
  ram: {kind: external, size: 1 MiB, source: invented}
  rows: {kind: managed, size: 4 KiB, granule: 16 bytes, source: invented}
units: {way_in: {}, way_out: {}, core: {}}
instructions:
  load:
    semantics: |
      S, D = In(f32, 4, 4), Out(f32, 4, 4)
      for i, j in grid(4, 4):
        D[i, j] = S[i, j]
    extents: {i: at_most, j: at_most}
    operands:
      S: {memory: ram, strides: [free, 4 bytes]}
      D: {memory: rows, strides: [16 bytes, 4 bytes]}
    unit: way_in
    issue: i cycles
    source: invented
  store_narrow:
    semantics: |
      S, D = In(f32, 4, 4), Out(bf16, 4, 4)
      for i, j in grid(4, 4):
        D[i, j] = bf16(S[i, j])
    extents: {i: at_most, j: at_most}
    operands:
      S: {memory: rows, strides: [16 bytes, 4 bytes]}
      D: {memory: ram, strides: [{nonzero: true}, 2 bytes]}
    unit: way_out
    issue: i cycles
    source: invented
host: {unit: core, start: 10 cycles, operation: 1 cycle, source: invented}
"""
COPIES = {
    "as it is": "S, D = In(i8, 9, 7), Out(i8, 9, 7)\nfor i, j in grid(9, 7):\n"
    "  D[i, j] = S[i, j]\n",
    "transposed": "S, D = In(i8, 9, 7), Out(i8, 7, 9)\nfor i, j in grid(9, 7):\n"
    "  D[j, i] = S[i, j]\n",
    "repeated": "S, D = In(i8, 7), Out(i8, 9, 7)\nfor i, j in grid(9, 7):\n  D[i, j] = S[j]\n",
    "a diagonal": "S, D = In(i8, 9, 9), Out(i8, 9)\nfor i in range(9):\n  D[i] = S[i, i]\n",
    "every other": "S, D = In(i8, 9, 14), Out(i8, 9, 7)\nfor i, j in grid(9, 7):\n"
    "  D[i, j] = S[i, 2 * j + 1]\n",
    "turned round": "S, D = In(i8, 9), Out(i8, 9)\nfor i in range(9):\n  D[8 - i] = S[i]\n",
    "shifted past the end": "S, D = In(i8, 9, 7), Out(i8, 9, 7)\nfor i, j in grid(9, 7):\n"
    "  D[i, j] = S.at(i + 2, j - 3, pad=0)\n",
    "padded with ones": "S, D = In(i8, 9, 7), Out(i8, 9, 7)\nfor i, j in grid(9, 7):\n"
    "  D[i, j] = S.at(i + 2, j - 3, pad=1)\n",
    "into a part": "S, D = In(i8, 3, 7), InOut(i8, 9, 7)\nfor i, j in grid(3, 7):\n"
    "  D[2 * i + 1, j] = S[i, j]\n",
    "sums": "S, D = In(i32, 9, 7), Out(i32, 9, 7)\nfor i, j in grid(9, 7):\n  D[i, j] = S[i, j]\n",
    "narrowed": "S, D = In(i32, 9, 7), Out(i8, 9, 7)\nfor i, j in grid(9, 7):\n"
    "  D[i, j] = i8(S[i, j])\n",
    "widened": "S, D = In(i8, 9, 7), Out(i32, 9, 7)\nfor i, j in grid(9, 7):\n"
    "  D[i, j] = i32(S[i, j])\n",
    "the last of several": "S, D = In(i8, 9, 7), Out(i8, 9)\nfor i, j in grid(9, 7):\n"
    "  D[i] = S[i, j]\n",
}


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("text", COPIES.values(), ids=COPIES.keys())
def test_copies_are_right_whoever_makes_them(text: str, hw_name: str) -> None:
    subject, hw = parse_semantics(text, "copies"), machine(hw_name)
    found = verify_full(find_plan(subject, hw, Wishes()).program, subject, hw)
    assert found.is_verified, found


@pytest.fixture
def casts(tmp_path: Path) -> Hardware:
    path = tmp_path / "casts.yaml"
    path.write_text(CAST_STORE)
    return load_hardware(path)


def test_a_store_that_casts_computes_a_cast(casts: Hardware) -> None:
    """Two loads and two stores of 16 rows each beside each other; one element per cycle and more
    on the host."""
    text = "S, D = In(f32, 16, 8), Out(bf16, 16, 8)\nfor i, j in grid(16, 8):\n"
    subject = parse_semantics(text + "  D[i, j] = bf16(S[i, j])\n", "cast")
    plan = find_plan(subject, casts, Wishes())
    assert verify_full(plan.program, subject, casts).is_verified
    assert [task.best.covering.instruction for task in plan.tasks] == ["store_narrow"]
    assert plan.cycles < 16 * 8


def test_what_no_copy_casts_stays_on_the_host(casts: Hardware) -> None:
    text = "S, D = In(f32, 4, 4), Out(f32, 4, 4)\nfor i, j in grid(4, 4):\n"
    subject = parse_semantics(text + "  D[i, j] = f32(bf16(S[i, j]))\n", "rounded")
    plan = find_plan(subject, casts, Wishes())
    assert verify_full(plan.program, subject, casts).is_verified
    assert plan.tasks[0].on_host


def test_what_takes_only_what_is_computed_takes_no_copy(tmp_path: Path) -> None:
    """Neither the store nor the load before it computes a copy, one of which brings it home."""
    text = "S, D = In(f32, 16, 8), Out(bf16, 16, 8)\nfor i, j in grid(16, 8):\n"
    subject = parse_semantics(text + "  D[i, j] = bf16(S[i, j])\n", "cast")
    kept = CAST_STORE.replace("unit: way_out", "unit: way_out\n    only_computed: true")
    same = "S, D = In(f32, 16, 8), Out(f32, 16, 8)\nfor i, j in grid(16, 8):\n  D[i, j] = S[i, j]\n"
    plain = kept.replace("Out(bf16, 4, 4)", "Out(f32, 4, 4)").replace("bf16(S[i, j])", "S[i, j]")
    plain = plain.replace("strides: [{nonzero: true}, 2 bytes]", "strides: [free, 4 bytes]")
    for number, (kernel, machine_text) in enumerate(
        ((subject, kept), (parse_semantics(same, "same"), plain))
    ):
        path = tmp_path / f"machine{number}.yaml"
        path.write_text(machine_text)
        hw = load_hardware(path)
        plan = find_plan(kernel, hw, Wishes())
        assert plan.tasks[0].on_host
        path.write_text(machine_text.replace("only_computed: true", "only_computed: false"))
        assert not find_plan(kernel, load_hardware(path), Wishes()).tasks[0].on_host


@pytest.mark.parametrize("name", ["x86_avx512", "vta"])
def test_inputs_that_tasks_take_in_blocks_have_no_room_as_they_lie_otherwise(name: str) -> None:
    text = (
        "A, W, Y, Z = In(i8, 5, 6), In(i8, 6, 7), Out(i32, 5, 7), Out(i32, 5, 7)\n"
        "for i, j, k in grid(5, 7, 6):\n  Y[i, j] += i32(A[i, k]) * i32(W[k, j])\n"
        "for i, j, k in grid(5, 7, 6):\n  Z[i, j] += i32(A[i, k]) * i32(W[k, j])\n"
    )
    hw = load_hardware(find_hardware(name))
    program = find_plan(parse_semantics(text, "twice"), hw, Wishes(time_limit_s=1)).program
    layouts = [place.layout for place in program.placements if place.buffer == "W"]
    assert len(layouts) == 1 and not layouts[0].is_natural
