"""Numbers that calls encode."""

import pytest

from isamap.hwdesc import ImmediateRule, immediate_value

COUNT = ImmediateRule("count", 0, 31)
SCALE = ImmediateRule("scale", -2.0, 65504.0, "f32")


@pytest.mark.parametrize(
    ("rule", "number", "value"),
    [
        (COUNT, 31, 31),
        (COUNT, 32, None),
        (COUNT, 3.0, None),
        (SCALE, 2, 2.0),
        (SCALE, 0.1, 13421773 * 2.0**-27),
        (SCALE, 1 + 2.0**-24, 1.0),
        (SCALE, 1 + 3 * 2.0**-24, 1 + 2.0**-22),
        (SCALE, 1e-60, 0.0),
        (SCALE, -2.5, None),
        (SCALE, 1e39, None),
        (SCALE, float("inf"), None),
        (SCALE, float("nan"), None),
        (ImmediateRule("s", 0.0, 1.0, "bf16"), 0.3, 77 * 2.0**-8),
        (ImmediateRule("s", 0.0, 1.0, "f64"), 0.3, 0.3),
        (ImmediateRule("s", 1.0, 1.0, "f16"), 1.0001, 1.0),
    ],
)
def test_a_literal_becomes_the_nearest_number_of_the_type(
    rule: ImmediateRule, number: float, value: float | None
) -> None:
    found = immediate_value(rule, number)
    assert found == value and type(found) is type(value)
