"""What `find_schedule` promises: never nothing, a true bound, the same answer twice, clear reasons.

In: small kernels on the shipped machines. Out: failures. Not its job: tilings of one covering.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from isamap.costmodels import Formula
from isamap.errors import MappingError, TooSlowError
from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, load_kernel, parse_semantics
from isamap.resources import find_hardware
from isamap.scheduler import Answer, Status, Wishes, find_schedule, is_legal
from tests.scheduler.cases import MACHINES, kernel, machine
from tests.scheduler.execution import assert_computes

GEMM = ("gemm", "gemm", (("m", 70), ("n", 50), ("k", 90)))
KERNEL_HEAD = "from isamap.lang import *\n\n\n@kernel\n"


def facts(answer: Answer) -> tuple[object, ...]:
    """Everything but the time it took."""
    best = answer.best
    return (
        best.covering,
        best.tiling,
        best.program,
        best.cost_cycles,
        answer.status,
        answer.bound_cycles,
        answer.num_coverings,
        tuple((a.covering, a.cycles, a.bound_cycles) for a in answer.alternatives),
    )


def written(text: str, folder: Path) -> Kernel:
    """A kernel from source text."""
    file = folder / "subject.py"
    file.write_text(KERNEL_HEAD + text)
    return load_kernel(file, {}, "subject")


@pytest.mark.parametrize("hw_name", MACHINES)
def test_no_time_gives_a_legal_answer(hw_name: str) -> None:
    subject = kernel("gemm", "gemm", (("m", 30), ("n", 50), ("k", 40)))
    hw = machine(hw_name)
    answer = find_schedule(subject, hw, Wishes(time_limit_s=1e-6))
    best = answer.best
    assert is_legal(best.covering, best.tiling, hw)
    assert answer.bound_cycles <= best.solution.cycles
    if answer.status is Status.OPTIMAL:
        assert answer.bound_cycles == best.solution.cycles
    assert_computes(subject, best.program, hw, hw_name)


def test_a_struck_limit_is_not_called_optimal() -> None:
    subject = kernel("conv2d", "conv2d", (("h", 56), ("w", 56), ("c", 64), ("k", 64)))
    answer = find_schedule(subject, machine("gemmini"), Wishes(time_limit_s=1e-6))
    assert answer.status is Status.FEASIBLE
    assert not answer.is_complete
    assert answer.bound_cycles < answer.best.solution.cycles


@pytest.mark.parametrize("hw_name", MACHINES)
def test_packed_layouts_are_never_slower(hw_name: str) -> None:
    subject, hw = kernel(*GEMM), machine(hw_name)
    natural = find_schedule(subject, hw, Wishes(time_limit_s=20))
    packed = find_schedule(subject, hw, Wishes(layouts="packed", time_limit_s=20))
    assert packed.best.estimate.cycles <= natural.best.estimate.cycles
    if natural.fastest is not None:
        assert natural.fastest.estimate.cycles < natural.best.estimate.cycles


@pytest.mark.parametrize("hw_name", MACHINES)
def test_the_same_input_gives_the_same_answer(hw_name: str) -> None:
    subject, hw = kernel(*GEMM), machine(hw_name)
    first, second = (find_schedule(subject, hw, Wishes(time_limit_s=60)) for _ in range(2))
    assert first.status is Status.OPTIMAL
    assert facts(first) == facts(second)


FLOAT_GEMM = (
    "def subject(m=8, n=9, k=7):\n"
    "    A, B, C = In(f32, m, k), In(f32, k, n), InOut(f32, m, n)\n"
    "    for i, j, p in grid(m, n, k):\n"
    "        C[i, j] += A[i, p] * B[p, j]\n"
)


def test_nothing_matches_names_the_nearest_miss(tmp_path: Path) -> None:
    subject = written(FLOAT_GEMM, tmp_path)
    with pytest.raises(MappingError) as caught:
        find_schedule(subject, machine("vta"), Wishes(may_reassociate=True))
    lines = caught.value.message.split("\n")
    assert lines[0] == "no instruction of vta computes"
    misses = [line.strip() for line in lines if line.startswith("  ") and ": " in line]
    assert misses[0] == "nothing on vta performs: '+' of f32, '*' of f32"
    assert misses[1] == "gemm: operand C is i32, C is f32"


def test_several_statements(tmp_path: Path) -> None:
    subject = written(
        "def subject(n=4):\n"
        "    A, B = In(i32, n), Out(i32, n)\n"
        "    for i in range(n):\n"
        "        B[i] = 0\n"
        "        B[i] += A[i]\n",
        tmp_path,
    )
    with pytest.raises(MappingError) as caught:
        find_schedule(subject, machine("gemmini"))
    error = caught.value
    assert error.message == "kernel subject has 2 statements; one can be mapped so far"
    assert error.loc is not None and error.loc.line == 9
    assert error.hint == "map one statement at a time"


def test_a_dependence_along_a_loop(tmp_path: Path) -> None:
    subject = written(
        "def subject(n=5):\n"
        "    A, H = In(i32, n), InOut(i32, n)\n"
        "    for t in range(n - 1):\n"
        "        H[t + 1] = H[t] + A[t]\n",
        tmp_path,
    )
    with pytest.raises(MappingError) as caught:
        find_schedule(subject, machine("vta"))
    error = caught.value
    assert error.message.startswith("loop t carries a dependence:\n")
    assert "H[t + 1] = H[t] + A[t]" in error.message
    assert error.loc is not None and error.loc.line == 8
    assert "any order" in error.hint


def test_floating_point_sums_are_reordered_only_where_allowed(tmp_path: Path) -> None:
    subject = written(FLOAT_GEMM, tmp_path)
    with pytest.raises(MappingError) as caught:
        find_schedule(subject, machine("outer"))
    assert caught.value.message.startswith("tiling would reorder a floating-point sum:\n")
    assert caught.value.hint == "allow it with --allow reassociate"
    assert caught.value.reason.endswith("--allow reassociate")
    with pytest.raises(MappingError, match="no instruction of vecdot computes"):
        find_schedule(subject, machine("vecdot"))  # it has none of floats: order is not to blame
    answer = find_schedule(subject, machine("outer"), Wishes(may_reassociate=True))
    assert answer.best.covering.instruction == "fmopa"


def test_no_less_natural_schedule_stands_in_for_one_that_is_not_fast_enough() -> None:
    """With U laid out anew the product takes less, but a core with caches takes it as it lies."""
    hw = load_hardware(find_hardware("x86_avx512"))
    text = """
h, U, R = In(f32, 4, 600), In(f32, 600, 600), InOut(f32, 4, 600)
for z, j, p in grid(4, 600, 600):
  R[z, j] += h[z, p] * U[j, p]
"""
    rows, wishes = parse_semantics(text, "rows"), Wishes(may_reassociate=True)
    best = find_schedule(rows, hw, wishes).best
    packed = find_schedule(rows, hw, replace(wishes, layouts="packed")).best
    assert packed.cost < best.cost
    with pytest.raises(TooSlowError):
        find_schedule(rows, hw, wishes, most=best.cost)


@pytest.mark.parametrize("hw_name", ["x86_avx2", "gemmini"])
def test_what_costs_nothing_is_chosen_as_well(hw_name: str) -> None:
    """A cost model may say 0 of all: the most natural schedule is none the worse for it."""
    hw = load_hardware(find_hardware(hw_name))
    subject = kernel("gemm", "gemm_f32" if hw.caches else "gemm", (("m", 9), ("n", 16), ("k", 5)))
    free = Formula("free", lambda *_: 0)
    answer = find_schedule(subject, hw, Wishes(cost=free, may_reassociate=True))
    assert answer.best.cost == 0
    assert answer.best.is_natural
