"""What the closed form takes programs to ask for, against what generated C asks for."""

import re

import pytest

from isamap.codegen import generate_c
from isamap.costmodels import Tiling
from isamap.costmodels.hints import Asking, find_hints
from isamap.costmodels.lines import find_nest, find_streams
from isamap.hwdesc import Hardware
from isamap.ir import parse_semantics
from isamap.mapper import Covering
from isamap.planner import search
from isamap.scheduler import Wishes, lower
from tests.scheduler.cases import machine

# A lies as [k, m]: pairs of its rows are packed before tiles of the processor's unit read them
PRODUCT = """
A, B, C = In(bf16, {k}, {m}), In(bf16, {n}, {k}), Out(f32, {n}, {m})
for j in range({n}):
  for i in range({m}):
    for p in range({k}):
      C[j, i] += f32(A[p, i]) * f32(B[j, p])
"""


def searched(hw: Hardware, m: int, n: int, k: int) -> tuple[Covering, Tiling]:
    """The product's covering by tiles, and the tiling that the search likes best."""
    kernel = parse_semantics(PRODUCT.format(m=m, n=n, k=k), "product")
    found = search(kernel, hw, Wishes(may_reassociate=True, time_limit_s=20))
    (answer,) = found.answers
    tiling = answer.best.tiling
    return answer.best.covering, tiling


@pytest.mark.parametrize("size", [(512, 32, 1024), (1024, 160, 512)])
def test_rows_of_a_call_on_several_are_announced_as_far_as_the_program_asks(
    size: tuple[int, int, int],
) -> None:
    """Of operands whose calls read several rows, with each of the loops over tiles outermost."""
    hw = machine("x86_golden_cove_amx")
    covering, tiling = searched(hw, *size)
    (cache,) = (memory for memory in hw.caches if memory.prefetch is not None)
    seen = 0
    for shift in range(len(tiling.outer)):
        order = (*tiling.outer[shift:], *tiling.outer[:shift])
        turned = Tiling(tiling.tiles, order, tiling.inner, tiling.stays)
        text = generate_c(lower(covering, turned, hw), hw).text
        nest = find_nest(covering, turned, hw)
        streams = find_streams(covering, turned, nest, hw, {})
        for stream in streams:
            is_on_rows = any(step >= 64 and count > 1 for count, step in stream.inside)
            if stream.goes_packed and is_on_rows:
                seen += 1
                is_asked = bool(re.search(r"prefetch.*&A\[", text))
                assert (
                    is_asked
                    or find_hints(nest, stream, Asking(cache, hw.caches[2], 1.0)).missing > 0.9
                )
    assert seen
