"""Matches of one instruction on one statement: what matches, what does not, and all there are.

In: small instructions and kernels. Out: failures. Not its job: copies, layouts, schedules.
"""

from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import pytest

from isamap.hwdesc import Hardware, Instruction, load_hardware
from isamap.ir import Apply, Kernel, load_kernel, parse_semantics
from isamap.mapper import Match, Mismatch, candidates, compute_cycles, coverings, match_statement
from isamap.resources import find_hardware

ROOT = Path(__file__).resolve().parent.parent.parent
HEAD = "from isamap.lang import *\n\n\n@kernel\n"
GEMM = (
    "def subject(m=5, n=6, k=7):\n"
    "    A, B, C = In(i8, m, k), In(i8, k, n), InOut(i32, m, n)\n"
    "    for i, j, p in grid(m, n, k):\n"
    "        C[i, j] += i32(A[i, p]) * i32(B[p, j])\n"
)


def machine(name: str) -> Hardware:
    """A machine of `hw_specs/`."""
    return load_hardware(ROOT / "hw_specs" / f"{name}.yaml")


def written(text: str, folder: Path) -> Kernel:
    """A kernel from source text."""
    file = folder / "subject.py"
    file.write_text(HEAD + text)
    return load_kernel(file, {}, "subject")


def matches(kernel: Kernel, instruction: Instruction) -> tuple[Match, ...]:
    """All matches on the only statement."""
    return match_statement(kernel, 0, instruction)[0]


def reason(kernel: Kernel, instruction: Instruction) -> str:
    """Why there is no match."""
    found, mismatch = match_statement(kernel, 0, instruction)
    assert not found and mismatch is not None
    assert mismatch.instruction == instruction.name
    return mismatch.reason


def buffers(match: Match) -> dict[str, str]:
    """Buffer of each operand."""
    return {name: access.buffer for name, access in match.operands}


def test_operands_match_in_both_orders(tmp_path: Path) -> None:
    """vta.gemm: C[r] += A[c] * W[r, c]; either factor may be the stationary one."""
    found = matches(written(GEMM, tmp_path), machine("vta").instruction("gemm"))
    full = {(m.binding, buffers(m)["A"]) for m in found if all(len(g) == 1 for _, g in m.binding)}
    assert full == {
        ((("r", ("j",)), ("c", ("p",))), "A"),  # A streams along i, B is stationary
        ((("r", ("i",)), ("c", ("p",))), "B"),
    }


def test_several_kernel_loops_fuse_into_one_instruction_loop(tmp_path: Path) -> None:
    text = (
        "def subject(h=3, w=2, n=6, k=7):\n"
        "    A, B, C = In(i8, h, w, k), In(i8, k, n), InOut(i32, h, w, n)\n"
        "    for y, x, j, p in grid(h, w, n, k):\n"
        "        C[y, x, j] += i32(A[y, x, p]) * i32(B[p, j])\n"
    )
    found = matches(written(text, tmp_path), machine("outer").instruction("smopa"))
    groups = {dict(m.binding)["i"] for m in found if buffers(m)["A"] == "A"}
    assert groups == {(), ("y",), ("x",), ("y", "x"), ("x", "y")}
    inner = {len(dict(m.binding)["k"]) for m in found}
    assert inner == {0, 1}, "no second reduction loop to fuse"


def test_a_fused_group_fits_whole_but_for_its_outermost_loop(tmp_path: Path) -> None:
    text = (
        "def subject(h=20, w=9, k=7):\n"
        "    A, B, C = In(i8, h, w, k), In(i8, k), InOut(i32, h, w)\n"
        "    for y, x, p in grid(h, w, k):\n"
        "        C[y, x] += i32(A[y, x, p]) * i32(B[p])\n"
    )
    found = matches(written(text, tmp_path), machine("outer").instruction("smopa"))
    groups = {dict(m.binding)["i"] for m in found if buffers(m)["A"] == "A"}
    assert groups == {(), ("y",), ("x",)}, "16 rows hold no second row of 9, nor of 20"


def test_missing_loops_bind_to_nothing(tmp_path: Path) -> None:
    """gemv on a gemm instruction: the loop of the missing dimension has extent 1."""
    text = (
        "def subject(m=5, k=7):\n"
        "    A, x, y = In(i8, m, k), In(i8, k), InOut(i32, m)\n"
        "    for i, p in grid(m, k):\n"
        "        y[i] += i32(A[i, p]) * i32(x[p])\n"
    )
    found = matches(written(text, tmp_path), machine("outer").instruction("smopa"))
    largest = {m.binding for m in found if sum(len(g) for _, g in m.binding) == 2}
    assert largest == {
        (("i", ("i",)), ("j", ()), ("k", ("p",))),
        (("i", ()), ("j", ("i",)), ("k", ("p",))),
    }


def test_loops_that_an_operand_lacks_are_replicated(tmp_path: Path) -> None:
    """Depthwise: the stationary matrix moves with a loop that the kernel's factor lacks."""
    text = (
        "def subject(n=5, c=7):\n"
        "    A, B, C = In(i8, n, c), In(i8, c), InOut(i32, n)\n"
        "    for i, p in grid(n, c):\n"
        "        C[i] += i32(A[i, p]) * i32(B[p])\n"
    )
    found = matches(written(text, tmp_path), machine("vta").instruction("gemm"))
    full = {(m.binding, buffers(m)["W"]) for m in found if all(g for _, g in m.binding)}
    binding = (("r", ("i",)), ("c", ("p",)))
    assert (binding, "A") in full
    assert (binding, "B") not in full, "A moves with i, the instruction's A not with r"


def test_padding_stays_in_the_access(tmp_path: Path) -> None:
    text = (
        "def subject(w=6, c=4, k=5):\n"
        "    A, B, C = In(i8, w, c), In(i8, 3, c, k), InOut(i32, w, k)\n"
        "    for x, o, v, i in grid(w, k, 3, c):\n"
        "        C[x, o] += i32(A.at(x + v - 1, i, pad=0)) * i32(B[v, i, o])\n"
    )
    found = matches(written(text, tmp_path), machine("outer").instruction("smopa"))
    pads = {dict(m.operands)[n].pad for m in found for n, b in buffers(m).items() if b == "A"}
    assert pads == {0}


def test_padding_with_another_value_is_named(tmp_path: Path) -> None:
    """Calls take 4 of v's 3 taps: one factor must be zero there; a border is a whole number."""
    text = (
        "def subject(w=6, k=5):\n"
        "    A, B, C = In(i8, w), In(i8, 3, k), InOut(i32, w, k)\n"
        "    for x, o, v in grid(w, k, 3):\n"
        "        C[x, o] += i32(A.at(x + v - 1, pad=1)) * i32(B.at(v, o, pad=2))\n"
    )
    assert "and zeros there would change the result" in why_not(written(text, tmp_path), "outer")
    floats = text.replace("i32(", "f32(").replace("i8", "bf16").replace("i32", "f32")
    floats = floats.replace("pad=1", "pad=1.5").replace("B.at(v, o, pad=2)", "B[v, o]")
    found = why_not(written(floats, tmp_path), "trainium")
    assert "reads outside give 1.5, only zero can be padded" in found


def why_not(kernel: Kernel, hardware: str) -> str:
    """Why no instruction covers the only statement."""
    mismatches: list[Mismatch] = []
    assert not list(coverings(kernel, machine(hardware), mismatches, may_reassociate=True))
    return "; ".join(m.reason for m in mismatches)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("In(i8, m, k)", "In(u8, m, k)", "operand A is i8, A is u8"),
        (
            "C[i, j] += i32(A[i, p]) * i32(B[p, j])",
            "C[i, j] = max(C[i, j], i32(A[i, p]) * i32(B[p, j]))",
            "updates its target by '+=', the kernel by 'max=' over p",
        ),
        (
            "i32(A[i, p]) * i32(B[p, j])",
            "i32(A[i, p]) + i32(B[p, j])",
            "computes i32(A[i, k]) * i32(B[j, k]), the kernel i32(A[i, p]) + i32(B[p, j])",
        ),
        (
            "i32(A[i, p]) * i32(B[p, j])",
            "i32(A[i, p] * B[p, j])",
            "computes i32(A[i, k]) * i32(B[j, k]), the kernel i32(A[i, p] * B[p, j])",
        ),
    ],
)
def test_mismatches_say_what_differs(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in GEMM
    subject = written(GEMM.replace(old, new), tmp_path)
    assert reason(subject, machine("outer").instruction("smopa")) == expected


def elementwise(value: str, folder: Path) -> Kernel:
    """D[i, j] = value, over T and U of D's type."""
    text = "def subject(m=5, n=20):\n    T, U, D = In(i32, m, n), In(i32, m, n), Out(i32, m, n)\n"
    return written(f"{text}    for i, j in grid(m, n):\n        D[i, j] = {value}\n", folder)


@pytest.mark.parametrize(
    ("value", "name", "inlets"),
    [
        ("max(T[i, j], -3)", "alu_max_imm", ["T"]),
        ("relu(T[i, j])", "alu_max_imm", ["T"]),
        ("T[i, j] >> 4", "alu_shr_imm", ["T"]),
        ("T[i, j] + U[i, j]", "alu_add", ["T", "U"]),
        ("T[i, j] + T[i, j]", "alu_add", ["T"]),
    ],
)
def test_an_update_in_place_begins_with_another_buffer(
    value: str, name: str, inlets: list[str], tmp_path: Path
) -> None:
    found = matches(elementwise(value, tmp_path), machine("vta").instruction(name))
    assert {m.inlets[0][1].buffer for m in found} == set(inlets)
    assert all(buffers(m)["X"] == "D" and m.inlets[0][0] == "X" for m in found)


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        ("T[i, j] >> 99", "alu_shr_imm", "immediate imm takes 0 to 31, not 99"),
        ("T[i, j] - U[i, j]", "alu_add", "computes X[l] + Y[l], the kernel T[i, j] - U[i, j]"),
    ],
)
def test_an_update_in_place_says_what_differs(
    value: str, name: str, expected: str, tmp_path: Path
) -> None:
    assert reason(elementwise(value, tmp_path), machine("vta").instruction(name)) == expected


@pytest.mark.parametrize(
    ("value", "name", "number"),
    [
        ("T[i, j] - 5.0", "add_number", -5.0),
        ("T[i, j] / 8.0", "multiply_number", 0.125),
        ("-T[i, j]", "multiply_number", -1),
        ("2.0 - T[i, j]", "subtract_from_number", 2.0),
    ],
)
def test_instructions_that_take_a_number_take_its_negative_and_inverse(
    value: str, name: str, number: float, tmp_path: Path
) -> None:
    text = "def subject(m=5, n=20):\n    T, D = In(f32, m, n), Out(f32, m, n)\n"
    kernel = written(f"{text}    for i, j in grid(m, n):\n        D[i, j] = {value}\n", tmp_path)
    instruction = machine("trainium").instruction(name)
    found = match_statement(kernel, 0, instruction, explains=False)[0]
    assert {m.immediates for m in found} == {(("number", number),)}


@pytest.mark.parametrize("value", ["D[i, j] - T[i, j]", "-T[i, j] + D[i, j]"])
def test_what_is_subtracted_from_the_target_matches_a_difference(
    value: str, tmp_path: Path
) -> None:
    """A kernel that is read has `D += -T`."""
    text = "def subject(m=5, n=20):\n    T, D = In(f32, m, n), InOut(f32, m, n)\n"
    kernel = written(f"{text}    for i, j in grid(m, n):\n        D[i, j] = {value}\n", tmp_path)
    found = matches(kernel, machine("trainium").instruction("subtract"))
    assert {tuple(buffers(m).items()) for m in found} == {(("D", "D"), ("X", "D"), ("Y", "T"))}


def test_a_target_that_is_read_twice_has_one_earlier_value(tmp_path: Path) -> None:
    relu = machine("gemv_engine").instruction("v_relu")
    statement = relu.semantics.statements[0]
    square = replace(statement, value=Apply("*", (statement.target, statement.target)))
    squared = replace(relu, semantics=replace(relu.semantics, statements=(square,)))
    found = matches(elementwise("T[i, j] * T[i, j]", tmp_path), squared)
    assert {m.inlets for m in found} == {(("D", found[0].inlets[0][1]),)}
    expected = "operand D would be both T[i, j] and U[i, j]"
    assert reason(elementwise("T[i, j] * U[i, j]", tmp_path), squared) == expected


def test_instructions_of_several_statements_do_not_match_one(tmp_path: Path) -> None:
    subject = written(GEMM, tmp_path)
    smopa = machine("outer").instruction("smopa")
    twice = replace(smopa.semantics, statements=smopa.semantics.statements * 2)
    together = "computes 2 statements at once; together are matched only"
    expected = f"{together} one sum and what follows: describe one instruction per sum"
    assert reason(subject, replace(smopa, semantics=twice)) == expected
    (only,) = smopa.semantics.statements
    copied = replace(twice, statements=(only, replace(only, update="=")))
    expected = f"{together} a sum and what follows"
    assert reason(subject, replace(smopa, semantics=copied)) == expected
    clear = "C = Out(i32, 4, 4)\nfor i, j in grid(4, 4):\n  C[i, j] = 0\n"
    apart = "for y, x in grid(4, 4):\n  C[y, x] += 1"
    expected = f"{together} statements under the same loops: write C in one nest"
    semantics = parse_semantics(clear + apart, "apart")
    assert reason(subject, replace(smopa, semantics=semantics)) == expected


@pytest.mark.parametrize("hw_name", ["gemmini", "vta", "vecdot", "outer"])
def test_coverings_ascend_in_their_compute_bound(hw_name: str, tmp_path: Path) -> None:
    hw, subject = machine(hw_name), written(GEMM, tmp_path)
    found = list(islice(coverings(subject, hw, []), 40))
    assert len(set(found)) == len(found) > 0
    bounds = [compute_cycles(hw.instruction(c.instruction), c.binding, c.loops) for c in found]
    assert all(a <= b for a, b in pairwise(bounds))


def test_nothing_to_map_has_a_reason_for_every_instruction(tmp_path: Path) -> None:
    text = GEMM.replace("InOut(i32", "InOut(f32").replace("In(i8", "In(f32").replace("i32(", "(")
    hw, mismatches = machine("vta"), []
    assert not list(coverings(written(text, tmp_path), hw, mismatches))
    computing = {"gemm", "alu_add", "alu_max", "alu_min", "alu_add_imm"}
    assert computing <= {m.instruction for m in mismatches}


@pytest.mark.parametrize(("zero", "is_cleared"), [("0", True), ("0.0", True), ("-0.0", False)])
def test_what_clears_writes_no_negative_zeros(zero: str, is_cleared: bool) -> None:
    """They are equal, but not the same bits."""
    hw = load_hardware(find_hardware("x86_avx2"))
    text = f"Y = Out(f32, 4, 16)\nfor i, j in grid(4, 16):\n  Y[i, j] = {zero}"
    kernel = parse_semantics(text, "fill")
    assert bool(candidates(kernel, 0, hw)) == is_cleared
