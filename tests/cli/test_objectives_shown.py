"""--objective and limits on the command line: what is shown, and mistakes.

In: small kernels, options. Out: failures. Not its job: whether the objective is met
(tests/scheduler/test_objectives.py).
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from isamap.cli import main
from isamap.compile import PlanResult, Result, map
from isamap.costmodels import Aim, Metric, pretty_energy

GEMM = ["map", "gemm", "--hw", "gemmini", "--size", "m=40", "--size", "n=30", "--size", "k=70"]
SIZES = {"m": 40, "n": 30, "k": 70}


def answer(*options: str) -> str:
    done = CliRunner().invoke(main, [*GEMM, *options])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_least_energy_is_shown_with_its_proof_and_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    text = answer("--objective", "energy", "--max-cycles", "100000", "--json", str(path))
    data = json.loads(path.read_text(encoding="utf-8"))
    energy = pretty_energy(data["emulated"]["energy_pj"])
    line = next(line for line in text.splitlines() if line.startswith("aim"))
    assert line.split()[:2] == ["aim", "energy"] and energy in line and line.endswith("optimal")
    assert "of at most 100 000 cycles" in text
    assert data["analytical"]["energy_pj"] == pytest.approx(data["emulated"]["energy_pj"])
    assert data["objective_bound"] <= data["objective_value"] == data["analytical"]["energy_pj"]
    assert data["request"]["objective"] == {"energy": 1.0}
    assert data["request"]["limits"] == {"cycles": 100000}


def test_room_that_is_taken_away_is_not_used() -> None:
    result = map("gemm", "gemmini", sizes=SIZES, max_bytes={"scratchpad": 2100})
    assert isinstance(result, Result) and result.verification.is_verified
    whole = map("gemm", "gemmini", sizes=SIZES)
    assert isinstance(whole, Result)
    assert result.schedule.estimate.cycles >= whole.schedule.estimate.cycles
    assert result.hardware.memory("scratchpad").size_bytes == 256 * 1024
    assert "scratchpad" in answer("--max", "scratchpad=2100")


def test_the_front_is_shown_and_written(tmp_path: Path) -> None:
    path = tmp_path / "front.json"
    text = answer("--pareto", "cycles,energy", "--json", str(path))
    data = json.loads(path.read_text(encoding="utf-8"))
    assert text.startswith("gemm on gemmini: front of cycles, energy")
    assert data["is_complete"] and f"{len(data['points'])} point" in text and "complete" in text
    cycles = [point["cycles"] for point in data["points"]]
    energies = [point["energy_pj"] for point in data["points"]]
    assert cycles == sorted(cycles) and energies == sorted(energies, reverse=True)
    assert pretty_energy(energies[-1]) in answer("--objective", "energy")


MISTAKES = (
    (("--pareto", "cycles"), "--pareto 'cycles' needs two or more different", "cycles,energy"),
    (("--pareto", "cycles,enrgy"), "unknown objective 'enrgy'", "did you mean 'energy'?"),
    (("--max-energy", "12"), "--max-energy '12': unknown unit ''", "units are pJ, nJ"),
    (("--max-energy", "much"), "--max-energy 'much' is not a number with a unit", "'12 uJ'"),
    (("--max", "scratchpad"), "--max 'scratchpad' is not MEMORY=SIZE", "--max sram=128KiB"),
    (("--max", "scratchpd=1KiB"), "gemmini has no memory 'scratchpd'", "mean 'scratchpad'?"),
    (("--max", "scratchpad=3"), "3 bytes of 'scratchpad' are less than one", "at least 16 bytes"),
)


@pytest.mark.parametrize(("options", "message", "hint"), MISTAKES)
def test_mistakes_in_objectives_and_limits(
    options: tuple[str, ...], message: str, hint: str
) -> None:
    done = CliRunner().invoke(main, [*GEMM, *options])
    assert done.exit_code == 2
    error, _, help_text = done.stderr.partition("hint: ")
    assert message in error and hint in help_text


def test_limits_that_nothing_keeps_say_what_comes_nearest() -> None:
    done = CliRunner().invoke(main, [*GEMM, "--max-energy", "1 nJ"])
    assert done.exit_code == 3
    error, _, help_text = done.stderr.partition("hint: ")
    assert "no schedule of gemm on gemmini has energy of at most 1 nJ" in error
    assert "µJ" in help_text


def test_the_nearest_value_can_be_kept() -> None:
    done = CliRunner().invoke(main, [*GEMM, "--max-dram-bytes", "1"])
    least = done.stderr.split("the least dram-bytes: ")[1].split(" bytes")[0].replace(" ", "")
    assert f"{int(least):,} bytes".replace(",", " ") in answer("--max-dram-bytes", least)


@pytest.mark.parametrize(
    ("hw", "metric"),
    [("gemmini", Metric.ENERGY), ("vta", Metric.EDP), ("vta", Metric.DRAM_BYTES)],
)
def test_costs_of_a_plan_are_the_emulators(hw: str, metric: Metric) -> None:
    sizes = {"n": 5, "c": 20, "first": 9, "second": 7, "k": 4}
    found = map("mlp", hw, sizes=sizes, aim=Aim.least(metric), effort=0.1)
    assert isinstance(found, PlanResult) and found.verification.is_verified
    assert found.timing is not None
    traffic = next(row for row in found.timing.traffic if row.memory == "dram")
    assert found.plan.costs.energy_pj == pytest.approx(found.timing.energy_pj)
    assert found.plan.costs.dram_bytes == traffic.read_bytes + traffic.written_bytes
    assert found.plan.costs.cycles == found.plan.cycles
