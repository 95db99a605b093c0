"""Scratch arrays of what the host runs row by row: room of a row, and the same numbers."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isamap.compile import load_machine
from isamap.emulator import run
from isamap.errors import ProgramError
from isamap.ir import (
    Access,
    Affine,
    Kernel,
    Loop,
    Role,
    map_accesses,
    parse_semantics,
    random_arrays,
)
from isamap.planner.contract_scratch import contract_scratch
from isamap.program import (
    Address,
    Issue,
    Operand,
    Placement,
    Program,
    Span,
    natural_layout,
)
from tests.strategies import kernels

CORE = load_machine("x86_avx512")
ALIGN = 64


def program_of(call: Kernel, scratch: frozenset[str], *, may_reassociate: bool = True) -> Program:
    """One host call on arrays one after the other, those of `scratch` for nobody else to see."""
    places, operands, end = {}, [], 0
    for buffer in call.buffers:
        layout = natural_layout(buffer.dtype, buffer.shape)
        places[buffer.name] = Placement(buffer.name, end, layout)
        strides = tuple(axis.stride_bytes for axis in layout.axes)
        operands.append(Operand(buffer.name, "dram", Address(Affine((), end)), strides))
        end += -(-layout.size_bytes // ALIGN) * ALIGN
    loops = {loop.name: loop.extent for s in call.statements for loop in s.loops}
    extents = tuple((name, Span(extent)) for name, extent in loops.items())
    read = [b.name for b in call.buffers if b.role is not Role.OUT]
    written = [b.name for b in call.buffers if b.role is not Role.IN and b.name not in scratch]
    return Program(
        "rows", CORE.name,
        tuple(places[name] for name in read),
        tuple(places[name] for name in written),
        (Issue(call.name, tuple(operands), extents),),
        tuple(places[name] for name in sorted(scratch)),
        (call,),
        may_reassociate,
    )  # fmt: skip


def outputs_of(program: Program) -> Mapping[str, np.ndarray]:
    """Executed."""
    arrays = random_arrays(program.host_calls[0], 3)
    given = {place.buffer: arrays[place.buffer] for place in program.inputs}
    return run(program, CORE, given, compiled=False).outputs


def contracted(program: Program) -> Program:
    """With less scratch; found to compute the same."""
    found = contract_scratch(program, CORE)
    expected, outputs = outputs_of(program), outputs_of(found)
    assert outputs.keys() == expected.keys()
    assert all(np.array_equal(outputs[n], expected[n], equal_nan=True) for n in expected)
    return found


def shapes(text: str, *, may_reassociate: bool = True) -> dict[str, tuple[int, ...]]:
    """Of scratch arrays, contracted; statements with loops of the same names share them."""
    buffers = "X, Y, S = In(f32, 6, 40), Out(f32, 6, 40), InOut(f32, 6)\n"
    call = parse_semantics(buffers + "T, U = Out(f32, 6, 40), Out(f32, 6)\n" + text, "rows")
    used = {s.target.buffer for s in call.statements}
    call = replace(call, buffers=tuple(b for b in call.buffers if b.name in used | {"X"}))
    scratch = frozenset({"T", "U"} & used)
    found = contracted(program_of(call, scratch, may_reassociate=may_reassociate))
    return {place.buffer: place.layout.shape for place in found.scratch}


ROWS = """
for i in range(6):
  for j in range(40):
    T[i, j] = X[i, j] + 1
  U[i] = X[i, 3]
  for b in range(40):
    Y[i, b] = {read} * U[{row}]
"""


def test_a_row_is_kept_where_rows_follow_each_other() -> None:
    assert shapes(ROWS.format(read="T[i, b]", row="i")) == {"T": (40,), "U": (1,)}


@pytest.mark.parametrize(
    ("read", "row", "kept"),
    (
        ("T[i, 39 - b]", "i", {"T": (40,), "U": (1,)}),
        ("T[5 - i, b]", "i", {"T": (6, 40), "U": (1,)}),
        ("T[i, b]", "5 - i", {"T": (40,), "U": (6,)}),
        ("T[0, b]", "0", {"T": (6, 40), "U": (6,)}),
    ),
)
def test_what_other_rounds_wrote_is_kept(
    read: str, row: str, kept: dict[str, tuple[int, ...]]
) -> None:
    assert shapes(ROWS.format(read=read, row=row)) == kept


def test_what_is_used_after_all_rows_is_kept() -> None:
    later = "for a, b in grid(6, 40):\n  Y[a, b] = T[a, b]\n"
    assert shapes("for i, j in grid(6, 40):\n  T[i, j] = X[i, j]\n" + later) == {"T": (6, 40)}


def test_what_earlier_rounds_wrote_is_kept() -> None:
    text = "for j, i in grid(40, 6):\n  T[i, j] = X[i, j]\n  Y[i, j] = T[i, {}]\n"
    assert shapes(text.format("0")) == {"T": (6, 40)}
    assert shapes(text.format("j")) == {"T": (1,)}


def test_what_rounds_read_first_is_kept() -> None:
    text = "for i in range(6):\n  U[i] = T[i, 3]\n  T[i, 3] = U[i]\n  S[i] = U[i]\n"
    assert shapes(text) == {"T": (6, 40), "U": (1,)}


def test_what_a_round_does_not_write_whole_is_kept() -> None:
    part = ROWS.format(read="T[i, b]", row="i").replace("range(40)", "range(39)")
    assert shapes(part) == {"T": (6, 40), "U": (1,)}
    summed = ROWS.format(read="T[i, b]", row="i").replace("T[i, j] = ", "T[i, j] += ")
    assert shapes(summed) == {"T": (6, 40), "U": (1,)}


def test_rows_that_are_summed_side_by_side_are_kept() -> None:
    """Sums in order take one element of each of several rows at a time."""
    text = """
for i in range(6):
  for j in range(40):
    T[i, j] = X[i, j] + 1
  for b in range(40):
    S[i] += T[i, b]
"""
    assert shapes(text, may_reassociate=False) == {"T": (6, 40)}
    assert shapes(text) == {"T": (40,)}


def in_rounds(kernel: Kernel) -> Kernel:
    """The kernel, three times over, under a loop of its own around everything."""
    around, index = Loop("r", 3), Affine.var("r")

    def more(access: Access) -> Access:
        return replace(access, indices=(index, *access.indices))

    buffers = tuple(
        replace(b, shape=(3, *b.shape), role=Role.OUT if b.role is Role.TEMP else b.role)
        for b in kernel.buffers
    )
    statements = tuple(
        replace(
            s, loops=(around, *s.loops), target=more(s.target), value=map_accesses(s.value, more)
        )
        for s in kernel.statements
    )
    return replace(kernel, buffers=buffers, statements=statements)


@settings(max_examples=60, deadline=None)
@given(kernels(), st.data())
def test_less_scratch_gives_the_same_numbers(kernel: Kernel, data: st.DataObject) -> None:
    call = in_rounds(kernel)
    written = {s.target.buffer for s in call.statements}
    free = [b.name for b in call.buffers if b.role is Role.OUT and b.name in written]
    scratch = frozenset(data.draw(st.sets(st.sampled_from(free)))) if free else frozenset()
    program = program_of(call, scratch)
    try:
        outputs_of(program)
    except ProgramError:  # real calls have an operand for each part of an array that they touch
        assume(False)
    contracted(program)
