"""Copies that move blocks of a loop together, where a call costs more than its elements.

In: small machines with such copies, products. Out: failures. Not its job: sliding windows.
"""

import random
from functools import cache
from pathlib import Path

import pytest

from isamap.costmodels import Stay, Tiling, count_work, estimate
from isamap.costmodels.passes import flow_cycles
from isamap.emulator import time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel
from isamap.mapper import Covering, Setting, coverings, show_route
from isamap.scheduler import KnownModels, Wishes, find_schedule, lower, solve
from isamap.scheduler.algebra import SCALE
from isamap.scheduler.legality import is_offered
from isamap.scheduler.near_tilings import near_tilings, remember
from tests.scheduler.cases import kernel
from tests.scheduler.execution import assert_computes, assert_correct
from tests.scheduler.exhaustive import model_cycles, search_exhaustively
from tests.scheduler.machines import CHANNELS
from tests.scheduler.tilings import random_legal_tiling

NEAR = "  near: {kind: managed, size: 256 bytes, granule: 4 bytes, source: estimate}\n"


def copy_text(name: str, dtype: str, ends: tuple[str, str], rows: int, setup: int) -> str:
    """A copy of up to so many rows of 4 elements, which costs `setup` cycles beside a cycle each;
    rows on chip touch."""
    size = {"i8": 1, "i32": 4}[dtype]
    apart = {memory: "free" if memory == "dram" else f"{4 * size} bytes" for memory in ends}
    sides = [
        f"{side}: {{memory: {memory}, strides: [{apart[memory]}, {size} bytes]}}"
        for side, memory in zip("SD", ends, strict=True)
    ]
    units = {"load_c": "compute", "store_c": "store"}
    unit = units.get(name, name)
    return (
        f"  {name}:\n    semantics: |\n"
        f"      S, D = In({dtype}, {rows}, 4), Out({dtype}, {rows}, 4)\n"
        f"      for r, c in grid({rows}, 4):\n        D[r, c] = S[r, c]\n"
        "    extents: {r: at_most, c: at_most}\n"
        f"    operands: {{{', '.join(sides)}}}\n"
        f"    unit: {unit}\n    issue: {setup} + r cycles\n    latency: {setup + 9} + r cycles\n"
        "    source: estimate\n"
    )


def machine_text(
    rows: int, setup: int, *, room: int = 1024, is_token: bool = False, is_far: bool = False
) -> str:
    """Products of 4 x 4 x 4; copies of up to so many rows. `is_far`: factors go on from the memory
    that those fill to a small one, block by block."""
    factors = "near" if is_far else "tiles"
    text = (
        "name: ribbons\nclock: 1 GHz\n"
        f"synchronisation: {'tokens' if is_token else 'interlocked'}\nmemories:\n"
        "  dram: {kind: external, size: 1 MiB, source: estimate}\n"
        f"  tiles: {{kind: managed, size: {room} bytes, granule: 4 bytes, source: estimate}}\n"
        f"  sums: {{kind: managed, size: {room} bytes, granule: 16 bytes, source: estimate}}\n"
        f"{NEAR if is_far else ''}"
        f"units: {{load: {{}}, {'feed: {}, ' if is_far else ''}compute: {{}}, store: {{}}}}\n"
        f"{CHANNELS if is_token else ''}instructions:\n"
        "  multiply:\n    semantics: |\n"
        "      A, B, C = In(i8, 4, 4), In(i8, 4, 4), InOut(i32, 4, 4)\n"
        "      for i, j, k in grid(4, 4, 4):\n        C[i, j] += i32(A[i, k]) * i32(B[k, j])\n"
        "    extents: {i: at_most, j: at_most, k: at_most}\n"
        f"    operands: {{A: {factors}, B: {factors}, C: sums}}\n"
        "    unit: compute\n    issue: 2 * i cycles\n    latency: 9 + 2 * i cycles\n"
        "    accumulate: 2 * i cycles\n    source: estimate\n"
    )
    text += copy_text("load", "i8", ("dram", "tiles"), rows, setup)
    if is_far:
        text += copy_text("feed", "i8", ("tiles", "near"), 4, 0)
    text += copy_text("load_c", "i32", ("dram", "sums"), rows, setup)
    text += copy_text("store_c", "i32", ("sums", "dram"), rows, setup)
    for unit in ("load", "compute", "store") if is_token else ():
        text += f"  nop_{unit}: {{is_sync: true, unit: {unit}, issue: 1 cycle, source: estimate}}\n"
    return text


@cache
def product(m: int, n: int, k: int) -> Kernel:
    """A product of that size."""
    return kernel("gemm", "gemm", (("m", m), ("n", n), ("k", k)))


def written(text: str, folder: Path) -> Hardware:
    """A machine from text."""
    file = folder / "ribbons.yaml"
    file.write_text(text)
    return load_hardware(file)


def has_ribbon(covering: Covering) -> bool:
    """Does any copy move blocks of a loop together?"""
    return any(plan.has_window for plan in covering.operands)


@pytest.mark.parametrize("seed", range(6))
def test_any_legal_tiling_of_ribbons_computes_the_kernel_and_is_priced(
    seed: int, tmp_path: Path
) -> None:
    generator = random.Random(f"ribbons {seed}")
    rows, setup = generator.choice((6, 16, 64)), generator.choice((10, 30))
    kind = generator.choice(({}, {"is_token": True}, {"is_far": True}, {"is_far": True}))
    hw = written(machine_text(rows, setup, **kind), tmp_path)
    subject = product(*(generator.randint(5, 23) for _ in range(3)))
    found = [c for c in coverings(subject, hw, []) if has_ribbon(c)]
    assert found, "copies of more rows than a block has are cheaper"
    assert "is_far" not in kind or all(len(c.operand("A").residences) == 2 for c in found)
    covering = generator.choice(found)
    work = count_work(covering, hw)
    tiling = random_legal_tiling(covering, hw, generator, any_tile=seed % 2 > 0, attempts=200)
    assert tiling is not None
    timing = assert_correct(subject, covering, tiling, hw)
    priced = estimate(covering, work, tiling, hw)
    busy = {unit.unit: unit.busy_cycles for unit in timing.unit_busy}["load"]
    busy -= dict(timing.calls).get("nop_load", 0)  # which are not priced
    # shares of calls are whole positions
    assert dict(priced.unit_cycles)["load"] == pytest.approx(busy, rel=0.08)
    modelled = model_cycles(covering, work, hw, tiling)
    if modelled is not None:
        # which rounds cycles per position up to sixteenths, where they are moved and waited for
        paid = (flow_cycles(covering, tiling, flow) / flow.pass_cycles for flow in work.flows)
        rounded = sum(1 + positions / SCALE for positions in paid)
        assert priced.cycles - 1 <= modelled <= priced.cycles + 1 + 3 * rounded


def test_a_tile_of_rows_is_moved_by_one_call(tmp_path: Path) -> None:
    """A of 20 x 8 as two ribbons of 20 rows of 4, B of 8 x 4 and C of 20 x 4 as one each."""
    hw, subject = written(machine_text(64, 30), tmp_path), product(20, 4, 8)
    found = [c for c in coverings(subject, hw, []) if all(p.has_window for p in c.operands)]
    covering = next(c for c in found if c.operand("A").buffer == "A" and c.loop("i").block == 4)
    assert show_route(covering.operand("A"), "dram") == "dram -load-> tiles (i end to end)"
    tiles = tuple((loop.name, loop.units) for loop in covering.loops)
    order = tuple(loop.name for loop in covering.loops)
    stays = tuple(Stay(plan.name, 0, 1, 1) for plan in covering.operands)
    program = lower(covering, Tiling(tiles, order, order, stays), hw)
    assert program is not None
    timing = assert_computes(subject, program, hw, "one tile")
    calls = dict(timing.calls)
    assert (calls["load"], calls["load_c"], calls["store_c"], calls["multiply"]) == (3, 1, 1, 10)
    busy = {unit.unit: unit.busy_cycles for unit in timing.unit_busy}
    assert busy["load"] == 2 * (30 + 20) + 30 + 8


@pytest.mark.parametrize("is_far", [False, True])
def test_ribbons_are_chosen_where_calls_cost_more_than_their_elements(
    is_far: bool, tmp_path: Path
) -> None:
    subject = product(24, 20, 22)
    hw = written(machine_text(64, 40, is_far=is_far), tmp_path)
    answer = find_schedule(subject, hw, Wishes(time_limit_s=20))
    assert has_ribbon(answer.best.covering)
    cycles = assert_computes(subject, answer.best.program, hw, "ribbons").cycles
    plain = written(machine_text(4, 40, is_far=is_far), tmp_path)  # calls take one block
    blocks = find_schedule(subject, plain, Wishes(time_limit_s=20))
    assert not has_ribbon(blocks.best.covering)
    assert cycles < 0.8 * time_program(blocks.best.program, plain, compiled=False).cycles


def test_tiles_next_to_the_unit_are_no_start_where_ribbons_lie_further_out(tmp_path: Path) -> None:
    """From there single blocks go on, while what lies as blocks may have tiles in both memories."""
    hw = written(machine_text(64, 40, is_far=True), tmp_path)
    found = list(coverings(product(48, 40, 44), hw, []))
    ribbons = [c for c in found if any(p.has_window for p in c.operands if not p.is_output)]
    plain = next(covering for covering in found if not has_ribbon(covering))
    tiles = tuple((loop.name, 1) for loop in plain.loops)
    order = tuple(loop.name for loop in plain.loops)
    stays = tuple(Stay(p.name, n, 1, 1) for p in plain.operands for n in range(len(p.residences)))
    best = Tiling(tiles, order, order, stays)
    known = KnownModels()
    remember(known, plain, best)
    assert is_offered(plain, best, hw) and list(near_tilings(known, plain, hw)) == [best]
    assert ribbons and not any(list(near_tilings(known, other, hw)) for other in ribbons)


def test_inside_loops_that_are_held_blocks_move_alone(tmp_path: Path) -> None:
    hw, subject = written(machine_text(64, 30), tmp_path), product(20, 12, 16)
    free, held = (coverings(subject, hw, [], Setting(held=names)) for names in ((), ("i",)))
    assert any(map(has_ribbon, free))
    assert not any(map(has_ribbon, held))


def test_copies_that_cost_what_their_elements_do_move_blocks(tmp_path: Path) -> None:
    hw = written(machine_text(64, 0), tmp_path)
    assert not any(map(has_ribbon, coverings(product(20, 12, 16), hw, [])))


@pytest.mark.parametrize("sizes", [(12, 4, 8), (13, 5, 8), (8, 12, 4)], ids=str)
def test_no_tiling_of_ribbons_beats_the_solver(sizes: tuple[int, int, int], tmp_path: Path) -> None:
    hw = written(machine_text(16, 20, room=256), tmp_path)
    found = [c for c in coverings(product(*sizes), hw, []) if has_ribbon(c)]
    num_compared = 0
    for covering in found[:: max(1, len(found) // 2)]:
        work = count_work(covering, hw)
        best = search_exhaustively(covering, work, hw, most_tilings=20_000)
        if best is None or best.tiling is None:
            continue
        num_compared += 1
        solution = solve(covering, work, hw, time_limit_s=20)
        assert solution.tiling is not None
        assert solution.cycles <= best.value * 1.001 + 1 + len(work.flows)
    assert num_compared
