"""Which variants are best and on the front, and what machines cost.

In: made-up points. Out: verdicts. Not its job: finding points.
"""

import csv
import json
import random
from dataclasses import replace
from importlib import import_module
from io import StringIO

import pytest

import isamap
from isamap.costmodels import Metric
from isamap.errors import IsamapError
from isamap.resources import bundled
from isamap.sweep import (
    Axis,
    Comparison,
    Outcome,
    Point,
    Standing,
    Workload,
    combine,
    compare,
    cost_of,
    explore,
    machine_numbers,
    rows,
    table_text,
)

MESH = isamap.load_hardware(bundled("hw_specs", ".yaml")["mesh"])
WORK = Workload("gemm", (("m", 4),))
OTHER = Workload("conv2d", (("c", 2),))


def outcome(cycles: int, energy_pj: float = 1.0, **others: object) -> Outcome:
    found = Outcome(Standing.OPTIMAL, "", cycles, cycles, cycles, 0.0, energy_pj, 8, 4,
                    (("scratchpad", 64),), ("mma",), "quick", True)  # fmt: skip
    return replace(found, **others)  # type: ignore[arg-type]


def points(*found: tuple[int, int, float]) -> list[Point]:
    """Cycles, cost (a parameter of the machine) and clock in hertz of each variant."""
    variants = combine(["mesh"], [Axis.of("parameters.dim", range(len(found)))])
    result = []
    for variant, (cycles, cost, clock_hz) in zip(variants, found, strict=True):
        hw = replace(MESH, parameters=(("cost", cost),), clock_hz=clock_hz)
        result.append(Point(variant, WORK, hw, outcome(cycles)))
    return result


def compared(found: list[Point], count: int = 1, metric: Metric = Metric.CYCLES) -> Comparison:
    return compare(found, count, metric, "parameters.cost")


def swept(pairs: list[tuple[float, float]]) -> list[int]:
    """The front by another way: from the best value on, what is cheaper than all before."""
    least, found = float("inf"), []
    for value in sorted({value for value, _ in pairs}):
        cheapest = min(cost for v, cost in pairs if v == value)
        if cheapest < least:
            found += [n for n, pair in enumerate(pairs, 1) if pair == (value, cheapest)]
            least = cheapest
    return sorted(found)


@pytest.mark.parametrize("seed", range(40))
def test_the_front_is_what_sweeping_finds(seed: int) -> None:
    rng = random.Random(seed)
    some = [(rng.randint(1, 9), rng.randint(1, 9), 1e9) for _ in range(rng.randint(1, 30))]
    found = compared(points(*some))
    assert list(found.front) == swept([(cycles, cost) for cycles, cost, _ in some])
    assert found.best in found.front
    best = some[(found.best or 0) - 1]
    assert best[:2] == min(row[:2] for row in some)


def test_cycles_of_different_clocks_are_compared_as_times() -> None:
    found = compared(points((100, 5, 1e9), (150, 5, 2e9)))
    assert found.best == 2 and found.front == (2,)
    assert [total.seconds for total in found.totals] == [1e-7, 7.5e-8]


def test_sums_over_workloads_decide_and_all_of_them_must_run() -> None:
    first, second, third = points((10, 1, 1e9), (20, 1, 1e9), (1, 1, 1e9))
    more = [
        replace(first, workload=OTHER, outcome=outcome(50, 3.0)),
        replace(second, workload=OTHER, outcome=outcome(30, 9.0)),
        replace(third, workload=OTHER, outcome=Outcome(Standing.NO_MAPPING, "nothing")),
    ]
    found = compared([first, second, third, *more], 2)
    assert [total.cycles for total in found.totals] == [60, 50, None]
    assert found.best == 2 and found.front == (2,)
    assert found.total(3).standing is Standing.NO_MAPPING
    assert compared([first, second, third, *more], 2, Metric.ENERGY).best == 1
    assert compared([first, second, *more[:1]], 2).front == (1,), "an unfinished one is left out"


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (Metric.CYCLES, 40 / 1e9),
        (Metric.ENERGY, 7.0),
        (Metric.EDP, 7e-12 * 40 / 1e9),
        (Metric.DRAM_BYTES, 12.0),
    ],
)
def test_every_objective_has_its_sum(metric: Metric, value: float) -> None:
    (point,) = points((40, 1, 1e9))
    found = compared([replace(point, outcome=outcome(40, 7.0))], 1, metric)
    assert found.totals[0].value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("standing", [Standing.WRONG, Standing.REJECTED])
def test_a_wrong_program_is_never_the_best(standing: Standing) -> None:
    first, second = points((1, 1, 1e9), (9, 9, 1e9))
    wrong = replace(first, outcome=replace(first.outcome, standing=standing))
    assert compared([wrong, second]).front == (2,)
    assert compared([wrong]).best is None


def test_a_variant_that_is_no_machine_has_a_row_without_numbers() -> None:
    first, second = points((5, 1, 1e9), (9, 9, 1e9))
    none = replace(second, hardware=None, outcome=Outcome(Standing.NO_MACHINE, "no\nunit"))
    found = compared([first, none])
    table = rows(found)
    assert [row["status"] for row in table] == ["optimal", "no machine"]
    assert table[1]["emulated_cycles"] is None and table[1]["cost"] is None
    assert len({tuple(row) for row in table}) == 1, "the same columns"
    back = list(csv.DictReader(StringIO(table_text(found))))
    assert back[0]["emulated_cycles"] == "5" and back[1]["emulated_cycles"] == ""
    assert back[0]["is_best"] == "true" and back[1]["problem"] == "no\nunit"
    assert back[0]["size.m"] == "4" and back[0]["used_bytes.scratchpad"] == "64"
    assert json.loads(json.dumps(table)) == table


def test_numbers_of_a_machine_count_all_cores() -> None:
    numbers = machine_numbers(MESH)
    assert numbers["cores"] == 4
    scratchpad, accumulator = (numbers[f"memories.{n}.size"] for n in ("scratchpad", "accumulator"))
    assert numbers["managed_bytes"] == 4 * (scratchpad + accumulator)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("parameters.dim * parameters.dim + 0.5", 256.5),
        ("cores * memories.scratchpad.size / 1024", 4 * 64.0),
        ("max(clock, 3) / 1000000000", 1.0),
        ("managed_bytes", None),
    ],
)
def test_a_cost_is_an_expression_over_them(text: str, value: float | None) -> None:
    expected = machine_numbers(MESH)["managed_bytes"] if value is None else value
    assert cost_of(text, MESH) == expected


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("1 + parameters.dmi", 5, "mesh has no number 'parameters.dmi'", "mean 'parameters.dim'?"),
        ("zzz", 1, "mesh has no number 'zzz'", "it has managed_bytes, clock, cores, param"),
        ("memories.scratchpad.size +", 1, "", ""),
        ("cores / (clock - clock)", 1, "", ""),
    ],
)
def test_a_cost_that_cannot_be_read_is_shown(
    text: str, column: int, message: str, hint: str
) -> None:
    with pytest.raises(IsamapError) as caught:
        cost_of(text, MESH)
    error = caught.value
    assert error.loc is not None and error.loc.file == "--cost-of"
    assert error.loc.text == text
    if message:
        assert (error.loc.column, error.message) == (column, message)
        assert hint in error.hint


def test_every_file_is_combined_with_every_value_or_zipped() -> None:
    axes = [Axis.of("a", (1, 2)), Axis.of("b.c", (3, 4))]
    found = [(v.number, v.hardware, *map(str, v.settings)) for v in combine(["x", "y"], axes)]
    assert found[:3] == [
        (1, "x", "a=1", "b.c=3"), (2, "x", "a=1", "b.c=4"), (3, "x", "a=2", "b.c=3"),
    ]  # fmt: skip
    assert len(found) == 8 and found[4][:2] == (5, "y")
    both = [tuple(map(str, v.settings)) for v in combine(["x"], axes, zipped=True)]
    assert both == [("a=1", "b.c=3"), ("a=2", "b.c=4")]
    assert len(combine(["x"], [])) == len(combine(["x"], [], zipped=True)) == 1
    with pytest.raises(IsamapError, match="equally many: a 2, b 1") as caught:
        combine(["x"], [axes[0], Axis.of("b", (1,))], zipped=True)
    assert caught.value.hint == "without --zip every combination is taken"


@pytest.mark.parametrize("settings", [{}, {"parameters.no_such": [1]}], ids=["machine", "none"])
def test_what_a_machine_costs_is_read_before_anything_is_swept(
    settings: dict[str, list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the first variant is no machine, of which nothing is known."""

    def visit(*_: object, **__: object) -> list[Point]:
        raise LookupError("swept")

    monkeypatch.setattr(import_module("isamap.sweep.explore"), "visit", visit)
    expected = LookupError if settings else IsamapError
    with pytest.raises(expected, match="swept" if settings else "vecdot has no number 'clok'"):
        explore("gemm", "vecdot", settings, cost_of="clok")
