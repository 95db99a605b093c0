"""Cycles against numbers computed by hand from docs/timing.md, and the two executions against each
other."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.emulator import Timing, time_program
from isamap.hwdesc import Direction, Hardware, Port, Unit
from isamap.ir import parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.program import Issue, Program
from tests.emulator.hand_programs import (
    gemm,
    issue_clear,
    issue_load,
    issue_mma,
    issue_store,
    machine,
    straight,
)
from tests.scheduler.cases import machine as scheduled_machine

BOTH = pytest.mark.parametrize("compiled", [True, False])
TINY = machine("tiny")


def cycles(program: Program, compiled: bool, hardware: Hardware = TINY) -> int:
    return time_program(program, hardware, compiled=compiled).cycles


@BOTH
def test_one_tile_runs_as_in_the_contract(compiled: bool) -> None:
    timing = time_program(gemm(16, 16, 16), TINY, compiled=compiled)
    assert timing.cycles == 174
    assert [(u.unit, u.busy_cycles) for u in timing.unit_busy] == [
        ("load", 32),
        ("matrix", 20),
        ("store", 64),
    ]
    assert timing.calls == (("load", 2), ("mma", 1), ("clear", 1), ("store", 1))
    assert [(t.memory, t.read_bytes, t.written_bytes) for t in timing.traffic] == [
        ("dram", 512, 1024),
        ("sram", 512, 512),
        ("acc", 2048, 2048),
    ]
    assert timing.ports[0].busy_cycles == 32 + 64
    assert timing.energy_pj == 512 * 10 + 1024 * 20 + 100


@BOTH
def test_double_buffers_overlap_loads_with_compute(compiled: bool) -> None:
    assert cycles(gemm(16, 16, 32), compiled) == 242
    assert cycles(gemm(16, 16, 32, buffers=2), compiled) == 206


@BOTH
def test_updates_of_one_accumulator_follow_after_accumulate_cycles(compiled: bool) -> None:
    loads = (issue_load(0, 0), issue_load(256, 4096))
    program = straight((*loads, issue_clear(0), issue_mma(0, 4096, 0), issue_mma(0, 4096, 0)))
    assert cycles(program, compiled) == 52 + 16 + 48
    slow = replace(
        TINY, instructions=tuple(replace(i, accumulate_cycles=None) for i in TINY.instructions)
    )
    assert cycles(program, compiled, slow) == 52 + 48 + 48


@BOTH
def test_another_writer_ends_accumulation(compiled: bool) -> None:
    mma = issue_mma(0, 4096, 0)
    loads = (issue_load(0, 0), issue_load(256, 4096))
    program = straight((*loads, issue_clear(0), mma, issue_clear(0), mma))
    assert cycles(program, compiled) == 52 + 48 + 8 + 48  # clear waits for mma, mma for clear


@BOTH
def test_a_shared_port_is_used_one_call_at_a_time(compiled: bool) -> None:
    clear, store, load = issue_clear(0), issue_store(0, 4096), issue_load(0, 0)
    assert cycles(straight((clear, store, load)), compiled) == 8 + 64 + 36  # gap 0..8 too short
    assert cycles(straight((clear, load, store)), compiled) == 16 + 74


@BOTH
def test_separate_ports_do_not_wait(compiled: bool) -> None:
    dram = replace(
        TINY.external,
        ports=(Port("read", Direction.READ, 16.0), Port("write", Direction.WRITE, 16.0)),
    )
    split = replace(TINY, memories=(dram, *TINY.memories[1:]))
    program = straight((issue_clear(0), issue_store(0, 4096), issue_load(0, 0)))
    assert cycles(program, compiled, split) == 8 + 74


@BOTH
def test_a_later_call_uses_a_gap_in_a_port(compiled: bool) -> None:
    dram = replace(TINY.external, ports=(Port("both", Direction.BOTH, 32.0),))
    wide = replace(TINY, memories=(dram, *TINY.memories[1:]))
    program = straight((issue_clear(0), issue_store(0, 4096), issue_load(0, 0)))
    timing = time_program(program, wide, compiled=compiled)  # the load takes 0..8, the store 8..40
    assert timing.cycles == 8 + 74
    assert timing.ports[0].busy_cycles == 8 + 32


@BOTH
def test_two_instances_of_a_unit_run_side_by_side(compiled: bool) -> None:
    units = tuple(Unit("load", 2) if unit.name == "load" else unit for unit in TINY.units)
    free_port = replace(TINY.external, ports=())
    double = replace(TINY, units=units, memories=(free_port, *TINY.memories[1:]))
    loads = tuple(issue_load(0, 256 * n) for n in range(3))
    assert cycles(straight(loads), compiled, double) == 16 + 36


@BOTH
def test_results_written_and_read_back_through_dram_wait(compiled: bool) -> None:
    program = straight((issue_clear(0), issue_store(0, 4096), issue_load(4096, 0)))
    assert cycles(program, compiled) == 8 + 74 + 36


@BOTH
def test_gaps_between_rows_are_free(compiled: bool) -> None:
    left, right = issue_load(0, 0, pitch=32), issue_load(256, 16, pitch=32)
    reads_left = issue_mma(0, 0, 0, pitch=32)
    program = straight((left, right, issue_clear(0), reads_left))
    assert cycles(program, compiled) == 36 + 48  # waits for `left` only, which ended at 36


def test_partial_extents_shorten_the_call() -> None:
    assert cycles(straight((issue_load(0, 0, rows=5),)), True) == 20 + 5


@st.composite
def sequences(draw: st.DrawFn) -> Program:
    """Calls at random, overlapping places: any of them is legal on an interlocked machine."""
    place = st.integers(0, 40).map(lambda n: 16 * n)
    size = st.integers(1, 16)
    calls: list[Issue] = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.integers(0, 3))
        a, b, c = draw(place), draw(place), draw(place)
        rows, pitch = draw(size), draw(st.sampled_from([16, 20, 48]))
        calls.append(
            (
                issue_load(a, b, rows=rows, pitch=pitch),
                issue_mma(a, b, 4 * c, pitch=pitch, rows=rows),
                issue_clear(4 * c, rows=rows),
                issue_store(4 * c, 4096 + a, rows=rows),
            )[kind]
        )
    return straight(tuple(calls), repeats=draw(st.integers(1, 3)))


@settings(max_examples=25)
@given(sequences())
def test_both_executions_count_the_same(program: Program) -> None:
    compiled, python = both(program)
    assert compiled == python


def both(program: Program) -> tuple[Timing, Timing]:
    return (
        time_program(program, TINY, compiled=True),
        time_program(program, TINY, compiled=False),
    )


@settings(max_examples=15)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 70), st.integers(1, 3))
def test_ragged_products_count_the_same(m: int, n: int, k: int, buffers: int) -> None:
    compiled, python = both(gemm(m, n, k, buffers=buffers))
    assert compiled == python


@BOTH
def test_along_a_diagonal_only_what_is_touched_moves(compiled: bool) -> None:
    text = "A, D = In(i32, 5), InOut(i32, 9, 5, 2)\nfor i, j in grid(5, 2):\n"
    vta = scheduled_machine("vta")
    plan = find_plan(parse_semantics(f"{text}  D[2*i, i, j] = A[i]", "diagonal"), vta, Wishes())
    traffic = time_program(plan.program, vta, compiled=compiled).traffic
    dram = next(moved for moved in traffic if moved.memory == "dram")
    assert (dram.read_bytes, dram.written_bytes) == (5 * 4, 5 * 2 * 4)
    assert plan.costs.dram_bytes == 15 * 4
