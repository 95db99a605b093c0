"""Refills of caches under the closed form, against a cache that is simulated line by line.

Oracle: a least-recently-used cache of whole lines, fed with every access of the program in order.
"""

import random
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.codegen import generate_c
from isamap.costmodels import FASTEST, Stay, Tiling, count_work, estimate
from isamap.costmodels.analytical import resumed_sum_cycles
from isamap.costmodels.caches import refill_cycles
from isamap.costmodels.hints import Asking, Hints, find_hints
from isamap.costmodels.lines import find_nest, find_streams, touched_lines
from isamap.costmodels.missing_share import missing_share
from isamap.hwdesc import Direction, LargePages, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import Covering, coverings, layout_rank
from isamap.program import in_use_order
from isamap.resources import bundled, find_hardware
from isamap.scheduler.descend import descend
from isamap.scheduler.lower import lower
from tests.codegen.program_calls import walk

ROOT = Path(__file__).parents[1] / "codegen"
LINE = 16
LATENCY = 16.0  # cycles
CACHE = """
  near:
    kind: cache
    size: {size} bytes
    granule: 16 bytes
    ports: {{write: 4 bytes/cycle}}
    source: invented
  regs:"""


def machine(folder: Path, size: int | None) -> isamap.Hardware:
    """vec4 with a cache of so many bytes, or none."""
    text = (ROOT / "vec4.yaml").read_text().replace("size: 8 * 16 bytes", "size: 64 * 16 bytes")
    if size is not None:
        text = text.replace("\n  regs:", CACHE.format(size=size), 1)
    (folder / "vec4.yaml").write_text(text)
    return load_hardware(folder / "vec4.yaml")


def product(hw: isamap.Hardware, m: int, n: int, k: int) -> Covering:
    """A matrix product with natural layouts, vectors along the rows of B."""
    kernel = load_kernel(ROOT / "c_kernels.py", {"m": m, "n": n, "k": k}, "sgemm")
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        if dict(covering.binding)["j"] == ("j",):
            return covering
    raise AssertionError("the vector instruction matches")


def tiled(covering: Covering, i: int, j: int, outer: tuple[str, ...]) -> Tiling:
    """Registers hold a tile of C; A is broadcast element by element."""
    one_block = {plan.name for plan in covering.operands if plan.buffer == "A"}
    stays = tuple(Stay(p.name, 0, int(p.name not in one_block), 1) for p in covering.operands)
    return Tiling((("i", i), ("j", j), ("p", 1)), outer, ("p", "i", "j"), stays)


def simulated_bytes(
    covering: Covering, tiling: Tiling, hw: isamap.Hardware, size: int, line_bytes: int = LINE
) -> int:
    """Bytes that enter a least-recently-used cache in a second run; written lines leave again."""
    program = lower(covering, tiling, hw)
    assert program is not None
    held: OrderedDict[int, None] = OrderedDict()
    total = 0
    for run in range(2):
        for name, places, (count,) in walk(program.body, {}, {}):
            if name not in ("load", "broadcast", "store"):
                continue
            place = places[1] if name == "store" else places[0]
            last = place + 4 * (1 if name == "broadcast" else count) - 1
            for line in range(place // line_bytes, last // line_bytes + 1):
                if line not in held:
                    total += run * line_bytes * (2 if name == "store" else 1)
                held[line] = None
                held.move_to_end(line)
                if len(held) > size // line_bytes:
                    held.popitem(last=False)
    return total


CASES = [
    (i, j, outer, size)
    for i, j in ((1, 1), (4, 2), (2, 5), (12, 1))
    for outer in (("i", "j", "p"), ("j", "i", "p"), ("p", "i", "j"))
    for size in (512, 2048)
] + [(4, 2, ("i", "j", "p"), 65536)]


def test_refills_are_those_of_a_simulated_cache(tmp_path: Path) -> None:
    guessed, counted = [], []
    for i, j, outer, size in CASES:
        hw = machine(tmp_path, size)
        covering = product(hw, 24, 40, 20)
        tiling = tiled(covering, i, j, outer)
        (cycles,) = refill_cycles(covering, tiling, hw)
        simulated = simulated_bytes(covering, tiling, hw, size)
        assert (simulated == 0) == (cycles.busy_cycles == 0) == (size == 65536)
        if simulated:
            guessed.append(4 * cycles.busy_cycles)
            counted.append(simulated)
    ratios = np.array(guessed) / np.array(counted)
    assert ratios.min() > 0.45 and ratios.max() < 2.2, ratios
    ranks = [np.argsort(np.argsort(values)) for values in (guessed, counted)]
    assert np.corrcoef(*ranks)[0, 1] > 0.9


def test_of_what_others_do_not_leave_for_certain_a_part_stays(tmp_path: Path) -> None:
    """All arrays together take 9 of 16 KiB."""
    found = []
    for size, left in ((16384, ""), (16384, "left: 4 KiB"), (4096, "")):
        hw = machine(tmp_path, size)
        text = (tmp_path / "vec4.yaml").read_text()
        given = (
            f"{left}\n    granule: 16 bytes\n    ports" if left else "granule: 16 bytes\n    ports"
        )
        text = text.replace("granule: 16 bytes\n    ports", given, 1)
        (tmp_path / "vec4.yaml").write_text(text)
        hw = load_hardware(tmp_path / "vec4.yaml")
        covering = product(hw, 24, 40, 20)
        tiling = tiled(covering, 4, 2, ("i", "j", "p"))
        found.append(refill_cycles(covering, tiling, hw)[0].busy_cycles)
    assert found[0] == 0
    assert 0.3 * found[2] < found[1] < 0.5 * found[2]


def test_what_is_packed_ahead_enters_with_the_gaps_behind_its_last_tiles(tmp_path: Path) -> None:
    """B has 800 floats; three tiles of four vectors hold its ten, at 4 bytes a cycle."""
    hw = machine(tmp_path, 512)
    covering = product(hw, 8, 40, 20)
    plans = (replace(p, is_reordered=p.buffer == "B") for p in covering.operands)
    ahead = replace(covering, operands=tuple(plans))
    busy = []
    for j in (5, 4):
        tiling = tiled(covering, 8, j, ("j", "i", "p"))
        found = [refill_cycles(c, tiling, hw)[0].busy_cycles for c in (covering, ahead)]
        busy.append(found[1] - found[0])
        program = lower(ahead, tiling, hw)
        assert program is not None
        packed = in_use_order(program, hw, ("B",))
        (layout,) = (x.layout for x in packed.inputs if x.buffer == "B")
        assert 4 * busy[-1] == pytest.approx(layout.size_bytes - 3200)
    assert busy == pytest.approx([0, 160])


def test_without_caches_nothing_is_added(tmp_path: Path) -> None:
    hw = machine(tmp_path, None)
    covering = product(hw, 8, 8, 8)
    tiling = tiled(covering, 2, 2, ("i", "j", "p"))
    assert refill_cycles(covering, tiling, hw) == ()
    assert estimate(covering, count_work(covering, hw), tiling, hw).refill_cycles == 0


def busy_cycles(tmp_path: Path, size: int, settings: str) -> float:
    """Of refilling a cache of a size, and what else its entry says, with twelve rows 256 bytes
    apart."""
    hw = machine(tmp_path, size)
    covering = product(hw, 24, 8, 64)
    tiling = tiled(covering, 12, 1, ("j", "i", "p"))
    path = tmp_path / "vec4.yaml"
    entry = "granule: 16 bytes\n    ports"
    path.write_text(path.read_text().replace(entry, f"{settings}{entry}"))
    (refills,) = refill_cycles(covering, tiling, load_hardware(path))
    return refills.busy_cycles


def test_rows_that_share_few_sets_are_fetched_again(tmp_path: Path) -> None:
    """Two ways of 1 KiB hold eight of twelve rows."""
    in_all_sets = busy_cycles(tmp_path, 2048, "")
    assert busy_cycles(tmp_path, 2048, "ways: 2\n    ") > 2 * in_all_sets


def test_rows_that_share_few_sets_have_all_ways_of_a_cache_that_others_use(tmp_path: Path) -> None:
    """Eight places in each of four ways of 2 KiB hold twelve rows, and would not in a quarter of
    the ways."""
    left = "left: 2 KiB\n    "
    in_all_sets = busy_cycles(tmp_path, 8192, left)
    assert 0 < in_all_sets == busy_cycles(tmp_path, 8192, f"{left}ways: 4\n    ")


@pytest.mark.parametrize("size", [512, 65536])
def test_a_schedule_on_a_machine_with_a_cache_is_right(size: int, tmp_path: Path) -> None:
    result = isamap.map(
        f"{ROOT / 'c_kernels.py'}:sgemm", machine(tmp_path, size), sizes={"m": 9, "n": 14, "k": 11},
        verify="full", may_reassociate=True, time_limit_s=2,
    )  # fmt: skip
    assert isinstance(result, isamap.Result) and result.verification.is_verified
    assert (result.schedule.estimate.refill_cycles > 0) == (size == 512)
    assert result.answer.bound_cycles <= result.schedule.estimate.cycles


def test_each_page_whose_address_is_not_known_waits(tmp_path: Path) -> None:
    """Pages of 128 bytes; rows of B are 160 bytes apart, those of A 80."""
    hw = machine(tmp_path, 1024)
    text = (tmp_path / "vec4.yaml").read_text()
    pages = "granule: 128 bytes\n    latency: 10 cycles"
    text = text.replace("granule: 16 bytes\n    ports: {write: 4 bytes/cycle}", pages)
    (tmp_path / "vec4.yaml").write_text(text)
    hw = load_hardware(tmp_path / "vec4.yaml")
    covering = product(hw, 24, 40, 20)
    for i, j, outer in ((4, 2, "ijp"), (2, 5, "jip"), (2, 2, "pij")):
        tiling = tiled(covering, i, j, tuple(outer))
        (cycles,) = refill_cycles(covering, tiling, hw)
        missed = simulated_bytes(covering, tiling, hw, 1024, 128) / 128
        assert cycles.busy_cycles == 0
        assert 0.4 < cycles.waiting_cycles / 10 / missed < 2.2, (i, j, outer)


def test_large_arrays_lie_on_few_pages(tmp_path: Path) -> None:
    """B, of 24 KiB, has pages of 4 KiB or one of 2 MiB; a buffer of four addresses."""
    hw = machine(tmp_path, 16384)
    text = (tmp_path / "vec4.yaml").read_text()
    pages = "granule: 4 KiB\n    latency: 10 cycles"
    text = text.replace("granule: 16 bytes\n    ports: {write: 4 bytes/cycle}", pages)
    waiting = []
    for least in ("24 KiB", "25 KiB"):
        large = f"kind: external, large_pages: {{size: 2 MiB, from: {least}}}"
        (tmp_path / "vec4.yaml").write_text(text.replace("kind: external", large, 1))
        hw = load_hardware(tmp_path / "vec4.yaml")
        covering = product(hw, 1, 128, 48)
        tiling = tiled(covering, 1, 1, ("p", "i", "j"))
        waiting.append(refill_cycles(covering, tiling, hw)[0].waiting_cycles)
    assert waiting[0] < waiting[1] / 2


def test_rows_walked_side_by_side_are_announced_and_columns_are_not(tmp_path: Path) -> None:
    """All of B: its columns from top to bottom, or two of its rows at a time."""
    hw = machine(tmp_path, 512)
    text = (tmp_path / "vec4.yaml").read_text()
    text = text.replace("    ports", "    latency: 10 cycles\n    prefetched_rows: 4\n    ports", 1)
    (tmp_path / "vec4.yaml").write_text(text)
    hw = load_hardware(tmp_path / "vec4.yaml")
    covering = product(hw, 1, 400, 40)
    waiting = []
    for outer, p in (("ijp", 1), ("ipj", 2)):
        tiling = replace(tiled(covering, 1, 1, tuple(outer)), tiles=(("i", 1), ("j", 1), ("p", p)))
        waiting.append(refill_cycles(covering, tiling, hw)[0].waiting_cycles)
    assert waiting[0] >= 10 * 40 * 100  # each line
    unfinished = 10 * 19 * 100  # each line of C, in all rounds of p but the first
    assert 0 <= waiting[1] - unfinished < waiting[0] / 50


@pytest.mark.parametrize("k, is_crowded", [(1024, True), (1040, False)])
def test_columns_whose_lines_share_few_sets_wait_for_each(k: int, is_crowded: bool) -> None:
    """Sixteen elements that are copied side by side lie one row of k floats apart."""
    hw = load_hardware(find_hardware("x86_avx512"))
    kernel = load_kernel(ROOT / "c_kernels.py", {"m": 4, "n": 64, "k": k}, "sgemm_nt")
    waiting = []
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        if any(r.is_packed for plan in covering.operands for r in plan.residences):
            tiling = descend(covering, count_work(covering, hw), hw, FASTEST)
            assert tiling is not None
            waiting.append(refill_cycles(covering, tiling, hw)[0].waiting_cycles)
        if len(waiting) == 4:
            break
    assert waiting and any(cycles > 64 * k for cycles in waiting) == is_crowded


def test_what_calls_read_in_place_keeps_the_nearest_cache_busy() -> None:
    hw = load_hardware(find_hardware("x86_avx512"))
    kernel = load_kernel(ROOT / "c_kernels.py", {"m": 4, "n": 16, "k": 4096}, "sgemm_nt")
    served = {}
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        work = count_work(covering, hw)
        served[covering.instruction, work.calls] = work.served_cycles
    assert served["dot_block_f32", 4] == 4 * (4 + 4) * 4096 * 4 / 64
    assert served["fma_scalar_f32", 4 * 4096] == 4 * 4096 / 2


@pytest.mark.parametrize("n, each", [(64, 1.0), (65, 1 + 2 * 15 / 16), (72, 1 + 2 * 1 / 2)])
def test_rows_that_begin_inside_a_line_are_loaded_from_two(n: int, each: float) -> None:
    """Vectors of a whole line along rows of n floats; two cycles for a second line."""
    hw = load_hardware(find_hardware("x86_avx512"))
    slow = replace(hw.caches[0], split_cycles=2.0)
    hw = replace(hw, memories=tuple(slow if x.name == slow.name else x for x in hw.memories))
    kernel = load_kernel(ROOT / "c_kernels.py", {"m": 4, "n": n, "k": 10}, "sgemm")
    found = set()
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        natural = all(layout_rank(plan) == 0 for plan in covering.operands)
        if natural and dict(covering.binding).get("j") == ("j",):
            loads = (f for f in count_work(covering, hw).flows if f.operand == "B")
            found |= {f.pass_cycles / covering.loop("j").units / 10 for f in loads}
    assert each in found


def test_calls_on_more_than_a_cache_holds_fetch_all_of_it_every_time() -> None:
    """Four rows of 16 KiB times sixteen, four at a time: in each of four calls eight pass through
    the nearest cache, which takes in 32 bytes per cycle."""
    hw = zen4_in_order()
    kernel = load_kernel(ROOT / "c_kernels.py", {"m": 4, "n": 16, "k": 4096}, "sgemm_nt")
    covering = next(
        covering
        for covering in coverings(kernel, hw, [], may_reassociate=True)
        if covering.instruction == "dot_block_f32" and covering.loop("j").units == 4
    )
    stays = tuple(Stay(p.name, 0, 1, 1) for p in covering.operands if p.residences)
    names = tuple(loop.name for loop in covering.loops)
    tiling = Tiling(tuple((name, 1) for name in names), names, names, stays)
    rows = 8 * 4096 * 4
    near = next(iter(refill_cycles(covering, tiling, hw))).busy_cycles * 32 / rows
    assert 4 <= near < 5


def zen4_in_order() -> isamap.Hardware:
    """Zen 4 with caches in which the line used least recently makes room, a nearest one that takes
    in 32 bytes per cycle, a second one whose lines wait `LATENCY` unannounced, 16 rows told apart,
    and large pages."""
    hw = load_hardware(find_hardware("x86_avx512"))
    caches = {
        cache.name: replace(cache, replaces_at_random=False, prefetched_rows=16, prefetched_loads=0)
        for cache in hw.caches
        if cache.prefetched_rows or cache.ways
    }
    near = caches["l1"]
    ports = tuple(
        replace(port, bytes_per_cycle=32.0) if port.direction is Direction.WRITE else port
        for port in near.ports
    )
    caches["l1"] = replace(near, ports=ports, prefetched_rows=0)
    caches["l2"] = replace(caches["l2"], latency_cycles=LATENCY)
    large = replace(hw.external, large_pages=LargePages(2**21, 2**22))
    others = {**caches, large.name: large}
    return replace(hw, memories=tuple(others.get(x.name, x) for x in hw.memories))


def avx512_product(m: int, n: int, k: int) -> tuple[isamap.Hardware, Covering]:
    """Vectors along the rows of B and C, elements of A; nothing is copied."""
    hw = zen4_in_order()
    return hw, along_rows(hw, "fma_scalar_f32", (m, n, k))


def along_rows(
    hw: isamap.Hardware,
    instruction: str,
    size: tuple[int, int, int],
    packed: str = "",
    name: str = "sgemm",
) -> Covering:
    """A product by vectors along the rows of B and C; `packed`: the operands copied to panels."""
    kernel = load_kernel(ROOT / "c_kernels.py", dict(zip("mnk", size, strict=True)), name)
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        panels = {x.name for x in covering.operands if any(r.is_packed for r in x.residences)}
        is_along_rows = dict(covering.binding)["j"] == ("j",)
        if covering.instruction == instruction and is_along_rows and panels == set(packed):
            return covering
    raise AssertionError("the vector instruction matches")


def sums_of_products(covering: Covering, outer: str, i: int, p: int) -> Tiling:
    """Tiles of i x 16 sums and p products each."""
    stays = tuple(Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences)
    return Tiling((("i", i), ("j", 1), ("p", p)), tuple(outer), ("p", "i", "j"), stays)


def waits(
    outer: str, i: int, p: int, size: tuple[int, int, int], *, are_asked: bool = True
) -> dict[str, float]:
    """Waiting cycles per cache of tiles of i x 16 sums and p products each; or where no cache is
    asked for lines."""
    hw, covering = avx512_product(*size)
    if not are_asked:
        hw = replace(hw, memories=tuple(replace(m, prefetch=None) for m in hw.memories))
    refills = refill_cycles(covering, sums_of_products(covering, outer, i, p), hw)
    return {cache.name: r.waiting_cycles for cache, r in zip(hw.caches, refills, strict=True)}


def test_of_rows_that_share_few_sets_zen_4_finds_most_again() -> None:
    """Elements of 18 rows of A, 2 KiB apart, nine in a set of eight lines: in order, each call
    would bring in its line."""
    in_order, covering = avx512_product(36, 64, 512)
    tiling = sums_of_products(covering, "ijp", 18, 1)
    hw = load_hardware(find_hardware("x86_avx512"))
    gone, some = (refill_cycles(covering, tiling, x)[0].busy_cycles for x in (in_order, hw))
    every = 2 * 36 * 4 * 512  # calls, two cycles per line
    assert 0.1 * every < some < 0.5 * every < every < gone


@pytest.mark.parametrize("rows, crowded", [(10, True), (8, False)])
def test_copied_rows_that_share_few_sets_drive_each_other_out_too(rows: int, crowded: bool) -> None:
    """Elements of rows of A, 8 KiB apart, in one set of eight lines: a loop goes on along the rows
    and copies one of each into a register of its own, for two vectors of B; half as many lines come
    in anew as where calls on both vectors read the elements in place."""
    hw, in_place = avx512_product(80, 64, 2048)
    roomy = replace(hw, memories=tuple(replace(x, ways=0) for x in hw.memories))
    copied = along_rows(hw, "fma_f32", (80, 64, 2048))
    anew = []
    for covering in (in_place, copied):
        stays = sums_of_products(covering, "ijp", rows, 1).stays
        stays = tuple(replace(stay, level=1) if stay.operand == "A" else stay for stay in stays)
        tiling = Tiling((("i", rows), ("j", 2), ("p", 1)), tuple("ijp"), tuple("pji"), stays)
        whole, least = (refill_cycles(covering, tiling, x)[0].busy_cycles for x in (hw, roomy))
        anew.append(whole - least)
    assert anew[1] == pytest.approx(anew[0] / 2, rel=0.1)
    assert (anew[1] > 0) == crowded


def test_of_rows_that_are_too_many_to_be_told_apart_some_are_followed() -> None:
    """Rows of B, walked along 16, 24 and 128 side by side, of which 16 can be told apart."""
    size = (8, 4096, 512)
    few, more, many = (waits("pij", 8, p, size, are_asked=False)["l2"] for p in (16, 24, 128))
    lines = 512 * 4096 * 4 / 64
    every = lines * LATENCY
    assert few < every / 32 < more < every * 0.75 < every * 0.95 < many


def test_rows_with_loads_of_their_own_may_be_more_than_those_of_a_loop() -> None:
    """Twenty rows of A by twenty instructions; twenty rows of B in turn by the one of a loop."""
    hw, covering = avx512_product(1760, 64, 1760)
    followed = tuple(replace(m, prefetched_loads=28, prefetch=None) for m in hw.memories)
    told_apart = tuple(replace(m, prefetch=None) for m in hw.memories)
    waiting: dict[str, list[float]] = {}
    for name, outer, i, p in (("A", "ijp", 20, 1), ("B", "pij", 1, 20)):
        tiling = sums_of_products(covering, outer, i, p)
        for memories in (followed, told_apart):
            refills = refill_cycles(covering, tiling, replace(hw, memories=memories))
            waiting.setdefault(name, []).append(sum(refill.waiting_cycles for refill in refills))
    assert waiting["A"][0] < waiting["A"][1] / 4
    assert waiting["B"][0] == waiting["B"][1]


def has_hint(place: str, outer: str, i: int, p: int, size: tuple[int, int, int]) -> bool:
    """Does the program of such a product ask for lines at a place that is written so?"""
    hw, covering = avx512_product(*size)
    return bool(hints_for(place, covering, sums_of_products(covering, outer, i, p), hw))


def hints_for(place: str, covering: Covering, tiling: Tiling, hw: isamap.Hardware) -> list[str]:
    """Lines of the program in C that ask for lines at a place that is written so."""
    program = lower(covering, tiling, hw)
    assert program is not None
    text = generate_c(program, hw, frozenset("AB")).text
    return [line for line in text.splitlines() if "_mm_prefetch" in line and place in line]


def test_hints_are_counted_on_where_the_program_has_them() -> None:
    """Rows of B, which are 16 KiB apart, for five sums each: asked for tile by tile, but not where
    a loop over the units of a tile reads them, which the sums go on through."""
    size = 40, 4096, 512
    has_hints = [has_hint("p_tile", "ijp", 5, p, size) for p in (1, 2)]
    asked, unasked = (waits("ijp", 5, p, size)["l2"] for p in (1, 2))
    assert has_hints == [True, False] and asked < unasked / 2  # 200 of 512 come too late


def test_rows_that_the_innermost_loop_asks_for_are_announced() -> None:
    """Parts of rows of A, which are 7040 bytes apart: the loop around them goes on to other rows,
    or stays with them."""
    asked, unasked = (waits(outer, 5, 32, (1760, 64, 1760)) for outer in ("pji", "pij"))
    assert asked["l3"] < unasked["l3"] / 8 and asked["l2"] < unasked["l2"] / 8


def test_rows_that_a_loop_over_tiles_asks_for_within_lines_are_announced() -> None:
    """Rows of A by ten elements, which begin within lines: for each ten the loop over these tiles
    asks for those in the rows of the next tile of i."""
    hw, covering = avx512_product(1760, 16, 1760)
    found = sums_of_products(covering, "ipj", 21, 10)
    tiling = replace(found, stays=tuple(replace(stay, level=1) for stay in found.stays))
    asked_at = hints_for(")A", covering, tiling, hw)
    assert len(asked_at) >= 21 and all("40 * p_tile" in line for line in asked_at)
    unasked = replace(hw, memories=tuple(replace(m, prefetch=None) for m in hw.memories))
    waiting = [
        sum(refill.waiting_cycles for refill in refill_cycles(covering, tiling, machine))
        for machine in (hw, unasked)
    ]
    assert waiting[0] < waiting[1] / 8


def test_rows_that_a_loop_over_tiles_asks_for_line_by_line_are_announced() -> None:
    """2 KiB of each of 13 rows of B, a line at a time: for each strip the loop over its lines asks
    for the next one, as near to each other as what prefetchers bring; of 64 lines it does not."""
    has_hints, found = [], []
    for n in (512, 1024):
        hw, covering = avx512_product(2, n, 13 * 1000)
        tiling = sums_of_products(covering, "ipj", 2, 13)
        tiling = replace(tiling, stays=tuple(replace(stay, level=1) for stay in tiling.stays))
        asked_at = hints_for(")B", covering, tiling, hw)
        has_hints.append(len(asked_at) >= 13 and all("64 * j_tile" in x for x in asked_at))
        nest = find_nest(covering, tiling, hw)
        (cache,) = (memory for memory in hw.caches if memory.prefetch is not None)
        streams = find_streams(covering, tiling, nest, hw, {})
        found += [
            find_hints(nest, x, Asking(cache, hw.caches[2], 1.0))
            for x in streams
            if x.strides[-1] == 52 * n
        ]
    assert has_hints == [True, False]
    assert found == [Hints(0.002, 0.0), Hints(1.0, 0.0)]  # 2 of 1000 strips come too late


def test_rows_that_are_left_to_prefetchers_begin_unannounced() -> None:
    """Parts of rows of A of 20 and of 80 lines: the program asks for the shorter ones, of which
    there are four times as many."""
    size = 1760, 64, 2560
    has_hints = [has_hint(")A", "pji", 5, p, size) for p in (320, 1280)]
    asked, unasked = (waits("pji", 5, p, size)["l3"] for p in (320, 1280))
    assert has_hints == [True, False] and asked < unasked / 2


def test_hints_for_rows_to_come_ask_for_a_line_of_each_in_turn() -> None:
    """Parts of rows of A of 10 lines, brought in for each of four tiles of j: with five rows a line
    that is asked for is far from the one before, along a single row it follows it."""
    hw, covering = avx512_product(1760, 64, 1920)
    far = []
    for num_rows in (5, 1):
        tiling = sums_of_products(covering, "pji", num_rows, 160)
        busy = []
        for asked in (100.0, 200.0):
            memories = tuple(replace(m, asked_cycles=asked * (m.name == "l2")) for m in hw.memories)
            refills = refill_cycles(covering, tiling, replace(hw, memories=memories))
            caches = zip(hw.caches, refills, strict=True)
            busy += [refill.busy_cycles for cache, refill in caches if cache.name == "l2"]
        far.append((busy[1] - busy[0]) / 100)
    lines = 1760 * 1920 * 4 / 64
    assert 3.9 < (far[0] - far[1]) / lines < 4.1


@pytest.mark.parametrize(
    "n, p, is_crowded", [(1024, 5, True), (1040, 5, False), (1024, 256, False)]
)
def test_sums_that_come_back_from_few_sets_wait_for_stores(
    n: int, p: int, is_crowded: bool
) -> None:
    """64 lines of C, which are a row apart, in each of 52 rounds of p, or in one."""
    assert (waits("jpi", 8, p, (64, n, 256))["l1"] > 0) == is_crowded


@pytest.mark.parametrize(
    "n, k, is_crowded", [(4096, 512, True), (4112, 512, False), (4096, 128, False)]
)
def test_rows_that_are_many_pages_apart_crowd_on_large_pages(
    n: int, k: int, is_crowded: bool
) -> None:
    """k lines of B, a row apart, for each of eight tiles of i: 16 KiB are few sets of the level-2
    cache where 8 MiB lie on large pages; 2 MiB lie on small ones, anywhere."""
    hw, covering = avx512_product(64, n, k)
    stays = tuple(Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences)
    tiling = Tiling((("i", 8), ("j", 1), ("p", 1)), tuple("jip"), ("p", "i", "j"), stays)
    refills = refill_cycles(covering, tiling, hw)
    (busy,) = (r.busy_cycles for c, r in zip(hw.caches, refills, strict=True) if c.name == "l2")
    least = k * n * 4 / 27  # bytes of B at the port's pace
    assert (busy > 4 * least) == is_crowded
    assert busy > least


@pytest.mark.parametrize("n", [1024, 1040])
def test_rows_that_are_copied_in_the_first_round_do_not_drive_out_the_copy(n: int) -> None:
    """Panels of B, 1024 x 32, for 40 tiles of A each: their rows, 4 KiB apart, share few sets of
    the level-2 cache, which takes in A and B once per panel, C, and no panel."""
    hw = load_hardware(find_hardware("x86_avx512"))
    covering = along_rows(hw, "fma_scalar_f32", (480, n, 1024), "B")
    stays = (Stay("B", 0, 0, 1), Stay("B", 1, 1, 1, ("p",)), Stay("C", 0, 1, 1))
    tiling = Tiling((("i", 12), ("j", 2), ("p", 1)), tuple("jip"), tuple("pji"), stays)
    refills = refill_cycles(covering, tiling, hw)
    (busy,) = (r.busy_cycles for c, r in zip(hw.caches, refills, strict=True) if c.name == "l2")
    once = 4 * (n / 32 * 480 * 1024 + n * 1024 + 2 * 480 * n) / 27  # bytes at the port's pace
    assert 0.9 * once < busy < 2 * once


@pytest.mark.parametrize("slowest", ["l3", "l2"])
def test_what_is_packed_in_the_first_round_enters_while_it_is_copied(slowest: str) -> None:
    """75 MiB of B, more than others leave of the level-3 cache, in panels for 11 tiles of A each:
    where the cache that takes them in most slowly takes them in as fast as the others do, the
    product takes less by all of what the copies do not hide, two cycles for each vector; A, which
    calls read where it lies, waits for nothing."""
    hw = load_hardware(find_hardware("x86_golden_cove"))
    covering = along_rows(hw, "fma_f32", (64, 7680, 2560), "B")
    stays = (Stay("A", 0, 1, 1), Stay("B", 0, 0, 1), Stay("B", 1, 1, 1, ("p",)), Stay("C", 0, 1, 1))
    tiling = Tiling((("i", 6), ("j", 4), ("p", 1)), tuple("jip"), tuple("pij"), stays)

    def at_pace(pace: float) -> tuple[float, int]:
        """Cycles in which what is packed enters the slowest cache at that pace, and of all."""
        memories = []
        for m in hw.memories:
            ports = (
                replace(x, bytes_per_cycle=pace if m.name == slowest else 64.0) for x in m.ports
            )
            is_outer = m.name in ("l2", "l3")
            even = replace(m, ports=tuple(ports), asked_cycles=0.0, strayed_cycles=0.0)
            memories.append(even if is_outer else m)
        on = replace(hw, memories=tuple(memories))
        refills = dict(zip((m.name for m in on.caches), refill_cycles(covering, tiling, on)))
        entering = refills[slowest].packed_cycles
        return entering, estimate(covering, count_work(covering, on), tiling, on).cycles

    (entering, slow), (_, fast) = at_pace(5.0), at_pace(64.0)
    once = 4 * 2560 * 7680 / 5
    assert 0.2 * once < entering < 1.1 * once
    assert slow - fast >= entering - 2 * 2560 * 7680 / 16


def test_of_what_the_nearest_cache_serves_a_share_adds_to_calls_that_run_meanwhile() -> None:
    """Sums of 6 x 4 blocks copy ten vectors for 24 calls, two at a time; four elements that calls
    read in place for each vector copied, of which the cache hands three in a cycle."""
    hw = load_hardware(find_hardware("x86_golden_cove"))
    near = replace(hw.caches[0], shown_share=0.25)
    shown = replace(hw, memories=tuple(near if m.name == near.name else m for m in hw.memories))
    stays = (Stay("A", 0, 0, 1), Stay("B", 0, 0, 1), Stay("C", 0, 1, 1))
    for instruction, tiles, served in (
        ("fma_f32", (6, 4), 5 / 24),
        ("fma_scalar_f32", (4, 1), 11 / 24),
    ):
        covering = along_rows(hw, instruction, (48, 512, 64))
        held = stays if instruction == "fma_f32" else stays[1:]
        tiling = Tiling(tuple(zip("ijp", (*tiles, 64))), tuple("jip"), tuple("pji"), held)
        work = count_work(covering, hw)
        cycles = [estimate(covering, work, tiling, on).cycles for on in (hw, shown)]
        assert cycles[1] - cycles[0] == pytest.approx(0.25 * served * work.calls, rel=0.02)


@pytest.mark.parametrize(("q", "stays"), [(5, False), (4, True)])
def test_rows_of_two_loops_crowd_where_one_does_not_go_round_evenly(q: int, stays: bool) -> None:
    """Elements of 3 x 5 pixels of 512 channels, rows of 18 pixels: those of nine pixels lie in the
    same set of eight lines, six in another, though fifteen in two sets are no more than eight in
    each; of 3 x 4, six in each."""
    hw = zen4_in_order()
    sizes = {"n": 1, "h": 18, "w": 22, "c": 512, "k": 16, "r": 3, "s": 3, "stride": 1, "pad": 0}
    kernel = load_kernel(bundled("kernels", ".py")["conv2d"], sizes, "conv2d_f32")
    covering = next(
        c for c in coverings(kernel, hw, [], may_reassociate=True)
        if c.instruction == "fma_scalar_f32" and dict(c.binding)["j"] == ("o",)
        and not any(r.is_packed for x in c.operands for r in x.residences)
    )  # fmt: skip
    names = tuple(loop.name for loop in covering.loops)
    tiles = {"p": 3, "q": q}
    order = ("b", "p", "q", "o", "u", "v", "i")
    held = tuple(Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences)
    tiling = Tiling(tuple((n, tiles.get(n, 1)) for n in names), order, order[-3:] + order[:4], held)
    busy = refill_cycles(covering, tiling, hw)[0].busy_cycles
    every = 16 * 20 * 9 * 512  # elements that are broadcast
    assert (busy < 0.3 * every) == stays


def test_crowded_columns_may_wait_less_where_they_are_only_read() -> None:
    """Copies of sixteen elements of A or B, 4 KiB apart, and no others."""
    hw = zen4_in_order()
    near = replace(hw.caches[0], read_conflict_cycles=1.0)
    other = replace(hw, memories=tuple(near if x.name == near.name else x for x in hw.memories))
    kernel = load_kernel(ROOT / "c_kernels.py", {"m": 4, "n": 64, "k": 1024}, "sgemm_nt")
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        tiling = descend(covering, count_work(covering, hw), hw, FASTEST)
        assert tiling is not None
        before, after = (refill_cycles(covering, tiling, x)[0].waiting_cycles for x in (hw, other))
        if before > 64 * 1024 * 9:
            assert after <= before - 64 * 1024 * 9
            return
    raise AssertionError("columns of B are copied")


def test_lines_side_by_side_stay_where_rows_of_another_array_share_few_sets(
    tmp_path: Path,
) -> None:
    """64 tiles of B, each a line of every one of 512 rows 4 KiB apart: they crowd in the level-2
    cache, and A, 512 x 16, does not come in again with every tile for that."""
    (tmp_path / "product.py").write_text(
        "from isamap.lang import In, Out, f32, grid, kernel\n\n@kernel\ndef product():\n"
        "    A, B, C = In(f32, 512, 16), In(f32, 512, 1024), Out(f32, 16, 1024)\n"
        "    for i, j, p in grid(16, 1024, 512):\n        C[i, j] += A[p, i] * B[p, j]\n"
    )
    hw = load_hardware(find_hardware("x86_avx512"))
    kernel = load_kernel(tmp_path / "product.py", {}, "product")
    covering = next(
        covering
        for covering in coverings(kernel, hw, [], may_reassociate=True)
        if covering.instruction == "fma_scalar_f32"
        and dict(covering.binding)["j"] == ("j",)
        and not any(r.is_packed for plan in covering.operands for r in plan.residences)
    )
    stays = tuple(Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences)
    tiling = Tiling((("i", 16), ("j", 1), ("p", 1)), tuple("ijp"), ("p", "i", "j"), stays)
    busy = {}
    for ways in (6, 0):
        cache = replace(hw.memory("l2"), ways=ways)
        other = replace(hw, memories=tuple(cache if x.name == "l2" else x for x in hw.memories))
        (busy[ways],) = (
            r.busy_cycles
            for c, r in zip(other.caches, refill_cycles(covering, tiling, other), strict=True)
            if c.name == "l2"
        )
    assert busy[0] <= busy[6] < 1.2 * busy[0]


def test_sums_left_unfinished_are_copied_while_caches_are_refilled() -> None:
    """64 MiB of B, 8 or 4 of its rows at a time: memory sets the pace, and of twice as many
    copies of C as much is hidden as of all else."""
    hw, covering = avx512_product(1, 8192, 2048)
    work = count_work(covering, hw)
    several = replace(hw, units=tuple(replace(unit, count=2 * unit.count) for unit in hw.units))
    cycles, copies = [], []
    for p in (8, 4):
        stays = tuple(
            Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences
        )
        tiling = Tiling((("i", 1), ("j", 1), ("p", p)), tuple("pji"), ("p", "i", "j"), stays)
        cycles.append(estimate(covering, work, tiling, hw).cycles)
        copies.append(resumed_sum_cycles(covering, work, tiling, hw))
        assert resumed_sum_cycles(covering, work, tiling, several) == copies[-1] / 2
    assert copies[1] > 1.9 * copies[0] > 100_000
    there_and_back = 3 * (copies[1] - copies[0])  # a load takes one cycle, a store two
    assert abs(cycles[1] - cycles[0]) < there_and_back / 2


def test_sums_of_one_tile_drive_each_other_out_between_load_and_store() -> None:
    """Rows of C are 4 KiB apart, a way of the nearest cache, which has 8; a line of 8 or 16 of them
    at a time. Lines beside each other do not stay either, from one round to the next."""
    hw, covering = avx512_product(16, 1024, 50_000)
    waiting = {}
    for i in (8, 16):
        stays = tuple(Stay(x.name, 0, 1, 1) for x in covering.operands if x.residences)
        tiling = Tiling((("i", i), ("j", 1), ("p", 14)), tuple("pij"), ("p", "j", "i"), stays)
        waiting[i] = refill_cycles(covering, tiling, hw)[0].waiting_cycles
    again = 16 * 1024 / 16 * (50_000 / 14 - 1)  # lines, each loaded and stored
    assert waiting[8] == 0
    conflict = hw.caches[0].resumed_conflict_cycles
    assert waiting[16] == pytest.approx(2 * again * conflict, rel=0.01)


def test_rows_side_by_side_that_go_on_where_others_began_are_one_long_row() -> None:
    """All of B, rows of 2 KiB, 8 MiB on four large pages: sixteen rows from end to end, or a part
    of each row."""
    whole, parts = (waits(outer, 1, 16, (1, 512, 4096))["l2"] for outer in ("pji", "jpi"))
    assert whole < LATENCY * 10 < LATENCY * 4096 < 20 * parts


def test_small_pages_of_rows_side_by_side_begin_together() -> None:
    """All of B, rows of 2 KiB, 2 MiB on small pages: sixteen rows at a time, or one."""
    side_by_side, single = (waits("pji", 1, p, (1, 512, 1023))["l2"] for p in (16, 1))
    assert side_by_side < single / 8


def test_unfinished_sums_beyond_the_caches_are_waited_for_line_by_line() -> None:
    """8 MiB of C in whole rows of tiles: two rounds of p fetch each of its lines once more than one
    round does, and what goes on with them waits; 64 KiB of C stay in the level-2 cache."""
    lines = 2048 * 1024 * 4 // 64
    far, once = (waits("pij", 8, p, (2048, 1024, 64))["l2"] for p in (32, 64))
    assert lines * LATENCY <= far < 1.5 * lines * LATENCY and once < lines
    assert waits("pij", 8, 32, (16, 1024, 64))["l2"] < lines * LATENCY / 128


def test_zen_4_copies_lines_far_apart_at_about_the_pace_at_which_they_enter() -> None:
    """Single lines of rows of B, 12,000 bytes apart, 6 MiB that the level-3 cache holds, copied for
    each of 52 tiles of A: 6 cycles each were measured, with the copy."""
    hw = load_hardware(find_hardware("x86_avx512"))
    covering = along_rows(hw, "fma_scalar_f32", (520, 3000, 512), "B")
    stays = (Stay("B", 0, 0, 1), Stay("B", 1, 1, 1, ("p",)), Stay("C", 0, 1, 1))
    tiling = Tiling((("i", 10), ("j", 1), ("p", 6)), tuple("ijp"), tuple("pji"), stays)
    refills = refill_cycles(covering, tiling, hw)
    (far,) = (r for cache, r in zip(hw.caches, refills, strict=True) if cache.name == "l2")
    copied = 52 * 188 * 512
    assert 2 * copied < far.busy_cycles + far.waiting_cycles < 13 * copied


def missed_at_random(num_lines: int, num_places: int) -> float:
    """The share of uses in turn that find their line gone, after a time, where a random one makes
    room."""
    rng = random.Random(0)
    places: list[int] = []
    missed = uses = 0
    for turn in range(400):
        for line in range(num_lines):
            if turn >= 200:
                uses += 1
                missed += line not in places
            if line in places:
                continue
            if len(places) == num_places:
                places.pop(rng.randrange(num_places))
            places.append(line)
    return missed / uses


@pytest.mark.parametrize("num_lines", [8, 16, 18, 20, 24, 32, 64])
def test_lines_that_make_room_at_random_are_gone_as_often_as_counted(num_lines: int) -> None:
    counted = missed_at_random(num_lines, 16)
    assert missing_share(num_lines / 16) == pytest.approx(counted, abs=0.05)


@pytest.mark.parametrize(
    "line, dims, begins, element",
    [
        (64, [(4, 16.0)], 4, 4),  # a vector anywhere
        (64, [(4, 16.0), (1200, 5.0)], 0, 4),  # rows of 300 elements
        (64, [(4, 30.0), (8192, 3.0)], 120, 4),  # the tile beside begins 30 elements further
        (64, [(4, 112.0), (10240, 5.0)], 448, 4),  # whole lines
        (64, [(8192, 7.0)], 4, 4),  # single elements lie in single lines
    ],
)
def test_rows_that_begin_within_lines_touch_one_more_now_and_then(
    line: int, dims: list[tuple[int, float]], begins: int, element: int
) -> None:
    counts = []
    for start in range(0, begins * line or 1, begins or 1):
        places = {start}
        for stride, count in dims:
            places = {place + stride * n for place in places for n in range(int(count))}
        counts.append(len({p // line for place in places for p in (place, place + element - 1)}))
    found = touched_lines(line, dims, element, begins)
    if begins:
        assert found.count == pytest.approx(sum(counts) / len(counts))
    else:  # rows begin at all multiples of what their distance leaves, one of them seen here
        assert counts[0] - 1 <= found.count <= counts[0] + 1


def test_where_any_line_makes_room_some_stay_of_what_is_too_much(tmp_path: Path) -> None:
    """Rows of B take 9 of 8 KiB: all comes again, or half of it."""
    found = []
    for kind in ("", "    replacement: random\n"):
        hw = machine(tmp_path, 8192)
        text = (tmp_path / "vec4.yaml").read_text()
        text = text.replace("granule: 16 bytes\n    ports", f"granule: 16 bytes\n{kind}    ports")
        (tmp_path / "vec4.yaml").write_text(text)
        hw = load_hardware(tmp_path / "vec4.yaml")
        covering = product(hw, 24, 40, 20)
        (refills,) = refill_cycles(covering, tiled(covering, 4, 2, ("i", "j", "p")), hw)
        found.append(refills.busy_cycles)
    assert 0 < found[1] < 0.7 * found[0]


def test_sums_in_crowded_rows_that_are_taken_up_again_wait_as_the_machine_says(
    tmp_path: Path,
) -> None:
    """Twelve rows of C, 256 bytes apart, in two ways; all of the sum in pieces of one."""
    waits = []
    for given in ("", "    resumed_conflict: 8 cycles\n", "    resumed_conflict: 1 cycle\n"):
        hw = machine(tmp_path, 2048)
        text = (tmp_path / "vec4.yaml").read_text()
        more = f"granule: 16 bytes\n    ways: 2\n    conflict: 8 cycles\n{given}    ports"
        (tmp_path / "vec4.yaml").write_text(text.replace("granule: 16 bytes\n    ports", more))
        hw = load_hardware(tmp_path / "vec4.yaml")
        covering = product(hw, 24, 64, 8)
        (refills,) = refill_cycles(covering, tiled(covering, 12, 1, ("p", "j", "i")), hw)
        waits.append(refills.waiting_cycles)
    assert waits[0] == waits[1] > waits[2] > 0
