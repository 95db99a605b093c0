"""Tilings for machines with caches: legal, and no neighbour is better.

In: small products on a processor. Out: verdicts. Not its job: what the closed form makes of caches.
"""

from dataclasses import replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from isamap.costmodels import FASTEST, Stay, Tiling, count_work, estimate
from isamap.hwdesc import Hardware
from isamap.ir import load_kernel, parse_semantics
from isamap.mapper import Covering, coverings
from isamap.scheduler import KnownModels, Wishes, find_schedule, is_legal
from isamap.scheduler.descend import Descent, descend
from isamap.scheduler.greedy import grow, starts
from isamap.scheduler.neighbours import kept_choices, resized, sizes_by_loop
from isamap.scheduler.options import stay_choices
from isamap.scheduler.ranking import NEVER, Rank, Ranking
from tests.scheduler.cases import kernel, machine
from tests.scheduler.exhaustive import search_exhaustively

SIZES = ((("m", 7), ("n", 1), ("k", 3)), (("m", 31), ("n", 70), ("k", 300)))


def cycles(covering: Covering, tiling: Tiling, hw: Hardware) -> int:
    """Under the closed form."""
    return estimate(covering, count_work(covering, hw), tiling, hw).cycles


@pytest.mark.parametrize("sizes", SIZES)
def test_no_tile_of_what_is_found_is_better_smaller_or_larger(
    sizes: tuple[tuple[str, int], ...],
) -> None:
    hw = machine("x86_avx2")
    product = kernel("gemm", "gemm_f32", sizes)
    for covering in islice(coverings(product, hw, [], may_reassociate=True), 2):
        work = count_work(covering, hw)
        found = descend(covering, work, hw, FASTEST)
        assert found is not None and is_legal(covering, found, hw)
        least = cycles(covering, found, hw)
        for name, options in sizes_by_loop(covering, hw).items():
            for other in resized(found, name, options):
                assert not is_legal(covering, other, hw) or cycles(covering, other, hw) >= least
        first = next(starts(covering, work, hw, stay_choices(covering, hw)[0]))
        _, grown = grow(Ranking(covering, work, hw, FASTEST), first)
        assert least <= cycles(covering, grown, hw)


@pytest.mark.parametrize("sizes", SIZES)
def test_what_is_found_is_what_would_be_found_if_refills_were_counted_for_every_tiling(
    sizes: tuple[tuple[str, int], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    hw = machine("x86_golden_cove")
    product = kernel("gemm", "gemm_f32", sizes)
    some = tuple(islice(coverings(product, hw, [], may_reassociate=True), 6))
    works = [count_work(covering, hw) for covering in some]
    found = [descend(c, work, hw, FASTEST) for c, work in zip(some, works, strict=True)]
    counted = Ranking.rank

    def count_always(self: Ranking, tiling: Tiling, most: Rank = NEVER) -> Rank:
        return counted(self, tiling)

    monkeypatch.setattr(Ranking, "rank", count_always)
    assert found == [descend(c, work, hw, FASTEST) for c, work in zip(some, works, strict=True)]


def test_a_rank_that_is_more_than_asked_for_is_not_less_than_it_is() -> None:
    hw = machine("x86_golden_cove")
    covering = next(coverings(kernel("gemm", "gemm_f32", SIZES[1]), hw, [], may_reassociate=True))
    work = count_work(covering, hw)
    num_open = 0
    for start in starts(covering, work, hw, stay_choices(covering, hw)[0]):
        exact = 0.0, float(cycles(covering, start, hw))
        ranking = Ranking(covering, work, hw, FASTEST)
        some = ranking.rank(start, (0.0, 1.0))
        assert (0.0, 1.0) < some <= exact
        num_open += some < exact
        assert ranking.rank(start, exact) == ranking.rank(start) == exact
    assert num_open


@pytest.mark.parametrize(
    "sizes, tiles, outer, inner",
    [
        ((("m", 1), ("n", 6144), ("k", 2048)), (1, 16, 16), "pij", "pij"),
        ((("m", 4), ("n", 4608), ("k", 1536)), (4, 4, 16), "pij", "pji"),
        ((("m", 4), ("n", 4608), ("k", 1536)), (4, 7, 1), "jip", "pji"),
    ],
)
def test_sums_left_unfinished_and_blocks_loaded_once_are_found_where_they_are_faster(
    sizes: tuple[tuple[str, int], ...], tiles: tuple[int, ...], outer: str, inner: str
) -> None:
    """Few rows times a large matrix: its rows in the order of memory, sums taken up again; each of
    its vectors loaded for all rows. Where prefetchers follow 16 rows."""
    hw = machine("x86_avx512")
    followed = (replace(m, prefetched_rows=min(m.prefetched_rows, 1) * 16) for m in hw.memories)
    hw = replace(hw, memories=tuple(followed))
    for covering in coverings(kernel("gemm", "gemm_f32", sizes), hw, [], may_reassociate=True):
        if covering.instruction == "fma_scalar_f32" and not any(
            r.is_packed for plan in covering.operands for r in plan.residences
        ):
            break
    found = descend(covering, count_work(covering, hw), hw, FASTEST)
    assert found is not None
    stays = tuple(replace(stay, level=int(stay.operand == "C")) for stay in found.stays)
    sizes_of_tiles = tuple(zip("ijp", tiles, strict=True))
    by_hand = Tiling(sizes_of_tiles, tuple(outer), tuple(inner), stays)
    assert is_legal(covering, by_hand, hw)
    assert cycles(covering, found, hw) <= cycles(covering, by_hand, hw)


@pytest.mark.parametrize(
    ("spec", "sizes", "kept", "tiles", "inner"),
    [
        # half of each sum at a time: of A it stays while all columns of B pass by; the blocks of B
        # are loaded one by one, two side by side
        ("x86_golden_cove", (128, 4096, 4096), {"B": ("j",)}, (12, 2, 2048), "pij"),
        # where loads are made as written, blocks of A and B that are loaded one by one leave room
        # for 2 x 40 sums, tiles of A for fewer
        ("x86_avx2", (8, 512, 500000), {"A": ("i",)}, (2, 5, 180), "pji"),
    ],
    ids=["sums in parts", "single blocks"],
)
def test_what_is_best_for_weights_packed_ahead_is_found(
    spec: str,
    sizes: tuple[int, int, int],
    kept: dict[str, tuple[str, ...]],
    tiles: tuple[int, int, int],
    inner: str,
) -> None:
    hw = machine(spec)
    gemm = kernel("gemm", "gemm_f32", tuple(zip("mnk", sizes, strict=True)))
    for covering in coverings(gemm, hw, [], may_reassociate=True):
        is_packed = any(r.is_packed for plan in covering.operands for r in plan.residences)
        is_along_rows = dict(covering.binding)["j"] == ("j",)
        if covering.instruction == "fma_f32" and is_along_rows and not is_packed:
            break
    plans = tuple(replace(plan, is_reordered=plan.buffer == "B") for plan in covering.operands)
    covering = replace(covering, operands=plans)
    found = descend(covering, count_work(covering, hw), hw, FASTEST)
    assert found is not None
    stays = tuple(
        replace(s, level=int(s.operand == "C"), kept=kept.get(s.operand, ())) for s in found.stays
    )
    by_hand = Tiling(tuple(zip("ijp", tiles, strict=True)), tuple("pji"), tuple(inner), stays)
    assert is_legal(covering, by_hand, hw)
    assert cycles(covering, found, hw) <= 1.002 * cycles(covering, by_hand, hw)


@pytest.mark.parametrize("order", ["ijp", "jpi", "pij"])
def test_where_copies_are_made_as_written_blocks_share_registers_with_the_sums(order: str) -> None:
    """16 registers: an input's vectors for all of a tile beside one element of the other's at a
    time, as 2 x 6 or 3 x 4 of them: 8 or 7 copies for 12 products."""
    hw = machine("x86_avx2")
    sizes = (("m", 96), ("n", 768), ("k", 256))
    for covering in coverings(kernel("gemm", "gemm_f32", sizes), hw, [], may_reassociate=True):
        packed = [p.buffer for p in covering.operands if len(p.residences) == 2]
        if dict(covering.binding).get("j") == ("j",) and packed == ["A"]:
            break
    work = count_work(covering, hw)
    found = descend(covering, work, hw, FASTEST)
    assert found is not None
    units = dict(estimate(covering, work, found, hw).unit_cycles)
    assert units["load"] <= units["fma"]
    stays = tuple(replace(s, level=0, kept=("j",)) if s.operand == "B" else s for s in found.stays)
    by_hand = Tiling(
        (("i", 6), ("j", 2), ("p", found.tile("p"))), tuple(order), tuple("pij"), stays
    )
    assert not is_legal(covering, by_hand, hw) or cycles(covering, found, hw) <= cycles(
        covering, by_hand, hw
    )


@pytest.mark.parametrize(
    "instruction, registers, sizes",
    [
        ("fma_scalar_f32", 4, (4, 32, 6)),
        ("fma_scalar_f32", 7, (4, 32, 6)),
        ("fma_scalar_f32", 4, (3, 32, 8)),
        ("fma_scalar_f32", 7, (3, 32, 8)),
        ("fma_f32", 4, (12, 16, 6)),
        ("fma_f32", 7, (12, 16, 6)),
    ],
)
def test_of_small_products_on_small_caches_no_tiling_is_better(
    instruction: str, registers: int, sizes: tuple[int, int, int]
) -> None:
    """Of all there are, 50 to 900. No cache holds all operands."""
    hw = machine("x86_golden_cove")
    small = {"zmm": 64 * registers, "l1": 768, "l2": 768, "l3": 1024}
    memories = tuple(
        replace(memory, size_bytes=small[memory.name], left_bytes=0)
        if memory.name in small
        else memory
        for memory in hw.memories
    )
    product = kernel("gemm", "gemm_f32", tuple(zip("mnk", sizes, strict=True)))
    covering = next(
        covering
        for covering in coverings(product, hw, [], may_reassociate=True)
        if covering.instruction == instruction
        and dict(covering.binding)["j"] == ("j",)
        and not any(r.is_packed for plan in covering.operands for r in plan.residences)
    )
    little = replace(hw, memories=memories)
    work = count_work(covering, little)
    found = descend(covering, work, little, FASTEST)
    best = search_exhaustively(covering, work, little)
    assert found is not None and best is not None
    assert cycles(covering, found, little) == best.value


GATES = """from isamap.lang import In, Out, f32, grid, kernel


@kernel
def gates():
    A, B, C = In(f32, 4, 1536), In(f32, 3, 1536, 1536), Out(f32, 4, 3, 1536)
    for i, g, j, p in grid(4, 3, 1536, 1536):
        C[i, g, j] += A[i, p] * B[g, p, j]
"""


def test_sums_left_unfinished_are_found_among_many_loops(tmp_path: Path) -> None:
    """As with few: loops that move the same operands stand together."""
    (tmp_path / "gates.py").write_text(GATES)
    hw = machine("x86_avx512")
    product = load_kernel(tmp_path / "gates.py", {}, "gates")
    for covering in coverings(product, hw, [], may_reassociate=True):
        if covering.instruction == "fma_scalar_f32" and not any(
            r.is_packed for plan in covering.operands for r in plan.residences
        ):
            break
    found = descend(covering, count_work(covering, hw), hw, FASTEST)
    assert found is not None
    tiles = (("i", 4), ("g", 1), ("j", 4), ("p", 16))
    stays = tuple(Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences)
    by_hand = Tiling(tiles, tuple("ipgj"), tuple("pgji"), stays)
    assert is_legal(covering, by_hand, hw)
    assert cycles(covering, found, hw) <= cycles(covering, by_hand, hw)


def test_a_tiling_that_is_known_is_improved() -> None:
    hw = machine("x86_avx2")
    product = kernel("gemm", "gemm_f32", SIZES[1])
    covering = next(coverings(product, hw, [], may_reassociate=True))
    work = count_work(covering, hw)
    first = next(starts(covering, work, hw, stay_choices(covering, hw)[0]))
    found = descend(covering, work, hw, FASTEST, first)
    assert found is not None and is_legal(covering, found, hw)
    assert cycles(covering, found, hw) < cycles(covering, first, hw)
    assert found == descend(covering, work, hw, FASTEST, found)


def test_tiles_of_the_same_loops_are_a_beginning_for_less_estimates() -> None:
    """What is found for one covering leads all others of its loops to legal tilings that are about
    as good as those that they find alone; where the tiles do not fit, they grow as before."""
    hw = machine("x86_avx512")
    product = kernel("gemm", "gemm_f32", SIZES[1])
    some = list(coverings(product, hw, [], may_reassociate=True))
    first, works = some[0], [count_work(covering, hw) for covering in some]
    like = descend(first, works[0], hw, FASTEST)
    assert like is not None
    others = [pair for pair in zip(some, works, strict=True) if pair[0].loops == first.loops][1:]
    assert len(others) >= 4
    num_alone = num_led = 0
    for covering, work in others:
        alone = Descent(covering, work, hw, FASTEST)
        led = Descent(covering, work, hw, FASTEST, like=like)
        best, found = alone.run(), led.run()
        assert best is not None and found is not None and is_legal(covering, found, hw)
        assert cycles(covering, found, hw) < 1.1 * cycles(covering, best, hw)
        num_alone, num_led = num_alone + len(alone.known), num_led + len(led.known)
    assert num_led < 0.95 * num_alone
    unfit = replace(like, tiles=tuple((name, 10**6) for name, _ in like.tiles))
    covering, work = others[0]
    assert descend(covering, work, hw, FASTEST, like=unfit) == descend(covering, work, hw, FASTEST)


def test_what_stays_far_above_what_is_wanted_is_not_improved() -> None:
    """The tiles that grow for this product lie near enough to the best ones to go on from them."""
    hw = machine("x86_avx2")
    product = kernel("gemm", "gemm_f32", (("m", 128), ("n", 32), ("k", 64)))
    covering = next(coverings(product, hw, [], may_reassociate=True))
    work = count_work(covering, hw)
    best = descend(covering, work, hw, FASTEST)
    assert best is not None
    least = cycles(covering, best, hw)
    assert descend(covering, work, hw, FASTEST, cutoff=least + 1) == best
    rough = descend(covering, work, hw, FASTEST, cutoff=least / 3)
    assert rough is not None and is_legal(covering, rough, hw)
    assert cycles(covering, rough, hw) >= least
    first = next(starts(covering, work, hw, stay_choices(covering, hw)[0]))
    assert descend(covering, work, hw, FASTEST, first, least / 3) == first


@pytest.mark.parametrize(
    ("order", "kept"),
    [
        ("ijp", {("j", "p")}),  # all of B stays while rows pass by
        ("jip", {("p",)}),
        ("jpi", {()}),  # each tile is read by all rows, and by nobody later
        ("pji", {()}),
        ("pij", {("j",)}),
        ("ipj", {("p", "j")}),
    ],
)
def test_packed_stays_keep_what_a_loop_around_finds_again(
    order: str, kept: set[tuple[str, ...]]
) -> None:
    hw = machine("x86_avx2")
    sizes = (("m", 96), ("n", 768), ("k", 256))
    for covering in coverings(kernel("gemm", "gemm_f32", sizes), hw, [], may_reassociate=True):
        packed = [p for p in covering.operands if len(p.residences) == 2]
        if [p.buffer for p in packed] == ["B"]:
            break
    (plan,) = packed
    found = [choice[plan.name, 1] for choice in kept_choices(covering, tuple(order))]
    assert set(found) == kept and len(found) == len(kept)


def along_columns(hw: Hardware, sizes: tuple[tuple[str, int], ...]) -> Covering:
    """A product by vectors along the columns of B and C."""
    return next(
        c for c in coverings(kernel("gemm", "gemm_f32", sizes), hw, [], may_reassociate=True)
        if c.instruction == "fma_f32" and dict(c.binding)["j"] == ("j",)
    )  # fmt: skip


def test_where_results_take_too_many_registers_two_smaller_tiles_are_tried() -> None:
    """Beside 7 x 4 sums no register keeps the seven elements that four vectors are multiplied by,
    beside 6 x 4 all six. A longer part of the sum takes none."""
    hw = machine("x86_golden_cove")
    sizes = (("m", 1500), ("n", 512), ("k", 2048))
    covering = along_columns(hw, sizes)
    work = count_work(covering, hw)
    descent = Descent(covering, work, hw, FASTEST)
    single = next(starts(covering, work, hw, stay_choices(covering, hw)[-1]))
    tiling = replace(single, tiles=(("i", 10), ("j", 4), ("p", 1)))
    assert [dict(x.tiles)["i"] for x in descent.smaller(tiling, "j")] == [7, 6]
    assert [(x.tile("i"), x.tile("j")) for x in descent.smaller(tiling, "p")] == [(7, 4), (10, 2)]


@pytest.mark.parametrize("name", ["x86_redwood_cove", "x86_avx512"])
def test_tiles_whose_calls_read_least_are_tried_under_every_order(name: str) -> None:
    """Of all tiles of two loops that fit, those with the fewest blocks of inputs per sum; what is
    found is as good as each order with them."""
    hw = machine(name)
    sizes = (("m", 300), ("n", 320), ("k", 500))
    covering = along_columns(hw, sizes)
    work = count_work(covering, hw)
    descent = Descent(covering, work, hw, FASTEST)
    single = list(starts(covering, work, hw, stay_choices(covering, hw)[0]))
    wide = descent.widest(single[0])
    fitting = [
        1 / i + 1 / j
        for i in descent.sizes["i"]
        for j in descent.sizes["j"]
        if is_legal(covering, single[0].with_tile("i", i).with_tile("j", j), hw)
    ]
    assert 1 / wide.tile("i") + 1 / wide.tile("j") == min(fitting)
    assert wide.tile("p") == 1
    found = descend(covering, work, hw, FASTEST)
    assert found is not None
    others = (replace(tiling, tiles=wide.tiles) for tiling in single)
    assert cycles(covering, found, hw) <= min(cycles(covering, x, hw) for x in others)


def test_what_was_searched_for_is_not_searched_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a search goes on that time ended: by equal coverings and an equal machine."""
    asked: list[Covering] = []

    def counted(covering: Covering, *others: Any) -> Tiling | None:
        asked.append(covering)
        return descend(covering, *others)

    monkeypatch.setattr(import_module("isamap.scheduler.solve"), "descend", counted)
    wishes, known = Wishes(may_reassociate=True, time_limit_s=60), KnownModels()
    product = kernel("gemm", "gemm_f32", (("m", 64), ("n", 48), ("k", 40)))
    first = find_schedule(product, machine("x86_avx512"), wishes, known=known)
    assert asked
    asked.clear()
    again = find_schedule(product, replace(machine("x86_avx512")), wishes, known=known)
    assert not asked
    assert again.best.tiling == first.best.tiling


def test_what_grows_first_does_not_decide() -> None:
    """16 columns of sums along rows of 33 KiB: from single units tiles of one column grow, which
    are a third slower."""
    hw = machine("x86_avx2")
    text = (
        "A, B, C = In(f32, 2816, 8448), In(f32, 16, 2816), Out(f32, 16, 8448)\n"
        "for j, i, p in grid(16, 8448, 2816):\n  C[j, i] += A[p, i] * B[j, p]\n"
    )
    found = find_schedule(parse_semantics(text, "columns"), hw, Wishes(may_reassociate=True)).best
    assert found.estimate.cycles < 36e6
