"""Which calls of an output-stationary array follow each other on the same sums."""

import numpy as np

from isamap.codegen.bits.call import CallKind, Calls, Form, Run
from isamap.codegen.bits.chain_sums import chain_sums
from isamap.hwdesc import CHAIN_BEGINS, CHAIN_ENDS, load_hardware
from isamap.resources import find_hardware

TILE = 16 * 16 * 4


def calls_of(name, places, rows, **values):
    """Calls at some places; `rows`: of what differs, a number per call."""
    values |= {key: np.array(column) for key, column in rows.items()}
    return Calls(Form(CallKind.INSTRUCTION, name), np.array(places), values)


def chains(products, others):
    """Places of products by chain: [[0, 1], [3]]."""
    (run,) = chain_sums((Run((products, *others)),), load_hardware(find_hardware("gemmini_os")))
    kinds = {
        place: calls.form.fresh
        for calls in run.calls
        for place in calls.places.tolist()
        if calls.form.name == "compute"
    }
    found = []
    for place in sorted(kinds):
        found += [[]] if CHAIN_BEGINS in kinds[place] else []
        found[-1].append(place)
    assert all(CHAIN_ENDS in kinds[chain[-1]] for chain in found)
    assert all(CHAIN_ENDS not in kinds[place] for chain in found for place in chain[:-1])
    return found


def products_at(places, **rows):
    """Products of whole tiles onto the first tile of the accumulator, but for `rows`."""
    strides = {"A.i": 16, "A.k": 1, "B.k": 16, "B.j": 1, "C.i": 64, "C.j": 4}
    fixed = {"A": 0, "B": 256, "C": 0, "i": 16, "j": 16, "k": 16, **strides}
    fixed = {name: value for name, value in fixed.items() if name not in rows}
    return calls_of("compute", places, rows, **fixed)


def moves_at(places, tiles):
    """Tiles that go from the accumulator to the memory."""
    rows = {"S": [tile * TILE for tile in tiles]}
    return calls_of("mvout_acc", places, rows, D=0, r=16, c=16, **{"S.r": 64, "S.c": 4, "D.r": 64})


def test_a_chain_goes_on_while_calls_add_to_the_same_sums():
    assert chains(products_at([0, 1, 2], C=[0, 0, TILE]), ()) == [[0, 1], [2]]
    assert chains(products_at([0, 1, 2], k=[16, 3, 16]), ()) == [[0, 1, 2]]
    assert chains(products_at([0, 1, 2], i=[16, 5, 5]), ()) == [[0], [1, 2]]


def test_a_chain_ends_where_its_sums_are_wanted():
    assert chains(products_at([0, 2, 4, 5]), (moves_at([1, 3], [1, 0]),)) == [[0, 2], [4, 5]]


def test_a_chain_ends_where_the_unit_does_something_else():
    other = calls_of("compute_at", [1], {}, **products_at([1]).values)
    assert chains(products_at([0, 2]), (other,)) == [[0], [2]]
