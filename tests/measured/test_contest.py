"""Rounds of measurements: when they end, what compares, what is remembered; clocks are made up."""

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import isamap
from isamap.codegen import CSource, Toolchain, generate_c
from isamap.compile import build_kernel
from isamap.measured import Measured, Measurement, digest
from isamap.measured.contest import FINALISTS, STALE
from isamap.scheduler import Answer, Wishes, find_schedule

CODEGEN = Path(__file__).parent.parent / "codegen"
HW = isamap.load_hardware(CODEGEN / "vec4.yaml")
KERNEL, _ = build_kernel(f"{CODEGEN / 'c_kernels.py'}:sgemm", {"m": 60, "n": 52, "k": 48}, None)
PER_ROUND = 3
FALLING = 40
pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)


class Landscape:
    """Of the texts in the order in which they are first seen, the first nine are each 3 % faster
    than the one before, all others slow."""

    def __init__(self) -> None:
        self.order: dict[str, int] = {}

    def seconds(self, text: str, race: int) -> float:
        number = self.order.setdefault(text, len(self.order))
        return 1e-6 * (0.97**number if number < 9 else 1.1 + 0.01 * (number % 7))


class FakeTimer:
    """`seconds`: of a text, in a race. Races end the process at number `stop`; each takes `race_s`
    on the clock."""

    def __init__(
        self, seconds: Callable[[str, int], float], stop: int = -1, race_s: float = 1.0
    ) -> None:
        self.seconds = seconds
        self.stop = stop
        self.race_s = race_s
        self.now = 0.0
        self.races: list[list[str]] = []

    def time(self, sources: Sequence[CSource], toolchain: Toolchain) -> tuple[Measurement, ...]:
        if len(self.races) == self.stop:
            raise KeyboardInterrupt
        number = len(self.races)
        self.races.append([source.text for source in sources])
        self.now += self.race_s
        return tuple(Measurement(self.seconds(s.text, number), 1e-7, 5) for s in sources)


def answer(timer: FakeTimer, path: Path, seconds: float = 1e6) -> Answer:
    model = Measured(PER_ROUND, path, timer, seconds, clock=lambda: timer.now)
    return find_schedule(KERNEL, HW, Wishes(cost=model, time_limit_s=60, may_reassociate=True))


def test_rounds_that_bring_nothing_end_it_and_the_closest_meet_again(tmp_path: Path) -> None:
    timer = FakeTimer(lambda text, race: 1e-6)
    found = answer(timer, tmp_path / "m")
    rounds = 1 + STALE
    assert len(timer.races) == rounds + 1
    assert len(found.contenders) == rounds * PER_ROUND
    assert len(timer.races[-1]) == FINALISTS
    assert len({text for race in timer.races for text in race}) == rounds * PER_ROUND


def falling() -> FakeTimer:
    """What is seen later takes 0.98 times as long, up to the last of `FALLING`."""
    order: list[str] = []

    def seconds(text: str, race: int) -> float:
        order.extend([text] if text not in order else [])
        return 1e-3 * 0.98 ** min(order.index(text), FALLING)

    return FakeTimer(seconds)


def test_rounds_go_on_while_they_bring_something(tmp_path: Path) -> None:
    found = answer(falling(), tmp_path / "m")
    texts = len({digest(generate_c(c.schedule.program, HW).text) for c in found.contenders})
    assert FALLING < texts <= FALLING + (1 + STALE) * PER_ROUND
    assert found.best.cost_cycles == round(1e-3 * 0.98**FALLING * HW.clock_hz)


@pytest.mark.parametrize("seconds, rounds", [(0, 1), (2, 1), (2.1, 2), (4.5, 4)])
def test_no_round_begins_that_would_end_too_late(
    seconds: float, rounds: int, tmp_path: Path
) -> None:
    found = answer(falling(), tmp_path / "m", seconds)
    assert len(found.contenders) == rounds * PER_ROUND


def test_a_machine_that_slows_down_changes_no_choice(tmp_path: Path) -> None:
    land = Landscape()
    steady = answer(FakeTimer(land.seconds), tmp_path / "one")
    slowing = FakeTimer(lambda text, race: land.seconds(text, race) * 3**race)
    found = answer(slowing, tmp_path / "other")
    assert len(slowing.races) > 3
    assert found.best.program == steady.best.program
    prices = [c.price.cycles for c in found.contenders]
    assert prices == pytest.approx([c.price.cycles for c in steady.contenders], abs=1)


def test_what_was_lucky_once_does_not_win(tmp_path: Path) -> None:
    """The first time of the last good one is 3 % too short: what is fastest is told by the rest."""
    land, met = Landscape(), Counter[str]()

    def lucky(text: str, race: int) -> float:
        met[text] += 1
        seconds = land.seconds(text, race)
        return seconds * (0.97**2 if land.order[text] == 7 and met[text] == 1 else 1.0)

    timer = FakeTimer(lucky)
    found = answer(timer, tmp_path / "m")
    first, second = (text for text, number in land.order.items() if number in (7, 8))
    assert met[first] > 2 and met[second] > 2
    assert generate_c(found.best.program, HW).text == second


def test_a_contest_that_was_ended_goes_on_where_it_stopped(tmp_path: Path) -> None:
    land = Landscape()
    whole = FakeTimer(land.seconds)
    expected = answer(whole, tmp_path / "whole")
    assert len(whole.races) > 3
    for stop in range(1, len(whole.races)):
        path = tmp_path / str(stop)
        with pytest.raises(KeyboardInterrupt):
            answer(FakeTimer(land.seconds, stop), path)
        rest = FakeTimer(land.seconds)
        found = answer(rest, path)
        assert rest.races == whole.races[stop:]
        assert [c.price.cycles for c in found.contenders] == [
            c.price.cycles for c in expected.contenders
        ]
        assert found.best.program == expected.best.program


def test_a_contest_that_is_over_takes_no_timer_and_begins_no_other_round(tmp_path: Path) -> None:
    """Though nothing was spent now: what the rounds took is remembered with them."""
    first = answer(FakeTimer(Landscape().seconds), tmp_path / "m", 2.5)
    again = FakeTimer(lambda text, race: 0.0)
    second = answer(again, tmp_path / "m", 2.5)
    assert not again.races
    assert [c.price.is_recalled for c in first.contenders] == [False] * len(first.contenders)
    assert [c.price.is_recalled for c in second.contenders] == [True] * len(first.contenders)
    assert second.best.program == first.best.program


def test_more_seconds_go_on_with_what_is_known(tmp_path: Path) -> None:
    land = Landscape()
    whole, short, long = (FakeTimer(land.seconds) for _ in range(3))
    expected = answer(whole, tmp_path / "whole")
    answer(short, tmp_path / "m", 2.5)
    found = answer(long, tmp_path / "m")
    assert short.races[:2] == whole.races[:2] and len(short.races) == 3
    assert long.races == whole.races[2:]
    assert found.best.program == expected.best.program
