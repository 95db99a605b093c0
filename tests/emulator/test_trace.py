"""Traces: the very times of the timing run, the same in both executions, whole or said not to
be."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from isamap.compile import PlanResult, map
from isamap.emulator import Trace, Wait, trace_program
from isamap.emulator.bind import bind
from isamap.emulator.build import compile_c, run_executable
from isamap.emulator.c_timing import emit_timing
from isamap.hwdesc import Hardware
from isamap.program import Program
from tests.emulator.hand_programs import gemm, machine
from tests.emulator.test_generated_c import SANITIZE
from tests.emulator.test_timing import sequences

TINY = machine("tiny")
BOTH = pytest.mark.parametrize("compiled", [True, False])


def assert_is_its_timing(trace: Trace) -> None:
    """All calls together take what the timing says, unit by unit."""
    timing = trace.timing
    assert trace.is_complete
    assert max(call.finish for call in trace.calls()) == timing.cycles
    assert trace.complete_cycles == timing.cycles
    for unit in timing.unit_busy:
        mine = [call for call in trace.calls() if call.place.name == unit.unit]
        assert sum(call.issue_cycles for call in mine) == unit.busy_cycles
    by_name = dict(timing.calls)
    for name, count in by_name.items():
        assert sum(call.issue.instruction == name for call in trace.calls()) == count
    for unit in timing.unit_busy:
        rows = [n for n, p in enumerate(trace.places) if (p.kind, p.name) == ("unit", unit.unit)]
        assert trace.history[rows].sum() == unit.busy_cycles


def assert_no_overlap(trace: Trace) -> None:
    """An instance runs one call at a time, and was idle before it for as long as is said."""
    free: dict[tuple[object, int], int] = {}
    for call in trace.calls():
        key = call.place, call.instance
        assert call.start >= free.get(key, 0)
        free[key] = call.start + call.issue_cycles


def assert_same(one: Trace, other: Trace) -> None:
    """Event by event."""
    assert one.timing == other.timing
    assert one.places == other.places
    assert one.families == other.families
    assert (one.num_calls, one.complete_cycles) == (other.num_calls, other.complete_cycles)
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.edges, other.edges)
    np.testing.assert_array_equal(one.history, other.history)


def both(program: Program, hw: Hardware, max_calls: int = 1000) -> Trace:
    """The trace, found twice."""
    compiled = trace_program(program, hw, max_calls=max_calls, compiled=True)
    assert_same(compiled, trace_program(program, hw, max_calls=max_calls, compiled=False))
    return compiled


def test_one_tile_is_traced_as_in_the_contract() -> None:
    trace = both(gemm(16, 16, 16), TINY)
    found = [
        (call.issue.instruction, call.start, call.finish, call.stall_cycles, call.wait, call.at)
        for call in trace.calls()
    ]
    assert found == [
        ("clear", 0, 8, 0, Wait.QUEUE, ""),
        ("load", 0, 36, 0, Wait.QUEUE, ""),
        ("load", 16, 52, 0, Wait.QUEUE, ""),
        ("mma", 52, 100, 48, Wait.WRITER, "B in sram"),
        ("store", 100, 174, 100, Wait.WRITER, "S in acc"),
    ]
    assert_is_its_timing(trace)


def test_bytes_live_from_their_writer_to_their_last_reader() -> None:
    """A comes in [0, 36), B from 16 on, both are read until 52 + 16; the sum lives from the clear
    to the end of the store, 100 + 64."""
    trace = both(gemm(16, 16, 16), TINY)
    sram, acc = (
        next(n for n, p in enumerate(trace.places) if (p.kind, p.name) == ("memory", name))
        for name in ("sram", "acc")
    )
    edges = {tuple(row) for row in trace.edges.tolist()}
    assert {e for e in edges if e[0] == sram} == {(sram, 0, 256), (sram, 16, 256), (sram, 68, -512)}
    assert {e for e in edges if e[0] == acc} == {(acc, 0, 1024), (acc, 164, -1024)}


@pytest.mark.parametrize(("hw", "buffers"), [(TINY, 1), (TINY, 2)])
def test_ragged_products_are_traced_alike(hw: Hardware, buffers: int) -> None:
    trace = both(gemm(40, 33, 70, buffers=buffers), hw)
    assert_is_its_timing(trace)
    assert_no_overlap(trace)


@settings(max_examples=6, deadline=None)
@given(sequences())
def test_both_executions_see_the_same(program: Program) -> None:
    assert_is_its_timing(both(program, TINY))


def test_stalls_and_work_add_up_to_where_each_unit_ends() -> None:
    trace = both(gemm(40, 33, 70, buffers=2), TINY)
    ends: dict[str, int] = {}
    for call in trace.calls():
        ends[call.place.name] = call.start + call.issue_cycles
    for name, end in ends.items():
        mine = [call for call in trace.calls() if call.place.name == name]
        assert sum(call.stall_cycles + call.issue_cycles for call in mine) == end
        lost = [f.lost for f in trace.families if trace.places[f.place].name == name]
        assert sum(cycles for rows in lost for _, cycles in rows) == sum(
            call.stall_cycles for call in mine
        )


@BOTH
def test_what_is_left_out_is_said(compiled: bool) -> None:
    program = gemm(40, 33, 70)
    whole = trace_program(program, TINY, compiled=compiled)
    part = trace_program(program, TINY, max_calls=7, compiled=compiled)
    assert not part.is_complete
    assert part.num_calls == whole.num_calls
    np.testing.assert_array_equal(part.rows, whole.rows[:7])
    np.testing.assert_array_equal(part.history, whole.history)  # histories are of all calls
    assert part.families == whole.families
    assert part.complete_cycles == whole.rows[7:, 3].min()


def test_a_part_is_the_same_in_both_executions() -> None:
    both(gemm(40, 33, 70), TINY, max_calls=7)
    both(gemm(40, 33, 70), TINY, max_calls=0)


def test_live_bytes_as_changes_and_as_history_agree() -> None:
    trace = both(gemm(40, 33, 70, buffers=2), TINY)
    for number, place in enumerate(trace.places):
        if place.kind != "memory":
            continue
        mine = trace.edges[trace.edges[:, 0] == number]
        assert mine[:, 2].sum() == 0
        area = -(mine[:, 1] * mine[:, 2]).sum()  # each byte from its first to its last cycle
        assert area == trace.history[number].sum()
        levels = np.cumsum(mine[:, 2])
        assert levels.min(initial=0) >= 0
        assert levels.max(initial=0) <= place.size_bytes


@pytest.mark.parametrize(
    ("kernel", "hw", "sizes"),
    [
        ("gemm", "vta", {"m": 20, "n": 40, "k": 33}),  # tokens
        ("gemm:gemm_i8", "opentpu", {"m": 20, "n": 20, "k": 33}),  # cycles are given; a fifo
        ("gemm", "mesh", {"m": 40, "n": 40, "k": 40}),  # several cores, multicasts
    ],
)
def test_programs_of_real_machines_are_traced_alike(
    kernel: str, hw: str, sizes: dict[str, int]
) -> None:
    found = map(kernel, hw, sizes=sizes, verify="off", time_limit_s=5)
    trace = both(found.program, found.hardware, max_calls=10**6)
    assert trace.timing == found.timing
    assert_is_its_timing(trace)
    assert_no_overlap(trace)
    assert len({call.issue.instruction for call in trace.calls()}) > 3


def test_where_writes_do_not_wait_results_live_side_by_side() -> None:
    """Registers are loaded anew while sums of the calls before still wait for their turn."""
    sizes = {"m": 8, "n": 32, "k": 8}
    found = map("gemm:gemm_f32", "x86_avx2", sizes=sizes, verify="off", may_reassociate=True)
    trace = both(found.program, found.hardware, max_calls=10**6)
    assert_is_its_timing(trace)
    assert any(place.is_renamed for place in trace.places)


def test_tasks_of_a_plan_are_traced_alike() -> None:
    found = map("softmax", "trainium", verify="off", time_limit_s=5)
    assert isinstance(found, PlanResult)
    trace = both(found.program, found.hardware, max_calls=10**6)
    assert trace.timing == found.timing
    assert_is_its_timing(trace)
    known = {planned.task.number for planned in found.plan.tasks}
    assert {call.issue.task for call in trace.calls()} <= known
    assert len(known) > 1


def test_the_recording_c_is_clean_under_sanitizers(tmp_path: Path) -> None:
    text = emit_timing(bind(gemm(20, 33, 40, buffers=2), TINY), is_recorded=True)
    made = compile_c(text, "-O1", SANITIZE)
    for max_calls, buckets in (("1000", "40"), ("3", "1")):  # a time that buckets do not cover
        assert run_executable(made, (str(tmp_path), max_calls, "50", buckets), 60).startswith("ok")
