"""Places whose copies ask for more alignment than what reads them.

In: a machine whose loads of rows ask for more than its product. Out: failures. Not its job: copies
themselves, programs (`test_unheard_of_machines`).
"""

from pathlib import Path

from isamap.hwdesc import load_hardware
from isamap.ir import parse_semantics
from isamap.mapper import coverings
from tests.scheduler.cases import ROOT

FILE = ROOT / "tests" / "specs" / "machines" / "wide_loads.yaml"
SINGLE = """  ld1:
    semantics: |
      S, D = In(i32), Out(i32)
      D[()] = S[()]
    operands: {S: {memory: dram}, D: {memory: rf, align: 4 bytes}}
    unit: ls
    issue: CYCLES cycles
    source: "invented"
"""
KERNEL = parse_semantics(
    "A, B, C = In(i32, 5, 7), In(i32, 7, 6), InOut(i32, 5, 6)\nfor i, j, p in grid(5, 6, 7):\n"
    "  C[i, j] += A[i, p] * B[p, j]\n",
    "product",
)


def numbers(path: Path, single: str) -> set[tuple[str, int]]:
    """How the factor that is a single number comes, and how far apart its places lie."""
    path.write_text(FILE.read_text().replace("  mac:\n", f"{single}  mac:\n"))
    found = set()
    for covering in coverings(KERNEL, load_hardware(path), []):
        residence = covering.operand("A").residences[0]
        assert residence.fill is not None
        found.add((residence.fill.instruction, residence.align_bytes))
    return found


def test_places_lie_wider_apart_where_that_is_the_only_way_or_a_faster_one(tmp_path: Path) -> None:
    file = tmp_path / "loads.yaml"
    assert numbers(file, "") == {("ld", 16)}
    assert numbers(file, SINGLE.replace("CYCLES", "1")) == {("ld1", 4)}
    assert numbers(file, SINGLE.replace("CYCLES", "20")) == {("ld1", 4), ("ld", 16)}
