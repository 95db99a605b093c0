"""Cut-down plans keep classes of loops together and the structure of every task.

In: plans of bundled kernels. Out: verdicts. Not its job: whole programs (`test_plans_oracle`).
"""

from dataclasses import replace

import pytest

import isamap
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel, num_blocks, parse_semantics
from isamap.ir import verify as verify_kernel
from isamap.planner import Wishes, compose, find_plan
from isamap.program import Program
from isamap.resources import find_hardware, find_kernel
from isamap.rewrites import variants
from isamap.verify import Check, run_plan, shrink_plan, verify_plan
from isamap.verify.loop_classes import Need, shrunk_extents
from isamap.verify.run_full import MAX_BLOCKS


def bundled_kernel(text: str, **sizes: int) -> Kernel:
    """A bundled kernel at these sizes."""
    path, name = find_kernel(text)
    return load_kernel(path, sizes, name)


def machine(name: str) -> Hardware:
    """A bundled machine."""
    return load_hardware(find_hardware(name))


def everywhere(kernel: Kernel, least: int, step: int = 1) -> dict[str, Need]:
    """The same need for all loops."""
    loops = [loop for statement in kernel.statements for loop in statement.loops]
    return {loop.name: Need(min(least, loop.extent), step) for loop in loops}


def test_loops_over_one_dimension_shrink_together() -> None:
    kernel = bundled_kernel("gemm_epilogue", m=50, n=60, k=70)
    extents = shrunk_extents(kernel, {**everywhere(kernel, 3), "j": Need(5, 1)})
    assert extents == {"i": 3, "j": 5, "p": 3, "i_2": 3, "j_2": 5}


def test_rests_are_kept_where_steps_ask_for_it() -> None:
    kernel = bundled_kernel("gemm_epilogue", m=50, n=60, k=70)
    extents = shrunk_extents(kernel, everywhere(kernel, 5, step=16))
    assert extents == {"i": 18, "j": 12, "p": 6, "i_2": 18, "j_2": 12}


def test_windows_keep_their_reach_and_the_dimension_follows() -> None:
    text = (
        "x, y, z = In(i32, 40), Temp(i32, 40), Out(i32, 19)\n"
        "for i in range(40):\n    y[i] = x[i]\n"
        "for p, u in grid(19, 3):\n    z[p] += y[2*p + u]\n"
    )
    kernel = parse_semantics(text, "windows")
    extents = shrunk_extents(kernel, {"i": Need(4, 1), "p": Need(4, 1), "u": Need(1, 1)})
    assert extents == {"i": 10, "p": 4, "u": 3}
    verify_kernel(run_shrink(kernel, extents))


def run_shrink(kernel: Kernel, extents: dict[str, int]) -> Kernel:
    """The kernel at these extents."""
    found = shrink_plan.shrink_kernel(kernel, {n: Need(e, 1) for n, e in extents.items()})
    assert isinstance(found, Kernel), found
    return found


def test_dimensions_that_are_read_at_one_place_stay() -> None:
    kernel = bundled_kernel("gru:gru_i8", steps=6, batch=9)
    extents = shrunk_extents(kernel, everywhere(kernel, 2))
    assert (extents["g"], extents["z"], extents["t"], extents["t_3"]) == (3, 2, 2, 2)


PLANS = [
    ("rnn:rnn_i8", "vta", {"steps": 5, "batch": 20, "inputs": 40, "hidden": 35}),
    ("mlp", "gemmini", {}),
    ("gemm_epilogue", "vta", {"m": 100, "n": 90, "k": 130}),
    ("mlp", "vta", {}),
    ("conv2d_epilogue", "gemmini", {"h": 20, "w": 20}),
    ("softmax", "gemmini", {}),
]


@pytest.mark.parametrize(("name", "hw_name", "sizes"), PLANS)
def test_small_program_has_the_structure_and_is_right(
    name: str, hw_name: str, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, hw = bundled_kernel(name, **sizes), machine(hw_name)
    plan = find_plan(kernel, hw, Wishes(time_limit_s=4))
    monkeypatch.setattr(run_plan, "MAX_ITERATIONS", run_plan.num_iterations(kernel) - 1)
    found = verify_plan(plan, kernel, hw, Check.QUICK)
    assert found.is_verified, found
    assert found.subject == ""
    for loop, extent in found.sizes:
        large = {x.name: x.extent for s in kernel.statements for x in s.loops}[loop]
        assert extent <= large
    assert dict(found.sizes) != {x.name: x.extent for s in kernel.statements for x in s.loops}


def test_a_wrong_lowering_is_caught_on_cut_down_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, hw = bundled_kernel("gemm_epilogue", m=40, n=40, k=40), machine("gemmini")
    plan = find_plan(kernel, hw, Wishes(time_limit_s=4))
    monkeypatch.setattr(run_plan, "MAX_ITERATIONS", run_plan.num_iterations(kernel) - 1)
    assert verify_plan(plan, kernel, hw, Check.QUICK).is_verified

    def forgetful(*arguments: object) -> Program:
        program = compose(*arguments)  # type: ignore[arg-type]
        return replace(program, body=program.body[:-1])

    monkeypatch.setattr(shrink_plan, "compose", forgetful)
    assert verify_plan(plan, kernel, hw, Check.QUICK).is_wrong


def test_loops_that_are_one_in_a_covering_shrink_by_their_longest() -> None:
    """600 rows are one loop of 200 x 3, 528 columns one of 2 x 264."""
    kernel = parse_semantics(
        """
x, w, y = In(f32, 200, 3, 300), In(f32, 300, 2, 264), InOut(f32, 200, 3, 2, 264)
r = Out(f32, 200, 3, 2, 264)
for b, t, g, j, p in grid(200, 3, 2, 264, 300):
  y[b, t, g, j] += x[b, t, p] * w[p, g, j]
for b, t, g, j in grid(200, 3, 2, 264):
  r[b, t, g, j] = max(y[b, t, g, j], y[b, t, 0, j])
""",
        "layer",
    )
    hw = machine("x86_avx2")
    plan = find_plan(kernel, hw, Wishes(time_limit_s=2, may_reassociate=True))
    covered = [task.best.covering for task in plan.tasks if task.answer is not None]
    assert ["b_t", "g_j", "p"] in [[loop.name for loop in one.loops] for one in covered]
    found = verify_plan(plan, kernel, hw, Check.QUICK, may_reassociate=True)
    assert found.is_verified, found
    assert found.subject == ""


def test_rewritten_forms_are_scheduled_anew_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, hw = bundled_kernel("prefix_sum", n=100), machine("gemmini")
    form = next(variant for variant in variants(kernel) if variant.steps)
    plan = replace(find_plan(form.kernel, hw, Wishes(time_limit_s=4)), steps=form.steps)
    monkeypatch.setattr(run_plan, "MAX_ITERATIONS", 99)
    found = verify_plan(plan, kernel, hw, Check.QUICK)
    assert found.is_verified, found
    assert dict(found.sizes) == {"i": 36}
    assert found.subject.startswith("another schedule of a cut-down kernel (")


def test_what_the_interpreter_steps_through_for_long_is_cut_down() -> None:
    kernel, hw = bundled_kernel("prefix_sum", n=MAX_BLOCKS + 1), machine("gemmini")
    assert num_blocks(kernel) == MAX_BLOCKS + 1
    plan = find_plan(kernel, hw, Wishes(time_limit_s=4))
    found = verify_plan(plan, kernel, hw, Check.QUICK)
    assert found.is_verified, found
    assert dict(found.sizes)["i"] < MAX_BLOCKS


def test_too_large_is_not_called_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, hw = bundled_kernel("gemm_epilogue", m=40, n=40, k=40), machine("gemmini")
    plan = find_plan(kernel, hw, Wishes(time_limit_s=4))
    monkeypatch.setattr(run_plan, "MAX_ITERATIONS", 10)
    found = verify_plan(plan, kernel, hw, Check.QUICK)
    assert not found.is_verified
    assert not found.is_wrong
    assert "still too large" in found.failure


def test_large_kernels_are_checked_in_seconds() -> None:
    sizes = {"m": 512, "n": 700, "k": 2048}
    found = isamap.map("gemm_epilogue", "vta", sizes=sizes, time_limit_s=5)
    assert found.verification.is_verified, found.verification
    assert found.verification.check is Check.QUICK
