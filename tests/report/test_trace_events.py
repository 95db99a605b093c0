"""Trace events: the documented format, and the times of the trace they come from."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from isamap.compile import map
from isamap.emulator import Trace, trace_program
from isamap.report import trace_text
from tests.emulator.hand_programs import gemm, machine

NUMBER = {"type": "number", "minimum": 0}
EVENT: dict[str, Any] = {
    "type": "object",
    "required": ["name", "ph", "ts", "pid", "tid"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "cat": {"type": "string"},
        "ph": {"enum": ["X", "M", "C", "i"]},
        "ts": NUMBER,
        "dur": NUMBER,
        "pid": {"type": "integer", "minimum": 1},
        "tid": {"type": "integer", "minimum": 0},
        "s": {"enum": ["g", "p", "t"]},
        "args": {"type": "object"},
    },
    "additionalProperties": False,
    "allOf": [
        {
            "if": {"properties": {"ph": {"const": "X"}}},
            "then": {"required": ["dur", "args"]},
            "else": {"not": {"required": ["dur"]}},
        },
        {
            "if": {"properties": {"ph": {"const": "C"}}},
            "then": {
                "required": ["args"],
                "properties": {
                    "args": {"minProperties": 1, "additionalProperties": {"type": "number"}}
                },
            },
        },
        {
            "if": {"properties": {"ph": {"const": "M"}}},
            "then": {
                "required": ["args"],
                "properties": {
                    "name": {
                        "enum": [
                            "process_name",
                            "process_sort_index",
                            "thread_name",
                            "thread_sort_index",
                        ]
                    }
                },
            },
        },
        {"if": {"properties": {"ph": {"const": "i"}}}, "then": {"required": ["s"]}},
    ],
}
# JSON Object Format of the Trace Event Format (Google, 2016), the phases that are used here
FORMAT = {
    "type": "object",
    "required": ["traceEvents", "displayTimeUnit"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "traceEvents": {"type": "array", "items": EVENT},
        "otherData": {"type": "object"},
    },
    "additionalProperties": False,
}

TINY = machine("tiny")


def events_of(trace: Trace, names: dict[int, str] | None = None) -> dict[str, Any]:
    """The trace's text read again, held against the format."""
    data: dict[str, Any] = json.loads(trace_text(trace, names or {}))
    Draft202012Validator(FORMAT).validate(data)
    return data


def of_phase(data: dict[str, Any], phase: str) -> list[dict[str, Any]]:
    """Its events of one kind."""
    return [event for event in data["traceEvents"] if event["ph"] == phase]


def test_times_are_microseconds_of_the_clock_and_cycles_in_args() -> None:
    trace = trace_program(gemm(16, 16, 16), TINY)
    data = events_of(trace)
    microseconds = 1e6 / TINY.clock_hz
    found = [
        (e["name"], e["args"]["start_cycle"], e["args"]["finish_cycle"])
        for e in of_phase(data, "X")
    ]
    assert found == [
        ("clear", 0, 8),
        ("load", 0, 36),
        ("load", 16, 52),
        ("mma", 52, 100),
        ("store", 100, 174),
    ]
    for event in of_phase(data, "X"):
        assert event["ts"] == pytest.approx(event["args"]["start_cycle"] * microseconds, abs=1e-6)
        assert event["dur"] == pytest.approx(event["args"]["issue_cycles"] * microseconds, abs=1e-6)
    assert data["otherData"]["cycles"] == 174
    assert data["otherData"]["left_out"] == "nothing"
    mma = next(e for e in of_phase(data, "X") if e["name"] == "mma")
    assert mma["args"]["waited_for"] == "B in sram to be written"
    assert mma["args"]["operand B"] == "sram byte 4096"
    assert mma["args"]["extents"] == "i=16, j=16, k=16"


def test_a_clock_that_no_decimal_meets_makes_no_calls_overlap() -> None:
    """At 1.4 GHz a cycle is 0.714285.. ns: rounded, an end must not pass the next start."""
    found = map("gemm", "trainium", sizes={"m": 40}, verify="off", time_limit_s=5)
    data = events_of(trace_program(found.program, found.hardware))
    ends: dict[tuple[int, int], float] = {}
    for event in of_phase(data, "X"):
        if event["cat"] == "call":
            lane = event["pid"], event["tid"]
            assert round(event["ts"] - ends.get(lane, 0.0), 6) >= 0
            ends[lane] = event["ts"] + event["dur"]


def test_counters_rise_and_fall_back_to_nothing() -> None:
    trace = trace_program(gemm(40, 33, 70, buffers=2), TINY)
    by_name: dict[str, list[int]] = {}
    for event in of_phase(events_of(trace), "C"):
        by_name.setdefault(event["name"], []).append(event["args"]["bytes"])
    assert set(by_name) == {f"live bytes in {name} (of 65 536 bytes)" for name in ("sram", "acc")}
    assert all(levels[-1] == 0 and max(levels) > 0 for levels in by_name.values())


def test_each_core_is_a_process_and_each_instance_a_thread() -> None:
    found = map("gemm", "mesh", sizes={"m": 64, "n": 64, "k": 32}, verify="off", time_limit_s=5)
    data = events_of(trace_program(found.program, found.hardware))
    names = {
        e["pid"]: e["args"]["name"] for e in of_phase(data, "M") if e["name"] == "process_name"
    }
    assert names == {
        1: "mesh: shared by all cores",
        2: "core 0 (row 0, column 0)",
        3: "core 1 (row 0, column 1)",
        4: "core 2 (row 1, column 0)",
        5: "core 3 (row 1, column 1)",
    }
    assert {e["pid"] for e in of_phase(data, "X") if e["name"] == "matmul"} == {2, 3, 4, 5}
    known = {(e["pid"], e["tid"]) for e in of_phase(data, "M") if e["name"] == "thread_name"}
    assert {(e["pid"], e["tid"]) for e in of_phase(data, "X")} <= known


def test_a_part_says_where_it_ends() -> None:
    trace = trace_program(gemm(40, 33, 70), TINY, max_calls=7)
    data = events_of(trace)
    assert len(of_phase(data, "X")) == 7
    text = f"only the first 7 of {trace.num_calls} calls"
    assert data["otherData"]["left_out"] == text
    mark = next(e for e in of_phase(data, "i") if "missing" in e["name"])
    assert text in mark["name"]
    assert mark["args"]["cycle"] == trace.complete_cycles


def test_tasks_of_a_plan_have_threads_with_their_names() -> None:
    found = map("softmax", "trainium", verify="off", time_limit_s=5)
    trace = trace_program(found.program, found.hardware)
    numbers = {call.issue.task for call in trace.calls() if call.issue.task is not None}
    data = events_of(trace, {number: f"T{number}" for number in numbers})
    tasks = [e for e in of_phase(data, "X") if e["cat"] == "task"]
    assert {e["name"] for e in tasks} == {f"task T{number}" for number in numbers}
    for event in tasks:
        mine = [c for c in trace.calls() if f"task T{c.issue.task}" == event["name"]]
        assert event["args"]["start_cycle"] == min(c.start for c in mine)
        assert event["args"]["finish_cycle"] == max(c.finish for c in mine)
