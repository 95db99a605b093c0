"""Tiles of an output never hold the same element twice, as `y[2*q + v]` could for two q.

In: transposed convolutions on machines whose calls run over v. Out: failures. Not its job: outputs
that slide as a window (`test_oracle`).
"""

import random
from dataclasses import replace

import pytest

from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import Covering, cover_mapping, mappings
from isamap.scheduler import lower
from isamap.scheduler.legality import breaches, is_legal
from tests.scheduler.cases import ROOT
from tests.scheduler.execution import assert_computes
from tests.scheduler.tilings import random_tiling

SIZES = {"n": 1, "h": 2, "w": 4, "c": 2, "k": 3, "r": 3, "s": 3}


def subject() -> Kernel:
    """y[b, 2*p + u, 2*q + v, o] += x[b, p, q, i] * weights[u, v, i, o]."""
    return load_kernel(ROOT / "kernels" / "transposed_conv.py", SIZES, "transposed_conv")


def overlapping(hw: Hardware) -> list[Covering]:
    """Coverings whose calls run over v or u, so that q or p is walked outside them."""
    found = []
    for mapping in mappings(subject(), hw, gather=True):
        members = {name for _, group in mapping.groups for name in group}
        if members & {"u", "v"} and not members >= {"u", "p"}:
            found += list(cover_mapping(subject(), hw, mapping, []))[:1]
    return found


@pytest.mark.parametrize("name", ["outer", "conv_engine"])
def test_what_lies_twice_is_not_legal_and_all_else_computes(name: str) -> None:
    hw = load_hardware(ROOT / "hw_specs" / f"{name}.yaml")
    generator = random.Random(name)
    coverings = overlapping(hw)[::2]
    assert coverings
    num_right = 0
    for covering in coverings:
        for _ in range(5):
            tiling = random_tiling(covering, hw, generator, any_tile=False)
            if not is_legal(covering, tiling, hw):
                continue
            program = lower(covering, tiling, hw)
            assert program is not None
            assert_computes(subject(), program, hw, f"{covering.binding} {tiling}")
            num_right += 1
    assert num_right >= len(coverings)


def test_the_breach_says_what_overlaps() -> None:
    hw = load_hardware(ROOT / "hw_specs" / "outer.yaml")
    covering = next(c for c in overlapping(hw) if c.loop("v").block > 1 and c.loop("q").block == 1)
    generator = random.Random(1)
    tiling = random_tiling(covering, hw, generator, any_tile=False)
    wide = replace(tiling, tiles=tuple((n, 2 if n == "q" else t) for n, t in tiling.tiles))
    messages = [breach.message for breach in breaches(covering, wide, hw)]
    reasons = (
        "units of loop q have elements of C in common: one unit is a tile",
        "loop q moves a window inside the block of C: one unit is a tile",
    )
    assert any(reason in messages for reason in reasons)
