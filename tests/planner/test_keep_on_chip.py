"""Temporaries that stay on chip between tasks: fewer cycles, no traffic, the right numbers.

In: small kernels on an invented machine whose vector unit works on what its matrix unit leaves.
Out: failures. Not its job: what tasks keep over time steps (`test_handed_on`).
"""

import random

import pytest

from isamap.emulator import time_program
from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, parse_semantics
from isamap.planner import Plan, Wishes, find_best_plan, find_plan, handovers
from isamap.resources import find_hardware
from isamap.verify import verify_full
from tests.planner.homes import count_right_homes
from tests.planner.test_random_plans import assert_emulators_agree
from tests.scheduler.cases import machine

# two layers: `H` is what the first one leaves in the scratchpad, where the second one reads
LAYERS = """
A, B, C, b = In(i8, {m}, {k}), In(i8, {k}, {n}), In(i8, {n}, {o}), In(i32, {n})
T, H, D = Temp(i32, {m}, {n}), Temp(i8, {m}, {n}), Out(i32, {m}, {o})
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j in grid({m}, {n}):
  H[i, j] = sat_i8(rshift_round(relu(T[i, j] + b[j]), 7))
for i, j, p in grid({m}, {o}, {n}):
  D[i, j] += i32(H[i, p]) * i32(C[p, j])
"""
SUMS = """
A, B, D, T = In(i32, {m}, {n}), In(i32, {m}, {n}), Out(i32, {m}, {n}), Temp(i32, {m}, {n})
for i, j in grid({m}, {n}):
  T[i, j] = A[i, j] + B[i, j]
for i, j in grid({m}, {n}):
  D[i, j] = T[i, j] + A[i, j]
"""
STEPS = """
A, B, T, D = In(i32, {o}, {m}, {n}), In(i32, {m}, {n}), Temp(i32, {m}, {n}), Out(i32, {o}, {m}, {n})
for t in range({o}):
  for i, j in grid({m}, {n}):
    T[i, j] = A[t, i, j] + B[i, j]
  for i, j in grid({m}, {n}):
    D[t, i, j] = T[i, j] + A[t, i, j]
"""
SIZES = ((1, 1, 1, 1), (7, 5, 3, 2), (33, 20, 37, 3))
CASES = {"layers": (LAYERS, "H"), "sums": (SUMS, "T"), "steps": (STEPS, "T")}


def subject(text: str, m: int, k: int, n: int, o: int) -> Kernel:
    return parse_semantics(text.format(m=m, k=k, n=n, o=o), "kept")


def homes_of(plan: Plan) -> dict[str, str]:
    return {
        name: end.home
        for task in plan.tasks
        for operand in task.piece.plans
        for _, name, end in operand.ends
        if end.home is not None
    }


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("text", "kept"), CASES.values(), ids=CASES.keys())
def test_kept_temporaries_hold_the_right_numbers(
    text: str, kept: str, sizes: tuple[int, int, int, int]
) -> None:
    kernel, hw = subject(text, *sizes), machine("fused_npu")
    plan = find_plan(kernel, hw, Wishes())
    assert homes_of(plan).keys() == {kept}
    assert verify_full(plan.program, kernel, hw).is_verified
    assert_emulators_agree(plan.program, kernel, "fused_npu")
    timing = time_program(plan.program, hw)
    assert plan.bound_cycles <= timing.cycles
    (row,) = (row for row in handovers(plan) if row.buffer == kept)
    assert row.home == homes_of(plan)[kept]
    assert kept not in {p.buffer for p in (*plan.program.inputs, *plan.program.scratch)}


FORMS = (
    ("i32", "T{new}[i, j] = T{x}[i, j] + T{y}[i, j]", ("i32", "i32")),
    ("i32", "T{new}[i, j] = relu(T{x}[i, j] * s[j] + s[j])", ("i32",)),
    ("i8", "T{new}[i, j] = sat_i8(T{x}[i, j])", ("i32",)),
    ("i8", "T{new}[i, j] = sat_i8(rshift_round(relu(T{x}[i, j] + s[j]), 3))", ("i32",)),
)


def chain_kernel(rng: random.Random) -> Kernel:
    """Statements on square temporaries, each from one or two before; perhaps in time steps."""
    n, steps = rng.choice((1, 3, 16, 19)), rng.choice((0, 0, 2))
    dtypes, lines = ["i32", "i32"], []
    for _ in range(rng.randint(3, 5)):
        dtype, text, wanted = rng.choice(FORMS)
        names = [rng.choice([m for m, d in enumerate(dtypes) if d == w][-2:]) for w in wanted]
        lines.append(text.format(new=len(dtypes), x=names[0], y=names[-1]))
        dtypes.append(dtype)
    last = len(dtypes) - 1
    roles = ["In"] * 2 + ["Temp"] * (last - 2) + ["Out"]
    head = [f"T{m} = {roles[m]}({d}, {n}, {n})" for m, d in enumerate(dtypes)]
    nests = [f"for i, j in grid({n}, {n}):\n  {line}" for line in lines]
    if steps:
        nests = [
            f"for t in range({steps}):",
            *("  " + nest.replace("\n", "\n  ") for nest in nests),
        ]
    return parse_semantics("\n".join([f"s = In(i32, {n})", *head, *nests]), "chain")


def test_random_chains_with_any_homes_are_right() -> None:
    hw, count = machine("fused_npu"), 0
    for seed in range(6):
        kernel = chain_kernel(random.Random(f"homes {seed}"))
        count += count_right_homes(kernel, hw, f"homes {seed}")
    assert count > 4, "else nothing is tested"


def test_single_operations_hand_on_what_they_compute_on_chip() -> None:
    """No instruction of the machine computes more than one operation."""
    head = ", ".join([f"{role}(f32, 400, 400)" for role in ("In", "In", "Out")])
    text = f"A, B, D = {head}\nfor i, j in grid(400, 400):\n"
    kernel = parse_semantics(f"{text}  D[i, j] = tanh(sigmoid(A[i, j] + B[i, j]) * A[i, j])", "k")
    hw = load_hardware(find_hardware("trainium"))
    plan = find_best_plan(kernel, hw, Wishes())
    assert [step.rewrite for step in plan.steps] == ["single_operations"]
    assert set(homes_of(plan).values()) == {"sbuf"} and len(homes_of(plan)) == 3
    assert verify_full(plan.program, kernel, hw).is_verified


def test_what_has_no_room_stays_outside() -> None:
    """128 x 128 sums fill the accumulator."""
    plan = find_plan(subject(SUMS, 128, 0, 128, 0), machine("fused_npu"), Wishes())
    assert not homes_of(plan)


def test_elements_read_before_they_are_written_stay_outside() -> None:
    """They are zero there."""
    text = SUMS.replace("i, j in grid({m}, {n}):\n  T", "i, j in grid({m} - 1, {n}):\n  T", 1)
    kernel, hw = subject(text.replace("{m} - 1", "6"), 7, 5, 3, 2), machine("fused_npu")
    plan = find_plan(kernel, hw, Wishes())
    assert not homes_of(plan)
    assert verify_full(plan.program, kernel, hw).is_verified


@pytest.mark.parametrize(
    ("m", "n", "role", "first", "last"),
    [
        (4, 16, "Temp", "T[i, j] += X[i, j]", "D[i, j] = relu(T[i, j] * b[j] + b[j])"),  # on chip
        (4, 1, "Out", "T[i, j] = X[i, j] + b[j]", "D[i, j] += T[i, j]"),  # outside
    ],
    ids=["on chip", "outside"],
)
def test_sums_that_are_fetched_are_zeros_before(
    m: int, n: int, role: str, first: str, last: str
) -> None:
    """What reads one array and writes another adds to zeros that nothing clears: they are there
    before the run, and no home on chip is filled then."""
    text = (
        f"X, b, T = In(i32, {m}, {n}), In(i32, {n}), {role}(i32, {m}, {n})\n"
        f"D = Out(i32, {m}, {n})\n"
        f"for i, j in grid({m}, {n}):\n  {first}\nfor i, j in grid({m}, {n}):\n  {last}\n"
    )
    kernel, hw = parse_semantics(text, "sums"), machine("fused_npu")
    assert verify_full(find_plan(kernel, hw, Wishes()).program, kernel, hw).is_verified
