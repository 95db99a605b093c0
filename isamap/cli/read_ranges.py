"""Several numbers in one word: `16..64:16`, `8..128:*2`.

In: texts. Out: numbers. Not its job: what they are for, lists with commas.
"""

import re

from isamap.errors import IsamapError

RANGE = re.compile(r"(?P<first>\d+)\.\.(?P<last>\d+)(:(?P<by>\*?)(?P<step>\d+))?")
MOST = 100_000  # numbers in a range


def read_range(text: str, where: str, example: str) -> tuple[int, ...] | None:
    """All numbers of a range, the last one only if a step meets it; None if it is no range.

    Raises:
        IsamapError: a step that leads nowhere, or too many; `where` says what is read.
    """
    found = RANGE.fullmatch(text.strip())
    if found is None:
        return None
    first, last, step = int(found["first"]), int(found["last"]), int(found["step"] or 1)
    if found["by"]:
        if step < 2 or first < 1:
            raise IsamapError(f"{where}: {text!r} never ends", hint=example)
        numbers = [first]
        while numbers[-1] * step <= last:
            numbers.append(numbers[-1] * step)
        return tuple(numbers) if first <= last else ()
    if step < 1:
        raise IsamapError(f"{where}: {text!r} never ends", hint=example)
    if (last - first) // step >= MOST:
        raise IsamapError(f"{where}: more than {MOST} numbers", hint=example)
    return tuple(range(first, last + 1, step))
