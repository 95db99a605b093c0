"""Programs of several cores: values, hand-computed cycles, and every rule they can break."""

from dataclasses import replace

import numpy as np
import pytest

from isamap.emulator import check_program, run, time_program
from isamap.errors import ProgramError
from isamap.hwdesc import Channel, Hardware, Synchronisation
from isamap.ir import Affine
from isamap.program import (
    Address,
    For,
    Issue,
    Node,
    Operand,
    Placement,
    Program,
    Span,
    Spread,
    natural_layout,
)
from tests.emulator.hand_programs import at, machine

BOTH = pytest.mark.parametrize("compiled", [True, False])
FOUR = machine("tiny_cores")
CORES = {"r": 128, "c": 64}  # bytes of the external memory per core, in a grid of 2 x 2
EVEN = Span(2)


def load(name: str, source: Address, target: int, size: int = 64) -> Issue:
    operands = (Operand("S", "dram", source, (1,)), Operand("D", "sram", at(target), (1,)))
    return Issue(name, operands, (("n", Span(size)),))


def store(target: Address, source: int = 64, size: int = 64) -> Issue:
    operands = (Operand("S", "sram", at(source), (1,)), Operand("D", "dram", target, (1,)))
    return Issue("store", operands, (("n", Span(size)),))


def add(source: int = 0, target: int = 64, size: int = 64) -> Issue:
    operands = (Operand("X", "sram", at(source), (1,)), Operand("Y", "sram", at(target), (1,)))
    return Issue("add", operands, (("n", Span(size)),))


def on_all(*body: Node, columns: Span = EVEN) -> For:
    """The body on every core, row by row; of each row only the first `columns`."""
    return For("r", EVEN, (For("c", columns, body, Spread("column")),), Spread("row"))


def program(*body: Node) -> Program:
    """Z[4, 64] from X[64] and Y[4, 64]."""
    return Program(
        "hand",
        "tiny_cores",
        (
            Placement("X", 0, natural_layout("i8", (64,))),
            Placement("Y", 64, natural_layout("i8", (4, 64))),
        ),
        (Placement("Z", 512, natural_layout("i8", (4, 64))),),
        body,
    )


LOAD_Y = load("load", at(64, **CORES), 64)
STORE_Z = store(at(512, **CORES))
WITH_MULTICAST = program(load("load_all", at(0), 0), on_all(LOAD_Y), on_all(add()), on_all(STORE_Z))
ONE_BY_ONE = program(on_all(load("load", at(0), 0)), on_all(LOAD_Y), on_all(add()), on_all(STORE_Z))
WHOLE_CORES = program(on_all(load("load", at(0), 0), LOAD_Y, add(), STORE_Z))
ROW_BY_ROW = program(
    For("r", EVEN, (load("load_row", at(0), 0),), Spread("row")),
    on_all(LOAD_Y),
    on_all(add()),
    on_all(STORE_Z),
)
ARRAYS = {
    "X": np.arange(64, dtype=np.int8),
    "Y": np.arange(256, dtype=np.int16).astype(np.int8).reshape(4, 64),
}


@BOTH
@pytest.mark.parametrize("which", [WITH_MULTICAST, ONE_BY_ONE, WHOLE_CORES, ROW_BY_ROW])
def test_every_core_has_its_own_memories(which: Program, compiled: bool) -> None:
    found = run(which, FOUR, ARRAYS, compiled=compiled).outputs["Z"]
    assert np.array_equal(found, ARRAYS["X"] + ARRAYS["Y"])


@BOTH
def test_cores_share_the_dma_and_compute_side_by_side(compiled: bool) -> None:
    timing = time_program(ONE_BY_ONE, FOUR, compiled=compiled)
    # eight loads of 4 cycles; the last one ends at 28 + 14, its sum 25 later, its store 9 later
    assert timing.cycles == 28 + 14 + 25 + 9
    units = {unit.unit: unit for unit in timing.unit_busy}
    assert units["dma"].core_cycles == ()
    assert units["dma"].busy_cycles == 8 * 4
    assert units["vector"].core_cycles == (20, 20, 20, 20)
    assert units["vector"].utilisation == 20 / timing.cycles
    assert [(t.memory, t.read_bytes, t.written_bytes) for t in timing.traffic] == [
        ("dram", 8 * 64, 4 * 64),
        ("sram", 12 * 64, 12 * 64),
    ]
    ports = {(p.memory, p.port): p.busy_cycles for p in timing.ports}
    assert ports == {("dram", "read"): 32, ("dram", "write"): 16, ("sram", "write"): 3 * 4}


@BOTH
def test_a_multicast_moves_its_bytes_through_the_shared_port_once(compiled: bool) -> None:
    timing = time_program(WITH_MULTICAST, FOUR, compiled=compiled)
    assert timing.cycles == 16 + 14 + 25 + 9
    assert [(t.memory, t.read_bytes, t.written_bytes) for t in timing.traffic] == [
        ("dram", 5 * 64, 4 * 64),
        ("sram", 12 * 64, 12 * 64),
    ]
    assert time_program(ROW_BY_ROW, FOUR, compiled=compiled).cycles == 20 + 14 + 25 + 9


@BOTH
def test_a_multicast_waits_for_all_receivers(compiled: bool) -> None:
    again = program(*WITH_MULTICAST.body, load("load_all", at(0), 0))
    # the last core reads the old bytes from 30 to 50, and the stores end at 64 whatever follows
    assert time_program(again, FOUR, compiled=compiled).cycles == 50 + 14
    late = program(*again.body, load("load_all", at(0), 0))
    assert time_program(late, FOUR, compiled=compiled).cycles == 50 + 14 + 14


@BOTH
def test_fewer_tiles_than_cores_leave_cores_idle(compiled: bool) -> None:
    ragged = Span(2, 3, Affine.of([("r", 2)]))  # three tiles on four cores
    cut = program(
        load("load_all", at(0), 0),
        on_all(LOAD_Y, add(), STORE_Z, columns=ragged),
        load("load", at(64), 64),
        store(at(512 + 192)),
    )
    expected = ARRAYS["X"] + ARRAYS["Y"]
    expected[3] = ARRAYS["Y"][0]
    assert np.array_equal(run(cut, FOUR, ARRAYS, compiled=compiled).outputs["Z"], expected)
    units = {u.unit: u for u in time_program(cut, FOUR, compiled=compiled).unit_busy}
    assert units["vector"].core_cycles == (20, 20, 20, 0)


@BOTH
def test_cores_that_run_one_call_may_not_write_the_same_bytes(compiled: bool) -> None:
    clash = program(load("load_all", at(0), 0), on_all(LOAD_Y), on_all(store(at(512, r=128))))
    message = r"store\[r=0, c=1\]: operand 'D': writes dram\[512\], which core 0 has written too"
    with pytest.raises(ProgramError, match=message):
        run(clash, FOUR, ARRAYS, compiled=compiled)
    partly = program(on_all(LOAD_Y), on_all(store(at(512, r=96, c=48))))
    with pytest.raises(ProgramError, match=r"\[r=0, c=1\].*dram\[560\], which core 0"):
        run(partly, FOUR, ARRAYS, compiled=compiled)


@BOTH
def test_a_core_does_not_see_what_another_one_loaded(compiled: bool) -> None:
    alone = program(load("load", at(0), 0), on_all(LOAD_Y), on_all(add()))
    with pytest.raises(
        ProgramError, match=r"add\[r=0, c=1\].*sram\[0\] of core 1, which was never"
    ):
        run(alone, FOUR, ARRAYS, compiled=compiled)


@BOTH
def test_a_cores_memory_ends_where_the_next_ones_begins(compiled: bool) -> None:
    over = program(on_all(load("load", at(0), 4096 - 32)))
    with pytest.raises(ProgramError, match=r"sram\[4064 .. 4127\] is out of bounds"):
        run(over, FOUR, ARRAYS, compiled=compiled)


COLUMNS = Spread("column")
STATIC: list[tuple[Node, str]] = [
    (For("c", EVEN, (LOAD_Y,), Spread("colum")), "no axis 'colum' of cores"),
    (For("c", EVEN, (LOAD_Y,), Spread("column", 0)), "cores 0 apart, expected at least 1"),
    (For("c", Span(3), (add(),), COLUMNS), "reaches core 2 along 'column', which has 2"),
    (For("c", EVEN, (For("d", EVEN, (add(),), COLUMNS),), COLUMNS), "loop 'd': reaches core 2"),
    (
        For("c", EVEN, (load("load_row", at(0), 0),), COLUMNS),
        "writes to all cores along 'column', but is inside loop 'c'",
    ),
]


@pytest.mark.parametrize(("node", "message"), STATIC)
def test_static_rules_of_cores(node: Node, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        check_program(program(node), FOUR)


def test_a_machine_without_cores_has_no_axis() -> None:
    with pytest.raises(ProgramError, match="no axis 'row' of cores"):
        check_program(WITH_MULTICAST, replace(FOUR, cores=None))


def tokens() -> Hardware:
    """The machine with a token queue from the DMA to each core's vector unit, and back."""
    channels = (Channel("there", "dma", "vector", 2), Channel("back", "vector", "dma", 2))
    return replace(FOUR, synchronisation=Synchronisation.TOKENS, channels=channels)


@BOTH
def test_tokens_are_each_cores_own(compiled: bool) -> None:
    both = replace(load("load_all", at(0), 0), pushes=("there",))
    y = load("load_all", at(64), 64)
    waits = replace(add(), pops=("there",), pushes=("back",))
    again = replace(load("load_all", at(0), 0), pops=("back",))
    right = program(y, both, on_all(waits), again)
    # both loads at 4 + 14, the sum at 18 + 25, one token of each core, then the load
    assert time_program(right, tokens(), compiled=compiled).cycles == 18 + 25 + 14
    early = program(y, both, on_all(waits), replace(again, pops=()))
    with pytest.raises(ProgramError, match=r"load_all\[\]: hazard with add.*sram\[0\] of core 0"):
        time_program(early, tokens(), compiled=compiled)
    lacking = program(y, load("load", at(0), 0), on_all(add()))
    with pytest.raises(ProgramError, match="hazard"):
        time_program(lacking, tokens(), compiled=compiled)
    one = program(y, replace(load("load", at(0), 0), pushes=("there",)), on_all(waits))
    with pytest.raises(ProgramError, match=r"add\[r=0, c=1\]: deadlock"):
        time_program(one, tokens(), compiled=compiled)
