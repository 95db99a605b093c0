"""The names kernel files import."""

import builtins

import pytest

from isamap import lang
from isamap.ir import OPS, RESERVED


def test_every_word_of_the_language_can_be_imported() -> None:
    words = {name for name in OPS if name.isidentifier()} | RESERVED
    known = {*dir(lang), *dir(builtins)}
    assert sorted(words - known) == []


def test_kernel_marks_without_changing() -> None:
    def function() -> None:
        """Never run."""

    assert lang.kernel(function) is function


@pytest.mark.parametrize("name", ["In", "Out", "InOut", "Temp", "relu", "exp", "tanh", "sigmoid",
                                  "sqrt", "round_even", "neg", "i8", "sat_i8"])  # fmt: skip
def test_running_the_language_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"{name} is part of a kernel"):
        getattr(lang, name)(1)


def test_running_loops_and_accesses_is_refused() -> None:
    buffer = lang.Buffer()
    for use in (
        lambda: lang.grid(1), lambda: lang.ceildiv(1, 1), lambda: lang.select(1, 1, 1),
        lambda: lang.rshift_round(1, 1), lambda: buffer[0], lambda: buffer.at(0, pad=0),
        lambda: buffer.__setitem__(0, 1),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="never runs"):
            use()
