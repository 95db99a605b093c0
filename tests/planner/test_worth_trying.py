"""Rewrites that cannot gain on a machine are not tried there."""

import pytest

from isamap.compile import build_kernel, load_machine
from isamap.mapper import cut_tasks, flatten, may_gain_by_halves
from isamap.planner.best_plan import _Prices
from isamap.rewrites import FORMS, SPLIT_FLOATS, variants

SIZES = {
    "gemm:gemm_f32": {"m": 40, "n": 48, "k": 56},
    "rnn": {},
    "conv2d:conv2d_f32": {},
    "attention": {},
}


@pytest.mark.parametrize(
    ("machine", "may_gain"),
    [
        ("trainium", True),  # a quarter of the cycles of f32
        ("amx", True),  # nothing else has products of f32
        ("x86_golden_cove_amx", False),  # a sixteenth, on a processor that has f32
        ("x86_golden_cove", False),  # four times those of f32, for twice the products
        ("x86_avx512", False),  # half, for three times as many
        ("power10_mma", False),  # no less than a third
        ("x86_avx2", False),  # no bf16
    ],
)
def test_halves_gain_where_their_products_take_less_than_a_third(
    machine: str, may_gain: bool
) -> None:
    assert may_gain_by_halves(load_machine(machine)) == may_gain


@pytest.mark.parametrize("machine", ["x86_golden_cove", "x86_avx512", "power10_mma", "arm_sme"])
@pytest.mark.parametrize("name", SIZES)
def test_no_form_by_halves_has_a_lower_bound_where_they_cannot_gain(
    machine: str, name: str
) -> None:
    hw = load_machine(machine)
    assert not may_gain_by_halves(hw)
    kernel, _ = build_kernel(name, SIZES[name], None, may_reassociate=True)
    rows = tuple(row for row in FORMS if row.name in ("im2col", "inline", SPLIT_FLOATS.name))
    forms = variants(kernel, rewrites=rows, max_steps=2, max_variants=25, may_reassociate=True)
    prices = _Prices(hw)
    least = {
        form.steps: sum(prices.least[prices.look_at(t)] for t in flatten(cut_tasks(form.kernel)))
        for form in forms
    }
    split = [steps for steps in least if steps and steps[-1].rewrite == SPLIT_FLOATS.name]
    assert split
    for steps in split:
        assert least[steps] >= least[steps[:-1]]
