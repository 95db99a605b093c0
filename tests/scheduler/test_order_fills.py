"""What is fetched at one point of a nest: first what finds its place free first.

Oracle: the emulator; for the calls that are left until a place is used again, a walk over all
iterations.
"""

import random
import sys
from itertools import islice, product
from math import inf

import pytest

from isamap.costmodels import Stay, Tiling
from isamap.emulator import time_program
from isamap.hwdesc import load_hardware
from isamap.ir import parse_semantics
from isamap.mapper import Covering, coverings
from isamap.program import For, Issue, Node, When
from isamap.scheduler import lower
from isamap.scheduler.frame import Frame
from isamap.scheduler.order_fills import calls_ahead
from isamap.scheduler.place import place
from tests.scheduler.cases import ROOT
from tests.scheduler.tilings import random_legal_tiling

PRODUCT = """
A, B, C = In(i32, 6, 12), In(i32, 12, 16), InOut(i32, 6, 16)
for i, j, p in grid(6, 16, 12):
  C[i, j] += A[i, p] * B[p, j]
"""
HW = load_hardware(ROOT / "tests" / "scheduler" / "rows_and_numbers.yaml")


@pytest.fixture(scope="module")
def covering() -> Covering:
    found = islice(coverings(parse_semantics(PRODUCT, "product"), HW, []), 9)
    return next(c for c in found if c.units == {"i": 6, "j": 2, "p": 12})


def fills(nodes: tuple[Node, ...]) -> list[str]:
    """Instructions that load, in the program's order."""
    found = []
    for node in nodes:
        if isinstance(node, (For, When)):
            found += fills(node.body)
        elif isinstance(node, Issue) and node.instruction.startswith("load"):
            found.append(node.instruction)
    return found


def test_what_waits_for_its_only_place_stands_last(covering: Covering) -> None:
    """Rows have two places and numbers one: rows in front are fetched while others are used."""
    stays = (Stay("a", 0, 1, 1), Stay("b", 0, 1, 2), Stay("D", 0, 1, 2))
    tiling = Tiling((("i", 3), ("j", 1), ("p", 1)), ("j", "i", "p"), ("i", "j", "p"), stays)
    program = lower(covering, tiling, HW)
    assert program is not None
    assert fills(program.body)[-1] == "load_number"
    # 48 tiles of 3 calls; were a row behind the first number, it would be waited for in each tile
    assert time_program(program, HW).cycles < 48 * (12 + 1)


def test_no_other_order_is_much_faster(covering: Covering, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(1)
    tilings = [
        random_legal_tiling(covering, HW, generator, any_tile=True, attempts=20) for _ in range(30)
    ]
    ours, others = [], []
    for tiling in filter(None, tilings):
        times = []
        for is_reversed in (False, True):
            with monkeypatch.context() as patch:
                if is_reversed:
                    module = sys.modules["isamap.scheduler.lower"]
                    patch.setattr(module, "order_fills", lambda frame, slots: [*slots])
                program = lower(covering, tiling, HW)
            assert program is not None
            times.append(time_program(program, HW).cycles)
        ours.append(times[0])
        others.append(times[1])
    assert len(ours) > 20 and sum(ours) < 0.97 * sum(others)
    assert all(own <= 1.1 * other for own, other in zip(ours, others, strict=True))


def least_calls_between(covering: Covering, tiling: Tiling, stay: Stay) -> float:
    """Calls between the last use of what lies at a place and the first use of what comes next, at
    least, walking through the nest; blocks are numbered as the tile holds them."""
    units, moving = covering.units, covering.operand(stay.operand).loops
    tiles = [range(units[n] // tiling.tile(n)) for n in tiling.outer]
    inside = [range(tiling.tile(n)) for n in tiling.inner]
    places: dict[tuple[int, ...], tuple[list[int], int]] = {}
    least, turn, before = inf, -1, None
    for call, steps in enumerate(product(*tiles, *inside)):
        tile = dict(zip(tiling.outer, steps[:3], strict=True))
        unit = dict(zip(tiling.inner, steps[3:], strict=True))
        rotating = [tile[n] for n in moving if n not in stay.kept]
        rotating += [] if stay.level else [unit[n] for n in moving]
        turn, before = turn + (rotating != before), rotating
        beside = (*(tile[n] for n in stay.kept), *(unit[n] for n in moving if stay.level))
        last, used = places.get((turn % stay.slots, *beside), (rotating, call))
        if last != rotating:
            least = min(least, call - used - 1)
        places[turn % stay.slots, *beside] = rotating, call
    return least


def test_calls_until_a_place_is_used_again(covering: Covering) -> None:
    generator = random.Random(2)
    checked = 0
    for _ in range(200):
        tiling = random_legal_tiling(covering, HW, generator, any_tile=True, attempts=20)
        assert tiling is not None
        if any(covering.units[name] % tile for name, tile in tiling.tiles):
            continue
        places = place(covering, tiling, HW)
        assert places is not None
        frame = Frame(covering, tiling, HW, places)
        for slot in places.slots:
            guard = frame.guards[slot.stay.operand, slot.stay.residence]
            if guard.refetch_outer or guard.refetch_inner:
                continue  # the same data come again: the walk cannot tell
            expected = least_calls_between(covering, tiling, slot.stay)
            if expected < inf:  # else it is used once
                assert calls_ahead(frame, slot) == expected, (tiling, slot.stay)
                checked += 1
    assert checked > 50
