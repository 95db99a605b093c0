"""Random kernels of several statements on the shipped machines: right, or a reason.

In: random kernels. Out: failures. Not its job: many of them (`bench/fuzz_plans.py`).
"""

import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from isamap.c_compiler import find_compiler
from isamap.emulator import run, time_program
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, interpret, numpy_dtype, parse_semantics, random_arrays
from isamap.planner import Wishes, find_plan
from isamap.program import Program
from isamap.verify import verify_full
from tests.planner.forced_joins import forced_program
from tests.scheduler.cases import MACHINES, machine
from tests.task_kernels import make_kernel

CASES = 4  # per machine
FORCED = 150  # kernels, of which few can be joined
JOINING = ("fused_npu", "vta", "gemmini", "conv_engine")


def subjects(label: str, count: int) -> list[tuple[int, Kernel]]:
    """That many random kernels, with their seeds."""
    made = ((seed, make_kernel(random.Random(f"{label} {seed}").choice)) for seed in range(count))
    return [(seed, kernel) for seed, kernel in made if kernel is not None]


def assert_emulators_agree(program: Program, kernel: Kernel, hw_name: str) -> None:
    """In Python, and compiled if there is a compiler, it finds the same numbers."""
    arrays = random_arrays(kernel, 0)
    data = {
        p.buffer: arrays.get(p.buffer, np.zeros(p.layout.shape, numpy_dtype(p.layout.dtype)))
        for p in program.inputs
    }
    shapes = {p.buffer: p.layout.shape for p in program.inputs}
    data = {name: array.reshape(shapes[name]) for name, array in data.items()}
    wanted = interpret(kernel, arrays)
    for compiled in dict.fromkeys((False, bool(find_compiler()))):
        found = run(program, machine(hw_name), data, compiled=compiled).outputs
        for name, expected in wanted.items():
            assert (found[name].reshape(expected.shape) == expected).all()


@pytest.mark.parametrize("hw_name", MACHINES)
def test_random_kernels_are_right_or_refused(hw_name: str) -> None:
    hw = machine(hw_name)
    for seed, kernel in subjects(hw_name, CASES):
        try:
            plan = find_plan(kernel, hw, Wishes(time_limit_s=2.0))
        except MappingError:
            continue
        found = verify_full(plan.program, kernel, hw)
        assert found.is_verified, (seed, found)
        assert plan.bound_cycles <= time_program(plan.program, hw).cycles, seed
        if seed == 0:
            assert_emulators_agree(plan.program, kernel, hw_name)


def taking_only_computed(hw: Hardware) -> Hardware:
    """The machine, whose copies to the external memory take only what was computed."""
    home = hw.external.name
    instructions = tuple(
        replace(x, only_computed=x.is_copy and x.operand(x.result.buffer).memory == home)
        for x in hw.instructions
    )
    return replace(hw, name=f"{hw.name}_strict", instructions=instructions)


@pytest.mark.parametrize("hw_name", MACHINES)
def test_stores_that_take_only_what_was_computed_are_given_nothing_else(hw_name: str) -> None:
    """The emulator refuses programs that do; the kernels are such as copies take part in."""
    hw = taking_only_computed(machine(hw_name))
    count = 0
    for seed, kernel in subjects(f"only {hw_name}", CASES):
        plan = find_plan(kernel, hw, Wishes(time_limit_s=2.0))
        found = verify_full(plan.program, kernel, hw)
        assert found.is_verified, (seed, found)
        count += any(not task.on_host for task in plan.tasks)
    assert count or hw_name == "vecdot", "else nothing is tested"


def test_a_copy_takes_no_sums_to_such_a_store() -> None:
    """The way home of i8 sums on this machine: a vector unit narrows them into the scratchpad."""
    text = "A, B = In(i8, 3, 4), In(i8, 4, 3)\nT, D = Temp(i32, 3, 3), Out(i8, 3, 3)\n"
    text += "for i, j, k in grid(3, 3, 4):\n  T[i, j] += i32(A[i, k]) * i32(B[k, j])\n"
    text += "for i, j in grid(3, 3):\n  D[i, j] = sat_i8(T[i, j])\n"
    subject, hw = parse_semantics(text, "narrowed"), machine("fused_npu")
    hw = replace(hw, host=replace(hw.host, start_cycles=Fraction(10**6))) if hw.host else hw
    assert forced_program(subject, hw) is not None, "else nothing is tested"
    strict = taking_only_computed(hw)
    found = verify_full(find_plan(subject, strict, Wishes()).program, subject, strict)
    assert found.is_verified, found


def test_forced_joins_of_random_kernels_are_right() -> None:
    count = 0
    for seed, kernel in subjects("joins", FORCED):
        hw = machine(JOINING[seed % len(JOINING)])
        program = forced_program(kernel, hw)
        if program is not None:
            found = verify_full(program, kernel, hw)
            assert found.is_verified, (seed, found)
            count += 1
    assert count > 5, "else nothing is tested"


def test_what_the_host_moves_is_in_no_bound_of_the_ports() -> None:
    """A port of one byte per cycle, which the host does not use."""
    text = "b, D = InOut(i32, 5, 7), Out(i32, 5, 7)\n"
    text += "for i, j in grid(5, 7):\n  D[i, j] = b[i, j]\nfor i, j in grid(5, 7):\n  b[i, j] = 7\n"
    subject, hw = parse_semantics(text, "moved"), machine("outer")
    ports = tuple(replace(port, bytes_per_cycle=1.0) for port in hw.external.ports)
    memories = (replace(hw.external, ports=ports), *(m for m in hw.memories if m != hw.external))
    slow = replace(hw, memories=memories)
    plan = find_plan(subject, slow, Wishes())
    assert plan.bound_cycles <= time_program(plan.program, slow).cycles
