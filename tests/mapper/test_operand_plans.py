"""Operands planned once give the coverings that planning each anew gives.

In: isamap/mapper/operand_plans.py. Out: nothing. Not its job: plans themselves.
"""

import random
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import TiledLoop
from isamap.mapper.blocks import tile_loops
from isamap.mapper.cover import candidates
from isamap.mapper.cover_match import cover_match
from isamap.mapper.match import Match
from isamap.mapper.operand_plans import OperandPlans, operand_key
from isamap.mapper.subject import Source, Subject

ROOT = Path(__file__).parents[2]
CASES = (
    ("gemm.py", {"m": 20, "n": 3, "k": 40}),
    ("conv2d.py", {"n": 2, "h": 9, "w": 7, "c": 3, "k": 20, "stride": 2}),
)
MOST = 40  # candidates, all over the list: neighbours differ in one loop and share most operands


@pytest.mark.parametrize("machine", ["gemmini", "vta", "conv_engine"])
@pytest.mark.parametrize(("file", "sizes"), CASES)
def test_remembered_plans_are_those_found_anew(
    machine: str, file: str, sizes: dict[str, int]
) -> None:
    hw = load_hardware(str(ROOT / "hw_specs" / f"{machine}.yaml"))
    kernel = load_kernel(ROOT / "kernels" / file, sizes)
    shared = OperandPlans()
    found = candidates(kernel, 0, hw, [])
    count = 0
    for candidate in random.Random(file + machine).sample(found, min(len(found), MOST)):
        for loops in tile_loops(kernel, 0, candidate.match):
            known = cover_match(kernel, 0, hw, candidate.match, loops, shared)
            assert known == cover_match(kernel, 0, hw, candidate.match, loops, OperandPlans())
            count += 1
    assert count > 0


def test_what_depends_on_loops_that_do_not_move_the_operand_is_planned_anew() -> None:
    """Whether any loop is held, or runs past its end though it need not."""
    hw = load_hardware(str(ROOT / "hw_specs" / "gemmini.yaml"))
    kernel = load_kernel(ROOT / "kernels" / "gemm.py", {"m": 20, "n": 3, "k": 40}, "gemm")
    match = candidates(kernel, 0, hw, [])[0].match
    (first, *_) = tile_loops(kernel, 0, match)
    plain = subject_of(kernel, hw, match, first)
    still = next(loop.name for loop in first if not plain.access.moves_with(loop.name))
    for change in ({"is_held": True}, {"extent": 64}):
        loops = tuple(replace(x, **change) if x.name == still else x for x in first)
        other = replace(plain, loops=loops)
        assert operand_key(other) != operand_key(plain), change


def subject_of(kernel: Kernel, hw: Hardware, match: Match, loops: tuple[TiledLoop, ...]) -> Subject:
    """The first operand, an input."""
    name, access = match.operands[0]
    buffer = kernel.buffer(access.buffer)
    return Subject(hw, match, loops, name, Source(access, buffer, len(buffer.shape)), None, ())


def test_only_so_many_plans_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["isamap.mapper.operand_plans"], "MOST_KNOWN", 2)
    planned: list[str] = []

    def plan(subject: Subject) -> str:
        planned.append(subject.name)
        return f"no {subject.name}"

    monkeypatch.setattr(sys.modules["isamap.mapper.operand_plans"], "plan_operand", plan)
    hw = load_hardware(str(ROOT / "hw_specs" / "gemmini.yaml"))
    kernel = load_kernel(ROOT / "kernels" / "gemm.py", {"m": 20, "n": 3, "k": 40}, "gemm")
    match = candidates(kernel, 0, hw, [])[0].match
    (loops, *_) = tile_loops(kernel, 0, match)
    one = subject_of(kernel, hw, match, loops)
    known = OperandPlans()
    for value in ((), ("i",), (), ("j",), ()):
        assert known.plan(replace(one, volatile=value)) == f"no {one.name}"
    assert len(planned) == 4, "the third is remembered, the fifth no more"
