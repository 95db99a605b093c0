"""What the check found, in plain words.

In: a Verification. Out: lines of text. Not its job: checking.
"""

from isamap.verify import Check, Reference, Verification


def headline_word(found: Verification) -> tuple[str, str]:
    """One or two words for the headline, and their style."""
    if found.is_wrong:
        return "WRONG", "bold red"
    if found.is_verified:
        return f"verified ({found.check.value})", "green"
    return "not verified", "yellow"


def show_verification(found: Verification) -> list[str]:
    """What was executed, on which sizes, how exactly it agrees; or what is wrong."""
    if found.check is Check.OFF:
        return ["not verified: --verify off"]
    if found.mismatch is not None:
        wrong = found.mismatch
        index = ", ".join(map(str, wrong.index))
        return [
            f"WRONG on {_sizes(found)}: {wrong.num_wrong} of {wrong.num_elements} elements of "
            f"{wrong.buffer} differ",
            f"first: {wrong.buffer}[{index}] is {wrong.got}, {wrong.source} says {wrong.expected}",
        ]
    if found.failure:
        word = "WRONG" if found.is_wrong else "not verified"
        return [f"{word}: {found.failure}"]
    precision = f"within {found.tolerance:.3g}" if found.tolerance else "bit-exact"
    what = found.subject or ("the program" if found.check is Check.FULL else "the same structure")
    lines = [f"verified ({found.check.value}): {what} on {_sizes(found)}, {precision}"]
    if found.reference is not Reference.ABSENT:
        lines.append(f"NumPy reference {found.reference.value}")
    return lines


def _sizes(found: Verification) -> str:
    """Every loop, but one of those that the text's reader told apart by `_2`, `_3`."""
    shown: dict[str, int] = {}
    for loop, extent in found.sizes:
        base, _, number = loop.rpartition("_")
        if not (number.isdecimal() and shown.get(base) == extent):
            shown[loop] = extent
    return ", ".join(f"{loop}={extent}" for loop, extent in shown.items()) or "its only size"
