"""Map a kernel onto a machine whose host is slow, and execute the program.

In: a bundled kernel, a machine, sizes. Out: the tasks that instructions compute, or a failure. Not
its job: quality of schedules.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.emulator import run, time_program
from isamap.errors import MappingError
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import (
    Kernel,
    interpret,
    load_kernel,
    load_kernels,
    numpy_dtype,
    random_arrays,
)
from isamap.mapper import Task, coverings, cut_tasks, flatten
from isamap.program import Program
from isamap.resources import find_kernel

Sizes = dict[str, int]
FILES = sorted((Path(__file__).parents[2] / "hw_specs").glob("*.yaml"))
MACHINES = [file for file in FILES if not file.read_text().partition("\nbase: ")[1]]  # no variants
FORMS = ("", "_bf16", "_f32")  # of a kernel, for what a machine multiplies
FIRST = 0.03  # effort: the first legal schedule will do
SLOW = Fraction(10**6)  # cycles per operation


@cache
def with_slow_host(file: Path) -> Hardware:
    """The machine; if it has a host, one that only does what no instruction can."""
    hw = load_hardware(file)
    return replace(hw, host=replace(hw.host, operation_cycles=SLOW)) if hw.host else hw


def form_for(name: str, hw: Hardware) -> str:
    """The kernel `file:name` in the first form that the machine's instructions compute, all of it
    unless there is a host, or a skipped test."""
    file, _, own = name.partition(":")
    known = load_kernels(find_kernel(file)[0])
    for form in FORMS:
        if own + form in known:
            tasks = flatten(cut_tasks(known[own + form].build()))
            found = [is_computed(task, hw) for task in tasks]
            if any(found) if hw.host else all(found):
                return name + form
    pytest.skip(f"{hw.name} computes no form of {own}")


def is_computed(task: Task, hw: Hardware) -> bool:
    """Has the task a covering?"""
    ways = coverings(task.kernel, hw, [], task.setting(), may_reassociate=True)
    try:
        return next(ways, None) is not None
    except MappingError:
        return False


def whole_arrays(kernel: Kernel) -> dict[str, np.ndarray]:
    """Random inputs; floats are small integers, so that sums are exact in every order."""
    arrays = random_arrays(kernel, seed=1)
    for name, array in arrays.items():
        if array.dtype.kind not in "iu":
            arrays[name] = np.rint(array.astype(np.float64) * 2).astype(array.dtype)
    return arrays


def assert_computes(kernel: Kernel, program: Program, hw: Hardware) -> None:
    """The program computes the kernel bit for bit, without a hazard."""
    assert time_program(program, hw, compiled=False).cycles > 0
    arrays = whole_arrays(kernel)
    shaped = {
        p.buffer: arrays.get(p.buffer, np.zeros(p.layout.shape, numpy_dtype(p.layout.dtype)))
        for p in program.inputs
    }
    shaped = {p.buffer: shaped[p.buffer].reshape(p.layout.shape) for p in program.inputs}
    got = run(program, hw, shaped, compiled=False).outputs
    for name, expected in interpret(kernel, arrays).items():
        np.testing.assert_array_equal(got[name].reshape(expected.shape), expected)


def map_and_run(name: str, hw: Hardware, sizes: Sizes, effort: float = FIRST) -> tuple[str, ...]:
    """Instructions that compute something of the kernel, one per task that has any."""
    path, own = find_kernel(name)
    kernel = load_kernel(path, sizes, own)
    found = isamap.map(kernel, hw, verify="off", effort=effort, may_reassociate=True)
    if isinstance(found, isamap.PlanResult):
        assert_computes(kernel, found.plan.program, hw)
        answers = (task.answer for task in found.plan.tasks)
        return tuple(a.best.covering.instruction for a in answers if a is not None)
    assert_computes(kernel, found.schedule.program, hw)
    return (found.schedule.covering.instruction,)


def assert_an_instruction_computes(
    name: str, file: Path, sizes: Sizes, effort: float = FIRST
) -> None:
    """The kernel, or its form for the machine, runs on instructions as far as any compute it."""
    hw = with_slow_host(file)
    used = map_and_run(form_for(name, hw), hw, sizes, effort)
    assert used, "the host computes everything"
