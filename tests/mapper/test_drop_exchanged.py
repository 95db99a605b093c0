"""Coverings with operands exchanged: one of each is looked at, and nothing is lost by that.

In: sums of products, products on processors. Out: failures. Not its job: how a covering is solved.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import permutations
from pathlib import Path

import pytest

from isamap.costmodels import FASTEST, count_work, estimate
from isamap.emulator import time_program
from isamap.files.describe import number_of, task_coverings
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import Covering, OperandPlan, coverings, cut_tasks, drop_exchanged, flatten
from isamap.scheduler import find_schedule, lower, solve
from isamap.scheduler.descend import descend
from tests.scheduler.cases import kernel, machine

MACHINE = """name: sums
clock: 1 GHz
synchronisation: interlocked
memories:
  dram: {kind: external, size: 1 MiB, source: estimate}
  sp: {kind: managed, size: 4 KiB, granule: 16 bytes, source: estimate}
  acc: {kind: managed, size: 1 KiB, granule: 16 bytes, source: estimate}
"""
SIDE = "  side: {kind: managed, size: 1 KiB, granule: 16 bytes, source: estimate}\n"
SUM = """      A, B, C, E, D = In(i32, 4), In(i32, 4), In(i32, 4), In(i32, 4), Out(i32, 4)
      for i in range(4):
        D[i] = A[i] * B[i] + C[i] * E[i]
"""
SCALED = """      A, B, C, E, D = In(i32, 4), In(i32, 1), In(i32, 4), In(i32, 1), Out(i32, 4)
      for i in range(4):
        D[i] = A[i] * B[0] + C[i] * E[0]
"""
ALIKE = "A: sp, B: sp, C: sp, E: sp"
CORES = "cores: {grid: {x: 2, y: 2}, memories: [sp, acc], units: [vec], source: estimate}\n"
KERNELS = """from isamap.lang import In, Out, grid, i32, kernel


@kernel
def rank2(n=7, m=9):
    a, b, c, e, D = In(i32, n), In(i32, m), In(i32, n), In(i32, m), Out(i32, n, m)
    for i, j in grid(n, m):
        D[i, j] = a[i] * b[j] + c[i] * e[j]


@kernel
def less(n=7, m=9):
    a, b, c, e, D = In(i32, n), In(i32, m), In(i32, n), In(i32, m), Out(i32, n, m)
    for i, j in grid(n, m):
        D[i, j] = a[i] * b[j] - c[i] * e[j]


@kernel
def cubes(n=5, m=6, o=7):
    a, b, c, e = In(i32, n, m), In(i32, o, m), In(i32, n, o), In(i32, m)
    D = Out(i32, n, m, o)
    for i, j, q in grid(n, m, o):
        D[i, j, q] = a[i, j] * b[q, j] + c[i, q] * e[j]
"""


def copy_text(name: str, source: str, target: str) -> str:
    """A copy of up to 4 rows of 4 numbers, from anywhere in the external memory, or to there."""
    far, near = ("free, free", "16 bytes, 4 bytes")
    if target == "dram":
        far, near = near, "{nonzero: true}, {nonzero: true}"
    rows = (("S", source, far), ("D", target, near))
    sides = [f"{side}: {{memory: {memory}, strides: [{apart}]}}" for side, memory, apart in rows]
    return (
        f"  {name}:\n    semantics: |\n      S, D = In(i32, 4, 4), Out(i32, 4, 4)\n"
        "      for r, c in grid(4, 4):\n        D[r, c] = S[r, c]\n"
        f"    extents: {{r: at_most, c: at_most}}\n    operands: {{{', '.join(sides)}}}\n"
        "    unit: dma\n    issue: 10 + r * ceil(c / 2) cycles\n"
        "    latency: 40 + r * ceil(c / 2) cycles\n    source: estimate\n"
    )


def sums(folder: Path, semantics: str = SUM, operands: str = ALIKE, end: str = "") -> Hardware:
    """A machine that adds two products of vectors of 4."""
    has_side = "side" in operands
    text = f"{MACHINE}{SIDE if has_side else ''}units: {{dma: {{}}, vec: {{}}}}\ninstructions:\n"
    text += copy_text("load", "dram", "sp") + copy_text("store", "acc", "dram")
    text += copy_text("load_side", "dram", "side") if has_side else ""
    text += (
        f"  addmul:\n    semantics: |\n{semantics}"
        f"    extents: {{i: at_most}}\n    operands: {{{operands}, D: acc}}\n    unit: vec\n"
        "    issue: 2 cycles\n    latency: 5 cycles\n    source: estimate\n"
    )
    file = folder / "sums.yaml"
    file.write_text(text + end)
    return load_hardware(file)


def sum_kernel(folder: Path, name: str = "rank2") -> Kernel:
    """One of the kernels above."""
    file = folder / "kernels.py"
    file.write_text(KERNELS)
    return load_kernel(file, {}, name)


@lru_cache(10_000)
def unnamed(covering: Covering) -> tuple[OperandPlan, ...]:
    """The plans of its operands without their names."""
    return tuple(replace(plan, name="") for plan in covering.operands)


def ways_to_exchange(covering: Covering, other: Covering) -> Iterator[dict[str, str]]:
    """The operands of `other` whose plans those of `covering` are, but for names."""
    rest = (covering.instruction, covering.binding, covering.loops)
    if rest != (other.instruction, other.binding, other.loops):
        return
    own, theirs = unnamed(covering), unnamed(other)
    for order in permutations(range(len(theirs))):
        if all(plan == theirs[n] for plan, n in zip(own, order, strict=True)):
            plans = (other.operands[n] for n in order)
            yield {a.name: b.name for a, b in zip(covering.operands, plans, strict=True)}


def test_factors_and_products_change_places_in_eight_ways(tmp_path: Path) -> None:
    """None of what is dropped costs more or less than the one that is kept, nor takes longer."""
    hw, subject = sums(tmp_path), sum_kernel(tmp_path)
    found = list(coverings(subject, hw, []))
    kept = list(drop_exchanged(iter(found), hw))
    assert len(found) == 8 * len(kept)
    assert [c for c in found if c in kept] == kept
    # else look-ups of what is remembered of each would compare hundreds all over
    assert len(set(map(hash, found))) == len(found)
    for first in kept[::20]:
        work = count_work(first, hw)
        best = solve(first, work, hw, time_limit_s=60).tiling
        assert best is not None
        program = lower(first, best, hw)
        alike = [(other, way) for other in found for way in ways_to_exchange(first, other)]
        assert len(alike) == 8
        for other, names in alike:
            stays = tuple(replace(stay, operand=names[stay.operand]) for stay in best.stays)
            tiling = replace(best, stays=stays)
            costs = estimate(other, count_work(other, hw), tiling, hw).costs(hw)
            assert costs == estimate(first, work, best, hw).costs(hw)
            theirs = lower(other, tiling, hw)
            assert program is not None and theirs is not None
            assert time_program(theirs, hw).cycles == time_program(program, hw).cycles


@pytest.mark.parametrize(
    ("semantics", "operands", "name", "ways"),
    [
        (SUM, "A: sp, B: side, C: sp, E: sp", "rank2", 2),  # C and E alone
        (SUM, "A: sp, B: {memory: sp, align: 32 bytes}, C: sp, E: sp", "rank2", 2),
        (SUM.replace("+", "-"), ALIKE, "less", 4),  # the products stay where they are
        (SCALED, ALIKE, "rank2", 2),  # the products, vectors with vectors
        (SCALED, "A: sp, B: side, C: sp, E: sp", "rank2", 1),
    ],
)
def test_operands_of_other_roles_stay_where_they_are(
    semantics: str, operands: str, name: str, ways: int, tmp_path: Path
) -> None:
    """What is dropped is one that is kept, under other names of operands that lie alike."""
    hw, subject = sums(tmp_path, semantics, operands), sum_kernel(tmp_path, name)
    found = [c for c in coverings(subject, hw, []) if dict(c.binding)["i"]]
    kept = list(drop_exchanged(iter(found), hw))
    assert found and len(found) == ways * len(kept)
    rules = {rule.name: replace(rule, name="") for rule in hw.instruction("addmul").operands}
    for other in found[::5]:
        names = [way for first in kept for way in ways_to_exchange(first, other)]
        assert any(all(rules[a] == rules[b] for a, b in way.items()) for way in names)


def test_more_cores_are_no_worse_than_one(tmp_path: Path) -> None:
    """Though there are more coverings than are looked at, if each is counted eight times."""
    subject = sum_kernel(tmp_path)
    alone = find_schedule(subject, sums(tmp_path))
    together = find_schedule(subject, sums(tmp_path, end=CORES))
    assert alone.is_complete and together.is_complete
    assert together.best.cost <= alone.best.cost
    assert together.num_coverings < 400


def test_any_covering_can_be_named_in_a_file(tmp_path: Path) -> None:
    """Of as many as there are, also with operands exchanged."""
    hw = sums(tmp_path)
    (task,) = flatten(cut_tasks(sum_kernel(tmp_path, "cubes")))
    *_, last = task_coverings(task, hw, {}, False)
    assert number_of(last, task, hw, {}, False) == 0
    kept = list(drop_exchanged(task_coverings(task, hw, {}, False), hw))
    assert last not in kept


def test_factors_that_change_places_are_one_covering_on_a_processor() -> None:
    """Kept coverings take with the same tiling, but for names, what the dropped ones do."""
    hw = machine("x86_golden_cove")
    product = kernel("gemm", "gemm_f32", (("m", 31), ("n", 70), ("k", 300)))
    found = list(coverings(product, hw, [], may_reassociate=True))
    kept = list(drop_exchanged(iter(found), hw))
    dropped = [covering for covering in found if covering not in kept]
    assert dropped
    for other in dropped:
        first, names = next((c, way) for c in kept for way in ways_to_exchange(c, other))
        best = descend(first, count_work(first, hw), hw, FASTEST)
        assert best is not None
        stays = tuple(replace(stay, operand=names[stay.operand]) for stay in best.stays)
        theirs = estimate(other, count_work(other, hw), replace(best, stays=stays), hw)
        assert theirs.cycles == estimate(first, count_work(first, hw), best, hw).cycles
