"""A queue that takes results out and brings data in, too: what waits in it is part of the model.

Oracle: the emulator for the closed form, the closed form for the solver's model.
"""

import random
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import isamap
from isamap.costmodels import Stay, Tiling, count_work, estimate
from isamap.emulator import time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, parse_semantics
from isamap.mapper import coverings
from isamap.scheduler.lower import lower
from tests.scheduler.cases import ROOT
from tests.scheduler.exhaustive import model_cycles
from tests.scheduler.tilings import random_legal_tiling

FILES = ROOT / "tests" / "specs" / "machines"
VECTORS = load_hardware(FILES / "banked_vectors.yaml")
WIDE = replace(
    VECTORS,
    name="wide",
    memories=tuple(replace(m, size_bytes=3 * m.size_bytes) for m in VECTORS.memories),
)
MACHINES = [
    VECTORS,
    WIDE,
    *(load_hardware(FILES / f"{name}.yaml") for name in ("one_queue", "one_dma")),
]
ELEMENTWISE = """
A, B, C = In(i8, 9, 50), In(i8, 9, 50), {role}(i32, 9, 50)
for i, j in grid(9, 50):
  C[i, j] += i32(A[i, j]) * i32(B[i, j])
"""
PRODUCT = """
A, B, C = In(i8, 13, 21), In(i8, 21, 19), Out(i32, 13, 19)
for i, j, p in grid(13, 19, 21):
  C[i, j] += i32(A[i, p]) * i32(B[p, j])
"""


def kernel_for(hw: Hardware, role: str = "Out") -> Kernel:
    text = ELEMENTWISE.format(role=role) if hw in (VECTORS, WIDE) else PRODUCT
    return parse_semantics(text.replace("Out(i32, 13", f"{role}(i32, 13"), "queued")


def assert_priced_alike(hw: Hardware, role: str = "Out") -> None:
    generator = random.Random(hw.name)
    for covering in islice(coverings(kernel_for(hw, role), hw, []), 2):
        work = count_work(covering, hw)
        for _ in range(6):
            tiling = random_legal_tiling(covering, hw, generator, any_tile=False, attempts=20)
            if tiling is not None:
                found = model_cycles(covering, work, hw, tiling)
                expected = estimate(covering, work, tiling, hw).cycles
                assert found is not None and abs(found - expected) <= 1 + len(work.flows)


@pytest.mark.parametrize("hw", MACHINES, ids=lambda hw: hw.name)
def test_the_model_prices_waiting_in_the_queue_like_the_closed_form(hw: Hardware) -> None:
    assert_priced_alike(hw)


@pytest.mark.parametrize("hw", [VECTORS, WIDE], ids=lambda hw: hw.name)
@pytest.mark.parametrize("role", ["Out", "InOut"])
def test_results_leave_while_the_next_operands_come(role: str, hw: Hardware) -> None:
    """One queue of vectors: the closed form sees that a store waits for its result, so the chosen
    schedule lets loads go first, and takes about what the queue's calls take."""
    found = isamap.map(kernel_for(hw, role), hw, verify="full")
    assert isinstance(found, isamap.Result) and found.timing is not None
    assert found.verification.is_verified
    busy = dict(found.schedule.estimate.unit_cycles)["memory"]
    assert found.timing.cycles <= 1.25 * busy


def test_what_leaves_late_does_not_stand_before_the_rest_of_a_sum() -> None:
    """The sum takes several tiles, whose operands come first."""
    hw = next(hw for hw in MACHINES if hw.name == "one_queue")
    text = PRODUCT.replace("13", "31").replace("21", "5").replace("19", "20")
    found = isamap.map(parse_semantics(text, "sums"), hw, verify="full")
    assert isinstance(found, isamap.Result) and found.timing is not None
    assert found.verification.is_verified
    assert found.timing.cycles <= 1.15 * found.schedule.estimate.cycles


def test_the_least_distance_of_a_store_from_every_product_is_waited_for(tmp_path: Path) -> None:
    """Leaving late does not help against it: the next tile's products count, too."""
    text = (FILES / "one_queue.yaml").read_text().replace(": interlocked", ": exposed")
    text += "\ndistances:\n  - {from: multiply, to: store_sums, cycles: 40 cycles, source: x}\n"
    file = tmp_path / "apart.yaml"
    file.write_text(text)
    hw = load_hardware(file)
    assert_priced_alike(hw)
    found = isamap.map(kernel_for(hw), hw, verify="full")
    assert isinstance(found, isamap.Result) and found.timing is not None
    assert found.verification.is_verified
    assert abs(found.schedule.estimate.cycles - found.timing.cycles) <= 0.15 * found.timing.cycles


def sums_alone(folder: Path, block: str = "2 * r") -> Hardware:
    """The machine whose operands have a queue of their own: only sums share one, a block in so many
    cycles."""
    text = (FILES / "one_queue.yaml").read_text().replace("unit: dma", "unit: bring", 1)
    text = text.replace("units: {", "units: {bring: {}, ").replace("16 * 4 * n", "64 * 4 * n")
    text = text.replace("2 * r", block)
    file = folder / "sums_alone.yaml"
    file.write_text(text)
    return load_hardware(file)


def test_sums_side_by_side_still_come_behind_the_sums_that_leave(tmp_path: Path) -> None:
    """Only sums share the queue: a place for each tile does not bring the next one before the last
    one has left, two places that take turns do."""
    hw = sums_alone(tmp_path)
    assert_priced_alike(hw, "InOut")
    kernel = PRODUCT.replace("13", "48").replace("21", "40").replace("19", "8")
    found = isamap.map(parse_semantics(kernel.replace(" Out", " InOut"), "sums"), hw, verify="full")
    assert isinstance(found, isamap.Result) and found.timing is not None
    assert found.verification.is_verified
    assert found.timing.cycles <= 1.1 * found.bound_cycles


def test_within_a_tile_sums_begin_behind_those_that_leave(tmp_path: Path) -> None:
    """Rows of a tile one after the other: each waits for the row before it, which the closed form
    sees; with the sum's loop outermost nothing waits."""
    hw = sums_alone(tmp_path, block="r")
    text = PRODUCT.replace("13", "32").replace("21", "16").replace("19", "8")
    kernel = parse_semantics(text.replace(" Out", " InOut"), "rows")
    covering = next(coverings(kernel, hw, []))
    work = count_work(covering, hw)
    counted = {}
    for inner in ("ipj", "pij"):
        stays = tuple(Stay(plan.name, 0, 1, 1) for plan in covering.operands)
        tiling = Tiling((("i", 8), ("j", 2), ("p", 4)), tuple("ijp"), tuple(inner), stays)
        program = lower(covering, tiling, hw)
        assert program is not None
        counted[inner] = time_program(program, hw).cycles
        expected = estimate(covering, work, tiling, hw).cycles
        assert expected == pytest.approx(counted[inner], rel=0.05)
    assert counted["ipj"] > 1.2 * counted["pij"]


def test_nothing_stands_behind_the_last_result() -> None:
    """One tile of one block: no fill comes after its drain, so nothing waits for it."""
    hw = next(hw for hw in MACHINES if hw.name == "one_queue")
    text = PRODUCT.replace("13", "4").replace("21", "4").replace("19", "4")
    found = isamap.map(parse_semantics(text, "once"), hw, verify="full")
    assert isinstance(found, isamap.Result) and found.timing is not None
    assert found.schedule.estimate.cycles == pytest.approx(found.timing.cycles, rel=0.1)
