"""Copies of two dimensions that bring a long run of elements row by row, in one call.

In: a machine that adds vectors, whose copies take 4 rows of 9. Out: failures. Not its job: which
blocks are moved together (`test_ribbons`).
"""

import random
from collections import Counter
from pathlib import Path

import pytest

from isamap.costmodels import Stay, Tiling, count_work, estimate
from isamap.costmodels.exchange_waits import token_cycles
from isamap.costmodels.passes import flow_cycles
from isamap.emulator import time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import Covering, coverings, cut_run, spread
from isamap.scheduler import Status, find_schedule, lower, solve
from isamap.scheduler.stalls import SCALE
from tests.scheduler.execution import assert_correct
from tests.scheduler.exhaustive import model_cycles, search_exhaustively
from tests.scheduler.machines import CHANNELS
from tests.scheduler.tilings import random_legal_tiling

KERNELS = """from isamap.lang import In, Out, grid, i32, kernel


@kernel
def line(n=144):
    A, B, C = In(i32, n), In(i32, n), Out(i32, n)
    for i in range(n):
        C[i] = A[i] + B[i]


@kernel
def lines(m=5, n=37):
    A, B, C = In(i32, m, n), In(i32, n), Out(i32, m, n)
    for i, j in grid(m, n):
        C[i, j] = A[i, j] + B[j]
"""
CORES = "cores: {grid: {x: 3}, memories: [near], units: [vector], source: estimate}\n"
ROWS = "{r: at_most, c: at_most}"


def copy_text(
    name: str, ends: tuple[str, str], unit: str, extents: str, rows: str, columns: int
) -> str:
    """A copy of up to 4 rows of `columns` numbers, which costs 10 cycles beside two numbers a
    cycle; how its rows lie on chip. That out runs through rows first, that in through numbers."""
    loops = f"r, c in grid(4, {columns})" if unit == "store" else f"c, r in grid({columns}, 4)"
    near = f"strides: [{rows}, 4 bytes]"
    far = "strides: [{nonzero: true}, 4 bytes]"
    sides = [
        f"{side}: {{memory: {memory}, {near if memory == 'near' else far}}}"
        for side, memory in zip("SD", ends, strict=True)
    ]
    return (
        f"  {name}:\n    semantics: |\n      S, D = In(i32, 4, {columns}), Out(i32, 4, {columns})\n"
        f"      for {loops}:\n        D[r, c] = S[r, c]\n"
        f"    extents: {extents}\n    operands: {{{', '.join(sides)}}}\n    unit: {unit}\n"
        "    issue: 10 + r * ceil(c / 2) cycles\n    latency: 30 + r * ceil(c / 2) cycles\n"
        "    source: estimate\n"
    )


def machine_text(
    *,
    width: int = 4,
    columns: int = 9,
    granule: int = 4,
    extents: str = ROWS,
    rows: str = "",
    is_token: bool = False,
    has_cores: bool = False,
    room: int = 4096,
) -> str:
    """Sums of so many numbers at a time; rows of a copy lie end to end on chip, if so told."""
    text = (
        "name: rows\nclock: 1 GHz\n"
        f"synchronisation: {'tokens' if is_token else 'interlocked'}\nmemories:\n"
        "  dram: {kind: external, size: 1 MiB, source: estimate}\n"
        f"  near: {{kind: managed, size: {room} bytes, granule: {granule} bytes, "
        "source: estimate}\n"
        f"units: {{load: {{}}, vector: {{}}, store: {{}}}}\n{CORES if has_cores else ''}"
        f"{CHANNELS.replace('compute', 'vector') if is_token else ''}instructions:\n"
        "  add:\n    semantics: |\n"
        f"      A, B, C = In(i32, {width}), In(i32, {width}), Out(i32, {width})\n"
        f"      for i in range({width}):\n        C[i] = A[i] + B[i]\n"
        "    extents: {i: at_most}\n    operands: {A: near, B: near, C: near}\n"
        "    unit: vector\n    issue: 2 cycles\n    latency: 5 cycles\n    source: estimate\n"
    )
    rows = rows or f"{4 * columns} bytes"
    text += copy_text("fetch", ("dram", "near"), "load", extents, rows, columns)
    text += copy_text("put", ("near", "dram"), "store", extents, rows, columns)
    for unit in ("load", "vector", "store") if is_token else ():
        text += f"  nop_{unit}: {{is_sync: true, unit: {unit}, issue: 1 cycle, source: estimate}}\n"
    return text


def written(text: str, folder: Path) -> Hardware:
    """A machine from text."""
    file = folder / "rows.yaml"
    file.write_text(text)
    return load_hardware(file)


def subject(folder: Path, name: str, **sizes: int) -> Kernel:
    """One of the kernels above."""
    file = folder / "kernels.py"
    file.write_text(KERNELS)
    return load_kernel(file, sizes, name)


def by_rows(covering: Covering) -> bool:
    """Does any copy take its run row by row?"""
    return any(transfer.rows for plan in covering.operands for transfer in plan.transfers)


def test_a_run_is_cut_into_whole_calls_and_what_is_left() -> None:
    """As few calls as there can be of whole rows, and one of less than a row."""
    for count in range(1, 150):
        for size, most in ((9, 4), (4, 4), (7, 1), (1, 5)):
            pieces = cut_run(count, size, most)
            assert sum(n * rows * extent for n, rows, extent in pieces) == count
            assert all(1 <= rows <= most and 1 <= extent <= size for _, rows, extent in pieces)
            assert all(rows == 1 for _, rows, extent in pieces if extent < size)
            whole, rest = divmod(count, size)
            assert sum(n for n, _, _ in pieces) == -(-whole // most) + (rest > 0)


@pytest.mark.parametrize("size", [1, 7, 35, 36, 37, 72, 144, 149])
def test_a_tile_of_any_size_is_brought_in_as_few_calls_as_take_it(
    size: int, tmp_path: Path
) -> None:
    """36 numbers are one call, 37 two, 35 one of 27 and one of 8."""
    hw, kernel = written(machine_text(), tmp_path), subject(tmp_path, "line", n=size)
    found = [c for c in coverings(kernel, hw, []) if all(p.has_window for p in c.operands)]
    if size <= 4:
        assert not found, "one block needs no others beside it"
        return
    covering = next(c for c in found if by_rows(c))
    tiles = tuple((loop.name, loop.units) for loop in covering.loops)
    stays = tuple(Stay(plan.name, 0, 1, 1) for plan in covering.operands)
    tiling = Tiling(tiles, ("i",), ("i",), stays)
    program = lower(covering, tiling, hw)
    assert program is not None
    calls = Counter(dict(time_program(program, hw).calls))
    least = -(-(size // 9) // 4) + (size % 9 > 0)
    assert calls["fetch"] == 2 * least and calls["put"] == least
    timing = assert_correct(kernel, covering, tiling, hw)
    priced = estimate(covering, count_work(covering, hw), tiling, hw)
    assert dict(priced.unit_cycles)["load"] == pytest.approx(
        {unit.unit: unit.busy_cycles for unit in timing.unit_busy}["load"], rel=0.05
    )


@pytest.mark.parametrize("seed", range(10))
def test_any_legal_tiling_of_rows_computes_the_kernel_and_is_priced(
    seed: int, tmp_path: Path
) -> None:
    generator = random.Random(f"rows {seed}")
    width = generator.choice((4, 4, 12, 50))  # of a block: less or more than a row, than a call
    columns, granule = generator.choice(((9, 4), (8, 4), (8, 16)))  # a number or a block
    text = machine_text(width=width, columns=columns, granule=granule, is_token=seed % 3 == 0)
    hw = written(text, tmp_path)
    if seed % 2:
        m, n = generator.randint(1, 5), generator.randint(width + 1, width + 61)
        kernel = subject(tmp_path, "lines", m=m, n=n)
    else:
        kernel = subject(tmp_path, "line", n=generator.randint(width + 1, 160))
    covering = generator.choice([c for c in coverings(kernel, hw, []) if by_rows(c)])
    work = count_work(covering, hw)
    tiling = random_legal_tiling(covering, hw, generator, any_tile=seed % 4 > 1, attempts=200)
    assert tiling is not None
    timing = assert_correct(kernel, covering, tiling, hw)
    priced = estimate(covering, work, tiling, hw)
    busy, calls = {unit.unit: unit.busy_cycles for unit in timing.unit_busy}, dict(timing.calls)
    tokens = token_cycles(covering, work, tiling, hw)
    for unit in ("load", "store"):  # shares of calls are whole positions
        moving = busy[unit] - calls.get(f"nop_{unit}", 0)
        assert dict(priced.unit_cycles)[unit] - tokens.get(unit, 0) == pytest.approx(
            moving, rel=0.05
        )
        # other calls carry some; those that take the last credits back are not priced
        assert calls.get(f"nop_{unit}", 0) <= tokens.get(unit, 0) + 2
    modelled = model_cycles(covering, work, hw, tiling)
    if modelled is not None:
        # which rounds cycles per position up to sixteenths, where they are moved and waited for
        paid = (flow_cycles(covering, tiling, flow) / flow.pass_cycles for flow in work.flows)
        rounded = sum(1 + positions / SCALE for positions in paid)
        assert priced.cycles - 1 <= modelled <= priced.cycles + 1 + 3 * rounded


@pytest.mark.parametrize("seed", range(4))
def test_cores_with_shares_of_several_lengths_bring_theirs(seed: int, tmp_path: Path) -> None:
    """Where a tile may end in several ways, short ones are brought row by row."""
    generator = random.Random(f"rows on cores {seed}")
    hw = written(machine_text(has_cores=True), tmp_path)
    kernel = subject(tmp_path, "line", n=generator.choice((101, 118, 131, 149)))
    alone = filter(by_rows, coverings(kernel, hw, []))
    shared = [c for one in alone for c in spread(one, hw) if c.loop("i").is_ragged]
    covering = generator.choice(shared)
    tiling = random_legal_tiling(covering, hw, generator, any_tile=True, attempts=200)
    assert tiling is not None
    assert_correct(kernel, covering, tiling, hw)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": "40 bytes"},  # a gap between rows
        {"extents": "{r: exactly, c: at_most}"},
        {"extents": "{r: {multiple_of: 2}, c: at_most}"},
    ],
)
def test_rows_that_the_rules_do_not_allow_are_brought_one_by_one(
    change: dict[str, str], tmp_path: Path
) -> None:
    hw = written(machine_text(**change), tmp_path)
    found = list(coverings(subject(tmp_path, "line"), hw, []))
    assert not any(map(by_rows, found))


def test_fewer_calls_are_a_faster_answer(tmp_path: Path) -> None:
    kernel = subject(tmp_path, "line")
    best = find_schedule(kernel, written(machine_text(), tmp_path)).best
    single = find_schedule(kernel, written(machine_text(rows="40 bytes"), tmp_path)).best
    assert by_rows(best.covering)
    assert best.cost < 0.7 * single.cost


def in_blocks(covering: Covering) -> bool:
    """Does any ribbon lie where only whole blocks are aligned?"""
    return any(
        residence.holds_blocks(axis)
        for plan in covering.operands
        for residence in plan.residences
        for axis in plan.axes
    )


@pytest.mark.parametrize(("m", "n", "room"), [(1, 13, 176), (3, 13, 256), (2, 32, 256)])
def test_no_tiling_of_whole_blocks_beats_the_solver(
    m: int, n: int, room: int, tmp_path: Path
) -> None:
    """A row of 13 numbers takes the room of 16, as the next one begins at a multiple of 16 bytes:
    three of them do not fit 176 bytes."""
    hw = written(machine_text(columns=8, granule=16, room=room), tmp_path)
    kernel = subject(tmp_path, "lines", m=m, n=n)
    found = [c for c in coverings(kernel, hw, []) if in_blocks(c) and by_rows(c)]
    found.sort(key=lambda c: -sum(plan.has_window for plan in c.operands))
    num_compared = 0
    for covering in found[:: max(1, len(found) // 3)]:
        work = count_work(covering, hw)
        best = search_exhaustively(covering, work, hw, most_tilings=20_000)
        if best is None or best.tiling is None:
            continue
        num_compared += 1
        solution = solve(covering, work, hw, time_limit_s=20)
        assert solution.tiling is not None and solution.status is Status.OPTIMAL
        assert_correct(kernel, covering, solution.tiling, hw)
        paid = (flow_cycles(covering, best.tiling, f) / f.pass_cycles for f in work.flows)
        rounded = sum(1 + positions / SCALE for positions in paid)
        assert solution.cycles <= best.value + 1 + 3 * rounded
    assert num_compared
