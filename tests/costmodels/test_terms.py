"""Terms of schedules: nothing of a kernel's own names is in them, and equal schedules have equal
ones.

In: a small kernel under two spellings. Out: verdicts. Not its job: what terms are worth.
"""

from dataclasses import replace
from pathlib import Path

import isamap
from isamap.costmodels import Candidate, find_terms
from isamap.ir import Kernel, load_kernels
from isamap.scheduler import Wishes, find_schedule

HW = isamap.load_hardware(Path(__file__).parent.parent / "codegen" / "vec4.yaml")
TEXT = """
from isamap.lang import In, InOut, f32, grid, kernel


@kernel
def {name}(m=5, n=13, k=7):
    {a}, {b}, {c} = In(f32, m, k), In(f32, k, n), InOut(f32, m, n)
    for {i}, {j}, {p} in grid(m, n, k):
        {c}[{i}, {j}] += {a}[{i}, {p}] * {b}[{p}, {j}]
"""
ONE = {"name": "one", "a": "A", "b": "B", "c": "C", "i": "i", "j": "j", "p": "p"}
OTHER = {"name": "other", "a": "X", "b": "Y", "c": "Z", "i": "r", "j": "s", "p": "t"}


def spelled(folder: Path, names: dict[str, str]) -> Kernel:
    path = folder / f"{names['name']}.py"
    path.write_text(TEXT.format(**names))
    return load_kernels(path)[names["name"]].build({})


def solved(kernel: Kernel) -> Candidate:
    best = find_schedule(kernel, HW, Wishes(may_reassociate=True, time_limit_s=60)).best
    return Candidate(best.covering, best.work, best.tiling, best.program)


def test_a_kernel_with_other_names_has_the_same_terms(tmp_path: Path) -> None:
    one, other = (find_terms(solved(spelled(tmp_path, names)), HW) for names in (ONE, OTHER))
    assert one == other
    assert len(one) > 10 and all(one.values())
    assert list(one) == sorted(one)


def test_a_tile_of_another_size_has_other_terms_for_its_loop_alone(tmp_path: Path) -> None:
    candidate = solved(spelled(tmp_path, ONE))
    tiles = tuple((name, 1) for name, _ in candidate.tiling.tiles)
    single = find_terms(replace(candidate, tiling=replace(candidate.tiling, tiles=tiles)), HW)
    assert not any(name.startswith(("tile A", "tile B", "innermost units")) for name in single)
    moved = {" ".join(p.name for p in candidate.covering.operands if loop.name in p.loops)
             for loop in candidate.covering.loops if loop.units > 1}  # fmt: skip
    assert {name.removeprefix("trips ") for name in single if name.startswith("trips ")} == moved
