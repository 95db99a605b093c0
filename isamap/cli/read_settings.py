"""Axes of a sweep, as written on the command line.

In: texts such as `parameters.dim=8,16` and `units.dma.count=1..4`. Out: axes whose settings know
where they stand. Not its job: whether a machine has such a place.
"""

from isamap.errors import IsamapError, Loc
from isamap.hwdesc import Setting
from isamap.sweep import Axis

from .read_ranges import read_range

OPTION = "--set"
EXAMPLE = "for example --set parameters.dim=8,16 or --set memories.sram.size=64KiB,128KiB"


def read_settings(texts: tuple[str, ...]) -> list[Axis]:
    """An axis per text, whose number is the line of positions in it.

    Raises:
        IsamapError: a text that is not PLACE=VALUES.
    """
    return [_read(text, number) for number, text in enumerate(texts, 1)]


def _read(text: str, number: int) -> Axis:
    path, is_given, values = text.partition("=")
    if not all(path.split(".")) or path != path.strip() or not is_given:
        raise IsamapError(f"{OPTION} {text!r} is not PLACE=VALUES", hint=EXAMPLE)
    settings = []
    column = len(path) + 2
    for part in values.split(","):
        word = part.strip()
        if not word:
            raise IsamapError(f"{OPTION} {text!r} has an empty value", hint=EXAMPLE)
        begin = column + len(part) - len(part.lstrip())
        column += len(part) + 1
        numbers = read_range(word, f"{OPTION} {text!r}", EXAMPLE)
        words = [word] if numbers is None else list(map(str, numbers))
        if not words:
            raise IsamapError(f"{OPTION} {text!r}: {word!r} has no number", hint=EXAMPLE)
        settings += [Setting(path, value, Loc(OPTION, number, 1, text), begin) for value in words]
    return Axis(path, tuple(settings))
