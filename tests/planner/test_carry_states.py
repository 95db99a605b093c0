"""The state of time steps stays on chip where the accelerator writes and reads it.

In: recurrent layers on machines that wait. Out: failures. Not its job: the rewrite (`test_carry`),
homes of other temporaries (`test_keep_on_chip`).
"""

import pytest

from isamap.emulator import time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel, parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.program import Program
from isamap.resources import find_hardware, find_kernel
from isamap.rewrites import carry, split_range, strip_nest
from isamap.verify import verify_full
from tests.planner.homes import search
from tests.planner.test_random_plans import assert_emulators_agree

TRAINIUM = load_hardware(find_hardware("trainium"))
WISHES = Wishes(may_reassociate=True, time_limit_s=100.0)

# `h[t + 1]` is computed by three instructions of Trainium, and read by two
STEPS = """
x, U, h = In(f32, {t}, {z}, {n}), In(bf16, {n}, {n}), InOut(bf16, {t} + 1, {z}, {n})
R, S = Temp(f32, {z}, {n}), Temp(f32, {z}, {n})
for t in range({t}):
  for z, j in grid({z}, {n}):
    R[z, j] = x[t, z, j]
  for z, j, p in grid({z}, {n}, {n}):
    R[z, j] += f32(h[t, z, p]) * f32(U[p, j])
  for z, j in grid({z}, {n}):
    S[z, j] = R[z, j] * f32(h[t, z, j])
  for z, j in grid({z}, {n}):
    h[t + 1, z, j] = bf16(R[z, j] + S[z, j])
"""


def layer(steps: int, batch: int, size: int, source: str = STEPS) -> Kernel:
    text = source.replace("{t} + 1", str(steps + 1)).format(t=steps, z=batch, n=size)
    return parse_semantics(text, "layer")


def placed(kernel: Kernel, hw: Hardware) -> Program:
    """The layer with its state and all temporaries on chip, whether that pays or not."""
    tried = search(carry(kernel, "h", "t"), hw, WISHES.time_limit_s)
    homes = tried.trials()[0][0]
    found = tried.schedule(homes)
    assert found is not None, "every task has a covering that finds its buffers on chip"
    users = [task for task in found.tasks if "h_state" in task.task.touched]
    assert len(users) == 5 and all("h_state" in task.piece.homes for task in users)
    return found.program


@pytest.mark.parametrize("sizes", [(3, 2, 7), (4, 1, 131), (2, 515, 3)], ids=str)
def test_states_on_chip_hold_the_right_numbers(sizes: tuple[int, int, int]) -> None:
    """A call of the matrix unit takes 128 x 128 weights and 512 columns of the state."""
    kernel = layer(*sizes)
    program = placed(kernel, TRAINIUM)
    assert verify_full(program, kernel, TRAINIUM).is_verified
    assert_emulators_agree(program, kernel, "trainium")


@pytest.mark.parametrize(
    ("sizes", "strip", "cut"),
    [((3, 2, 12), 4, 3), ((2, 1, 512), 256, 128)],
    ids=str,
)
def test_strips_and_parts_of_them_find_their_places_on_chip(
    sizes: tuple[int, int, int], strip: int, cut: int
) -> None:
    kernel = layer(*sizes, STEPS.replace("R[z, j] + S[z, j]", "S[z, j] + S[z, j]"))
    form = strip_nest(carry(kernel, "h", "t"), "t", 2, "j_2", strip)
    form = split_range(split_range(form, 2, "j_2", cut), 1, "j", cut)
    assert form.buffer("R").shape[1] == strip and form.buffer("S").shape[1] == sizes[2]
    tried = search(form, TRAINIUM, WISHES.time_limit_s)
    found = tried.schedule(tried.trials()[0][0])
    assert found is not None, "every task has a covering that finds its buffers on chip"
    homes = {name for task in found.tasks for name in task.piece.homes}
    assert homes == {"h_state", "R", "S"}
    assert verify_full(found.program, kernel, TRAINIUM).is_verified
    assert_emulators_agree(found.program, kernel, "trainium")


def test_a_state_that_the_accelerator_writes_and_reads_is_kept() -> None:
    kernel = layer(9, 3, 140)
    plan = find_plan(kernel, TRAINIUM, WISHES)
    assert [step.rewrite for step in plan.steps] == ["carry"]
    users = [p for p in plan.tasks if "h_state" in p.task.touched]
    assert all(task.piece.homes["h_state"].home == "sbuf" for task in users)
    assert verify_full(plan.program, kernel, TRAINIUM).is_verified
    assert plan.bound_cycles <= time_program(plan.program, TRAINIUM).cycles


def test_a_state_that_the_host_writes_stays_outside() -> None:
    kernel = load_kernel(
        find_kernel("gru")[0], {"steps": 3, "batch": 1, "hidden": 17}, "gru_skip_i8"
    )
    plan = find_plan(kernel, load_hardware(find_hardware("tpu_v1")), Wishes())
    assert "carry" not in [step.rewrite for step in plan.steps]
