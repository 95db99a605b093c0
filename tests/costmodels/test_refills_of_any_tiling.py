"""Refills of caches are a cost, whatever the shape, the number of threads and the tiling.

In: random products on processors, random legal tilings. Out: failures. Not its job: how many
refills there are (`test_caches`).
"""

import random
from functools import cache
from itertools import islice, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.costmodels import Begun, Stay, Tiling, count_work, estimate, least_costs
from isamap.costmodels.caches import each_refill, refill_cycles
from isamap.hwdesc import Hardware
from isamap.ir import parse_semantics
from isamap.mapper import Covering, coverings
from isamap.mapper.spread import spread_coverings
from isamap.native.threads import on_threads
from tests.scheduler.cases import machine
from tests.scheduler.tilings import random_legal_tiling

PRODUCT = """
A, B, C = In(f32, {m}, {k}), In(f32, {k}, {n}), {role}(f32, {m}, {n})
for i in range({m}):
  for j in range({n}):
    for p in range({k}):
      C[i, j] += A[i, p] * B[p, j]
"""
SIZES = (1, 3, 8, 17, 100, 500, 2048)


@cache
def found(hw: Hardware, text: str, count: int = 40) -> tuple[Covering, ...]:
    """The first coverings of one core and of several."""
    kernel = parse_semantics(text, "product")
    stream = coverings(kernel, hw, [], may_reassociate=True)
    return tuple(islice(spread_coverings(stream, hw), count))


def check(name: str, threads: int, text: str, seed: int) -> None:
    """No refill and no wait takes less than nothing, no tiling less than a cycle, nor less than was
    known when parts of it were counted, or before there was a tiling."""
    hw = on_threads(machine(name), threads)
    generator = random.Random(seed)
    for covering in generator.choices(found(hw, text), k=6):
        tiling = random_legal_tiling(covering, hw, generator, any_tile=True, attempts=20)
        if tiling is None:
            continue
        for refills in refill_cycles(covering, tiling, hw):
            assert refills.busy_cycles >= 0
            assert refills.waiting_cycles >= 0
        work = count_work(covering, hw)
        costs = estimate(covering, work, tiling, hw).costs(hw)
        assert costs.cycles > 0
        assert least_costs(covering, work, hw).cycles <= costs.cycles
        rising = list(Begun(covering, work, tiling, hw).rising())
        for (_, refills), (before, after) in zip(
            each_refill(covering, tiling, hw), pairwise(rising), strict=False
        ):  # each line that enters takes its time once
            shown = 1 + hw.caches[0].refills_shown_share
            most = shown * refills.busy_cycles + refills.waiting_cycles
            assert after.cycles - before.cycles <= most + 1
        assert rising[-1] == costs
        for some, more in pairwise(rising):
            assert some.at_least(more) == more


@given(
    st.sampled_from(["x86_avx2", "x86_golden_cove", "arm_neon"]),
    st.integers(1, 3),
    st.sampled_from(["Out", "InOut"]),
    st.tuples(st.sampled_from(SIZES), st.sampled_from(SIZES), st.sampled_from(SIZES)),
    st.integers(0, 999),
)
@settings(max_examples=25, deadline=None, derandomize=True)
def test_no_refill_takes_less_than_nothing(
    name: str, threads: int, role: str, sizes: tuple[int, int, int], seed: int
) -> None:
    m, n, k = sizes
    check(name, threads, PRODUCT.format(role=role, m=m, n=n, k=k), seed)


def test_what_is_packed_on_the_way_is_copied_beside_all_calls() -> None:
    """256 rows of 64 elements or 64 of 48, packed in vectors of 16: a call for each."""
    hw = machine("x86_golden_cove")
    num_vectors = {"A": 256 * 64 // 16, "B": 64 * 48 // 16}
    times = set()
    for covering in found(hw, PRODUCT.format(role="Out", m=256, n=48, k=64), 200):
        work = count_work(covering, hw)
        flows = [
            f for f in work.flows if covering.operand(f.operand).residences[f.residence].is_packed
        ]
        packed = sum(num_vectors[covering.operand(f.operand).buffer] for f in flows)
        assert least_costs(covering, work, hw).cycles >= work.shared_cycles + packed
        times.add(len(flows))
    assert times == {0, 1, 2}


def test_lines_of_a_shorter_last_tile_are_not_taken_off() -> None:
    """2048 columns on three threads, 684 each: 42.75 tiles of 16, which touch 43 lines of a row."""
    hw = on_threads(machine("x86_avx2"), 3)
    stays = (Stay("C", 0, 1, 2),)
    tiling = Tiling((("i", 2), ("j", 4), ("p", 1)), ("j", "i", "p"), ("j", "i", "p"), stays)
    all_ways = found(hw, PRODUCT.format(role="Out", m=100, n=2048, k=8), 200)
    some = [covering for covering in all_ways if covering.loop("j").extent == 684]
    assert min(r.waiting_cycles for c in some for r in refill_cycles(c, tiling, hw)) >= 0
