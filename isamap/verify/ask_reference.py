"""Ask a kernel file's NumPy reference for the outputs.

In: the reference, inputs, what is expected of it. Out: every output, by name. Not its job:
importing the file (`isamap.ir`), comparing.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from traceback import extract_tb
from types import TracebackType

import numpy as np

from isamap.errors import KernelError, Loc


def ask_reference(
    reference: Callable[..., object],
    arrays: Mapping[str, np.ndarray],
    meaning: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """What the reference makes of copies of `arrays`: one array for each of `meaning`.

    Raises:
        KernelError: it cannot be called with these arrays, raises, or returns anything but those
            outputs by name, in their shapes (up to unit dimensions).
    """
    loc = _definition(reference)
    try:
        answers = reference(**{name: array.copy() for name, array in arrays.items()})
    except Exception as error:  # whatever the user's function raises
        inside = loc and _running_line(error.__traceback__, loc.file)
        hint = "" if inside else f"its parameters are the arrays {', '.join(arrays)}, and sizes"
        message = f"the reference raised {type(error).__name__}: {error}"
        raise KernelError(message, loc=inside or loc, hint=hint) from error
    mistake = _mistake(answers, meaning)
    if mistake or not isinstance(answers, Mapping):
        example = ", ".join(f'"{name}": ..' for name in meaning)
        message = f"the reference returns {mistake}"
        raise KernelError(message, loc=loc, hint=f"return {{{example}}}")
    return {name: np.asarray(answers[name]) for name in meaning}


def _mistake(answers: object, meaning: Mapping[str, np.ndarray]) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if not isinstance(answers, Mapping):
        return f"{type(answers).__name__}, expected a dict"
    for name in answers:
        if name not in meaning:
            return f"{name!r}, which is no output"
    for name, right in meaning.items():
        if name not in answers:
            return f"no {name!r}"
        found, wanted = np.shape(answers[name]), right.shape
        if [n for n in found if n != 1] != [n for n in wanted if n != 1]:
            return f"{name!r} of shape {list(found)}, expected {list(wanted)}"
    return ""


def _definition(reference: Callable[..., object]) -> Loc | None:
    function = reference.func if isinstance(reference, partial) else reference
    code = getattr(function, "__code__", None)
    return _line(code.co_filename, code.co_firstlineno) if code else None


def _running_line(trace: TracebackType | None, file: str) -> Loc | None:
    """The innermost line of the file that was running."""
    numbers = [frame.lineno for frame in extract_tb(trace) if frame.filename == file]
    return _line(file, numbers[-1]) if numbers and numbers[-1] else None


def _line(file: str, number: int) -> Loc:
    text = Path(file).read_text(encoding="utf-8").splitlines()[number - 1]
    return Loc(file, number, len(text) - len(text.lstrip()) + 1, text)
