"""Tiles that leave through a queue with other work leave while the next one is computed.

Oracle: the emulator, which executes and times every call.
"""

import random
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

import isamap
from isamap.hwdesc import Hardware, Unit, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import coverings
from isamap.program import Edge, For, Node, When
from isamap.resources import find_kernel
from tests.scheduler.execution import assert_correct
from tests.scheduler.tilings import random_legal_tiling

FILES = Path(__file__).parents[1] / "specs" / "machines"
ONE = load_hardware(FILES / "one_queue.yaml")
DMA = load_hardware(FILES / "one_dma.yaml")  # its sums pass the scratchpad on their way


def with_two_queues(hw: Hardware) -> Hardware:
    """The machine, with a queue of their own for the stores."""
    stores = {"store_sums", "store_scaled", "take_sums"}
    return replace(
        hw,
        units=(*hw.units, Unit("out", 1)),
        instructions=tuple(
            replace(x, unit="out") if x.name in stores else x for x in hw.instructions
        ),
    )


def num_late(nodes: tuple[Node, ...]) -> int:
    """Parts of the text that take out the tile before."""
    total = 0
    for node in nodes:
        if isinstance(node, When) and node.conditions[0][1] is Edge.LATER:
            total += 1
        if isinstance(node, For | When):
            total += num_late(node.body)
    return total


@pytest.mark.parametrize("hw", [ONE, DMA], ids=["one_queue", "one_dma"])
@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        ("gemm", {"m": 21, "n": 19, "k": 11}),
        ("gemm", {"m": 34, "n": 9, "k": 17}),
        ("batched_gemm", {"b": 3, "m": 13, "n": 10, "k": 6}),
    ],
)
def test_every_tile_leaves_once_and_right(kernel: str, sizes: dict[str, int], hw: Hardware) -> None:
    found = isamap.map(kernel, hw, sizes=sizes, verify="full")
    assert isinstance(found, isamap.Result) and found.verification.is_verified
    assert num_late(found.schedule.program.body) > 0


@pytest.mark.parametrize("hw", [ONE, DMA], ids=["one_queue", "one_dma"])
def test_a_shared_queue_does_not_hold_up_the_next_tile(hw: Hardware) -> None:
    sizes = {"m": 24, "n": 20, "k": 24}
    cycles = []
    for machine in (hw, with_two_queues(hw)):
        found = isamap.map("gemm", machine, sizes=sizes, verify="off")
        assert isinstance(found, isamap.Result) and found.timing is not None
        cycles.append(found.timing.cycles)
    assert cycles[0] <= (1.1 if hw is ONE else 2.0) * cycles[1]


@pytest.mark.parametrize("seed", range(4))
def test_any_tiling_leaves_through_a_passage_block_by_block(seed: int) -> None:
    generator = random.Random(seed)
    sizes = {name: generator.choice((5, 9, 13, 22)) for name in "mnk"}
    kernel = load_kernel(find_kernel("gemm")[0], sizes, "gemm")
    found = list(islice(coverings(kernel, DMA, []), 4))
    for _ in range(3):
        covering = generator.choice(found)
        tiling = random_legal_tiling(covering, DMA, generator, any_tile=True, attempts=40)
        if tiling is not None:
            assert_correct(kernel, covering, tiling, DMA)


def test_a_store_that_adds_a_bias_runs_as_it_is() -> None:
    sizes = {"m": 6, "n": 7, "k": 5}
    found = isamap.map("gemm_epilogue", ONE, sizes=sizes, verify="full")
    assert isinstance(found, isamap.PlanResult) and found.verification.is_verified
    answers = [task.answer for task in found.plan.tasks]
    instructions = [a and a.best.covering.instruction for a in answers]
    assert instructions == ["clear", "multiply", "store_scaled"]  # the sums stay on chip for it


def test_the_estimate_knows_that_the_next_tile_does_not_wait() -> None:
    found = isamap.map("gemm", ONE, sizes={"m": 30, "n": 50, "k": 64}, verify="off")
    assert isinstance(found, isamap.Result) and found.timing is not None
    assert abs(found.schedule.cost_cycles - found.timing.cycles) <= 0.05 * found.timing.cycles
    assert num_late(found.schedule.program.body) > 0
