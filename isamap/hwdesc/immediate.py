"""Tell which number a call encodes.

In: the rule of an immediate, a number. Out: the number as the machine has it. Not its job: reading
rules from files (`build_instruction`), what the instruction does with the number (`isamap.ir`).
"""

from isamap.ir import nearest_float

from .hardware import ImmediateRule


def immediate_value(rule: ImmediateRule, number: int | float) -> int | float | None:
    """What a call is given where `number` is wanted; None if there is no such value.

    For a float type the nearest value, ties to even: what a literal of that type is, too.
    """
    if rule.dtype is None:
        is_inside = isinstance(number, int) and rule.minimum <= number <= rule.maximum
        return number if is_inside else None
    value = nearest_float(number, rule.dtype)
    return value if rule.minimum <= value <= rule.maximum else None
