"""Bytes and energy, counted a second time: element by element, from the calls of a trace.

In: random legal tilings of random kernels on random machines, and of bundled ones, each memory and
instruction with an energy of its own. Out: failures. Not its job: which energies are right, whether
the closed form finds all calls on larger kernels (`test_moved`).

Emulator and closed form share the code that says which bytes a call touches. Here every iteration
of a call's semantics is walked instead, and the elements are collected in sets.
"""

import random
import tempfile
from collections import Counter
from functools import cache
from itertools import product
from math import prod
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isamap.costmodels import count_work, moved_by
from isamap.emulator.trace import TracedCall
from isamap.emulator.trace_program import trace_program
from isamap.errors import MappingError, SpecErrors
from isamap.hwdesc import Hardware, Instruction, load_hardware
from isamap.ir import Access, Role, accesses, size_bytes
from isamap.mapper import Covering, coverings
from isamap.program import Program
from isamap.scheduler import lower
from tests.scheduler.cases import KERNELS, MACHINES, first_coverings, machine
from tests.scheduler.machines import random_kernel, random_machine
from tests.scheduler.test_moved import with_energies
from tests.scheduler.tilings import random_legal_tiling

SMALL = KERNELS[:1] + KERNELS[2:4] + KERNELS[7:9]
MOST_ITERATIONS = 60_000  # that are walked in a case
Bytes = Counter[tuple[str, bool]]  # memory, is it written: how many


def touched_bytes(call: TracedCall, instruction: Instruction) -> Bytes:
    """What one call reads and writes: each element that an access leads to once, those that lie in
    one place once; all of it again in every round of a repeat."""
    extents = dict(call.extents)
    kernel = instruction.semantics
    operands = {operand.name: operand for operand in call.issue.operands}
    asked: dict[tuple[Access, bool], None] = {}
    touched: Bytes = Counter()
    for statement in kernel.statements:
        target, roles = statement.target, {buffer.name: buffer.role for buffer in kernel.buffers}
        reads = accesses(statement.value) + (() if statement.update == "=" else (target,))
        own = [(a, False) for a in reads if roles[a.buffer] in (Role.IN, Role.INOUT)]
        own += [(target, True)] if roles[target.buffer] in (Role.OUT, Role.INOUT) else []
        names = [loop.name for loop in statement.loops]
        for access, is_written in own:
            if (access, is_written) in asked:
                continue
            asked[access, is_written] = None
            operand, buffer = operands[access.buffer], kernel.buffer(access.buffer)
            elements = set()
            for values in product(*(range(extents[name]) for name in names)):
                at = dict(zip(names, values, strict=True))
                place = [sum(c * at[n] for n, c in x.terms) + x.constant for x in access.indices]
                inside = all(0 <= p < size for p, size in zip(place, buffer.shape, strict=True))
                if inside or access.pad is None:
                    pairs = zip(place, operand.strides_bytes, strict=True)
                    elements.add(tuple(p for p, stride in pairs if stride))
            times = prod(extents[rule.name] for rule in instruction.repeats)
            count = times * len(elements) * size_bytes(buffer.dtype)
            touched[operand.memory, is_written] += count
    return touched


def own_energy(call: TracedCall, hw: Hardware) -> float:
    """As `with_energies` has it: a quarter of the instruction's number for each iteration."""
    names = [instruction.name for instruction in hw.instructions]
    is_sync = hw.instruction(call.issue.instruction).is_sync
    number = 0 if is_sync else names.index(call.issue.instruction) + 1
    return number / 4 * prod(extent for _, extent in call.extents)


def check(program: Program, hw: Hardware) -> float:
    """Emulator and this count agree on bytes and energy; the energy."""
    trace = trace_program(program, hw, compiled=False)
    assert trace.is_complete
    touched: Bytes = Counter()
    energy = 0.0
    known: dict[tuple[object, ...], Bytes] = {}  # calls of one issue and size differ in addresses
    for call in trace.calls():
        key = call.issue, call.extents
        if key not in known:
            known[key] = touched_bytes(call, hw.instruction(call.issue.instruction))
        touched += known[key]
        energy += own_energy(call, hw)
    timing = trace.timing
    for row in timing.traffic:
        counted = touched[row.memory, False], touched[row.memory, True]
        assert (row.read_bytes, row.written_bytes) == counted, row.memory
    for number, memory in enumerate(hw.memories):  # as `with_energies` has them
        energy += (1.5 + number) * touched[memory.name, False]
        energy += 2.25 * (number + 1) * touched[memory.name, True]
    assert timing.energy_pj == pytest.approx(energy, rel=1e-9)
    return energy


def check_any(found: tuple[Covering, ...], plain: Hardware, seed: int) -> None:
    """A random covering's random tiling, in the closed form, too."""
    hw, generator = with_energies(plain), random.Random(seed)
    assume(found)
    covering = generator.choice(found)
    tiling = random_legal_tiling(covering, hw, generator, any_tile=True, attempts=10)
    program = tiling and lower(covering, tiling, hw)
    assume(program is not None and tiling is not None)
    assert program is not None and tiling is not None
    instruction = hw.instruction(covering.instruction)
    work = count_work(covering, hw)
    walked = work.calls * prod(rule.maximum for _, rule in instruction.extents)
    assume(walked <= MOST_ITERATIONS)
    energy = check(program, hw)
    assert moved_by(covering, work, tiling).energy_pj == pytest.approx(energy, rel=1e-9)


@cache
def random_coverings(seed: int) -> tuple[Hardware | None, tuple[Covering, ...]]:
    """A machine that nobody built, and the first coverings of a kernel."""
    generator = random.Random(f"machine {seed}")
    text = random_machine(generator, converts=bool(seed % 2))
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "random.yaml")
            file.write_text(text)
            hw = load_hardware(file)
        stream = coverings(random_kernel(generator), hw, [])
        return hw, tuple(covering for covering, _ in zip(stream, range(20), strict=False))
    except (SpecErrors, MappingError):
        return None, ()


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 60), st.integers(0, 999))
def test_energies_on_random_machines_are_those_of_their_elements(machine: int, seed: int) -> None:
    hw, found = random_coverings(machine)
    assume(hw is not None)
    assert hw is not None
    check_any(found, hw, seed)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.sampled_from(MACHINES), st.sampled_from(SMALL), st.integers(0, 999))
def test_energies_on_bundled_machines_are_those_of_their_elements(
    name: str, subject: tuple[str, str, tuple[tuple[str, int], ...]], seed: int
) -> None:
    check_any(first_coverings(*subject, name, 6), machine(name), seed)
