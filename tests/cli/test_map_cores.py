"""`isamap map` on a machine with several cores.

In: the command. Out: verdicts. Not its job: whether the split is the best.
"""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from isamap.cli import main

SIZES = ["--size", "m=130", "--size", "n=170", "--size", "k=70"]


def run_map(*arguments: str) -> Result:
    """`isamap map ...`."""
    return CliRunner().invoke(main, ["map", *arguments])


def test_the_split_over_cores_and_each_cores_share_of_the_time_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    done = run_map("gemm", "--hw", "mesh", *SIZES, "--json", str(file))
    assert done.exit_code == 0, done.output
    assert "verified (quick): the same structure on" in done.output
    lines = done.output.splitlines()
    cores = next(number for number, line in enumerate(lines) if line.startswith("cores "))
    assert " of 4 (2 row x 2 column)" in lines[cores]
    assert " along " in lines[cores + 1]
    assert "share" in lines[cores + 1]
    assert any(line.strip().startswith("cores  matrix ") for line in lines)
    found = json.loads(file.read_text())
    assert found["mapping"]["cores"]
    for share in found["mapping"]["cores"]:
        assert share["loop"] in ("i", "j")
        assert share["axis"] in ("row", "column")
    matrix = found["emulated"]["units"]["matrix"]
    assert len(matrix["core_cycles"]) == 4
    assert sum(matrix["core_cycles"]) == matrix["busy_cycles"]
    loops = {loop["name"]: loop["executed"] for loop in found["mapping"]["loops"]}
    assert loops == {"i": 130, "j": 170, "p": 70}


def test_a_kernel_of_one_unit_stays_on_one_core_and_says_why() -> None:
    done = run_map("gemm", "--hw", "mesh", "--size", "m=1", "--size", "n=1", "--size", "k=200")
    assert "1 of 4 (2 row x 2 column): no loop of several units moves the output" in done.output


def test_a_machine_without_cores_says_nothing_of_them() -> None:
    done = run_map("gemm", "--hw", "gemmini", *SIZES)
    assert not any(line.startswith("cores") for line in done.output.splitlines())
