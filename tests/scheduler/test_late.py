"""Tiles that leave through a queue with other work leave while the next one is computed.

Oracle: the emulator, which executes and times every call.
"""

from dataclasses import replace
from pathlib import Path

import pytest

import isamap
from isamap.hwdesc import Hardware, Unit, load_hardware
from isamap.program import Edge, For, Node, When

FILE = Path(__file__).parents[1] / "specs" / "machines" / "one_queue.yaml"
ONE = load_hardware(FILE)


def with_two_queues() -> Hardware:
    """The machine, with a queue of their own for the stores."""
    stores = {"store_sums", "store_scaled"}
    return replace(
        ONE,
        units=(*ONE.units, Unit("out", 1)),
        instructions=tuple(
            replace(x, unit="out") if x.name in stores else x for x in ONE.instructions
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


@pytest.mark.parametrize(
    ("kernel", "sizes"),
    [
        ("gemm", {"m": 21, "n": 19, "k": 11}),
        ("gemm", {"m": 34, "n": 9, "k": 17}),
        ("batched_gemm", {"b": 3, "m": 13, "n": 10, "k": 6}),
    ],
)
def test_every_tile_leaves_once_and_right(kernel: str, sizes: dict[str, int]) -> None:
    found = isamap.map(kernel, ONE, sizes=sizes, verify="full")
    assert isinstance(found, isamap.Result) and found.verification.is_verified
    assert num_late(found.schedule.program.body) > 0


def test_a_shared_queue_does_not_hold_up_the_next_tile() -> None:
    sizes = {"m": 24, "n": 20, "k": 24}
    cycles = []
    for hw in (ONE, with_two_queues()):
        found = isamap.map("gemm", hw, sizes=sizes, verify="off")
        assert isinstance(found, isamap.Result) and found.timing is not None
        cycles.append(found.timing.cycles)
    assert cycles[0] <= 1.1 * cycles[1]


def test_a_store_that_adds_a_bias_runs_as_it_is() -> None:
    sizes = {"m": 6, "n": 7, "k": 5}
    found = isamap.map("gemm_epilogue", ONE, sizes=sizes, verify="full", time_limit_s=1)
    assert isinstance(found, isamap.PlanResult) and found.verification.is_verified
    answers = [task.answer for task in found.plan.tasks]
    assert [a and a.best.covering.instruction for a in answers] == ["multiply", "store_scaled"]


def test_the_estimate_knows_that_the_next_tile_does_not_wait() -> None:
    found = isamap.map("gemm", ONE, sizes={"m": 30, "n": 50, "k": 64}, verify="off")
    assert isinstance(found, isamap.Result) and found.timing is not None
    assert abs(found.schedule.cost_cycles - found.timing.cycles) <= 0.05 * found.timing.cycles
    assert num_late(found.schedule.program.body) > 0
