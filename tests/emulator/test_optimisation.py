"""The shortest programs run in Python, short ones are compiled plainly, long ones optimised."""

import pytest

from isamap.emulator import optimisation
from isamap.emulator.bind import bind
from isamap.emulator.optimisation import STEPS_OF_A_CALL, choose_optimisation, is_compiled
from tests.emulator.hand_programs import issue_load, issue_mma, machine, straight


def test_the_steps_of_all_calls_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = issue_load(0, 0), issue_mma(0, 0, 0, rows=5)
    bound = bind(straight(calls, repeats=3), machine("tiny"))
    steps = 3 * (2 * STEPS_OF_A_CALL + 16 * 16 + 5 * 16 * 16)
    monkeypatch.setattr(optimisation, "MAX_PLAIN_STEPS", steps)
    assert choose_optimisation(bound) == "-O0"
    monkeypatch.setattr(optimisation, "MAX_PLAIN_STEPS", steps - 1)
    assert choose_optimisation(bound) == "-O3"
    monkeypatch.setattr(optimisation, "MAX_INTERPRETED_STEPS", steps - 1)
    assert is_compiled(bound, None) and not is_compiled(bound, compiled=False)
    monkeypatch.setattr(optimisation, "MAX_INTERPRETED_STEPS", steps)
    assert is_compiled(bound, compiled=True) and not is_compiled(bound, None)
    monkeypatch.setattr(optimisation, "MAX_INTERPRETED_STEPS", -1)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    assert not is_compiled(bound, None)
