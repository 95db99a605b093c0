"""Every token of a scheduled program is needed, and all together are enough.

In: programs for the machine with tokens, with tokens taken out. Out: failures. Not its job: the
emulator's own rules on tokens (tests of the emulator).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

import isamap
from isamap.emulator import time_program
from isamap.errors import MappingError, ProgramError
from isamap.hwdesc import Hardware
from isamap.program import Issue, Node, Program
from isamap.scheduler import Wishes, find_schedule
from tests.scheduler.cases import kernel, machine
from tests.scheduler.execution import assert_computes

SUBJECTS = (
    ("gemm", "gemm", (("m", 40), ("n", 64), ("k", 96))),
    ("gemv", "gemv", (("m", 200), ("k", 130))),
    ("pointwise_conv", "pointwise_conv", (("h", 6), ("w", 7), ("c", 50), ("k", 40))),
)
FETCH_BOUND = {0}  # fetches are so slow that the tile's last reader is always done before
ROOM = {"inp": 512, "wgt": 2048, "acc": 2048}  # bytes: many tiles
FIELDS = ("pops", "pushes")


@cache
def small_machine() -> Hardware:
    """VTA with little memory."""
    hw = machine("vta")
    memories = (replace(m, size_bytes=ROOM[m.name]) if m.name in ROOM else m for m in hw.memories)
    return replace(hw, memories=tuple(memories))


@cache
def program(number: int) -> Program:
    """The schedule of a subject."""
    subject = kernel(*SUBJECTS[number])
    return find_schedule(subject, small_machine(), Wishes(time_limit_s=10)).best.program


def without_one_token(body: tuple[Node, ...]) -> Iterator[tuple[str, str, tuple[Node, ...]]]:
    """Every body with one pop or push less: field, channel, body."""
    for position, node in enumerate(body):
        before, after = body[:position], body[position + 1 :]
        if not isinstance(node, Issue):
            for field, channel, inside in without_one_token(node.body):
                yield field, channel, (*before, replace(node, body=inside), *after)
            continue
        for field in FIELDS:
            channels = node.pops if field == "pops" else node.pushes
            for number, channel in enumerate(channels):
                left = channels[:number] + channels[number + 1 :]
                poorer = replace(node, pops=left) if field == "pops" else replace(node, pushes=left)
                yield field, channel, (*before, poorer, *after)


def rules_without_one_token(program: Program, hw: Hardware) -> Counter[tuple[str, str]]:
    """What the emulator says of programs with one pop or push less behind the first credits: how
    often nothing ("none"), a deadlock or a hazard, by field."""
    start = next(n for n, node in enumerate(program.body) if not isinstance(node, Issue))
    counts: Counter[tuple[str, str]] = Counter()
    for field, _, body in without_one_token(program.body[start:]):
        poorer = replace(program, body=(*program.body[:start], *body))
        try:
            time_program(poorer, hw, compiled=False)
        except ProgramError as error:
            counts[field, "deadlock" if "deadlock" in error.message else "hazard"] += 1
        else:
            counts[field, "none"] += 1
    return counts


def without_tokens(body: tuple[Node, ...]) -> tuple[Node, ...]:
    """The body without any pop or push."""
    return tuple(
        replace(node, pops=(), pushes=())
        if isinstance(node, Issue)
        else replace(node, body=without_tokens(node.body))
        for node in body
    )


@pytest.mark.parametrize("number", range(len(SUBJECTS)))
def test_the_whole_program_runs(number: int) -> None:
    subject = kernel(*SUBJECTS[number])
    assert_computes(subject, program(number), small_machine(), SUBJECTS[number][1])


@pytest.mark.parametrize("number", range(len(SUBJECTS)))
def test_without_tokens_units_overtake_each_other(number: int) -> None:
    intact = program(number)
    with pytest.raises(ProgramError, match="hazard"):
        bare = replace(intact, body=without_tokens(intact.body))
        time_program(bare, small_machine(), compiled=False)


@pytest.mark.parametrize("number", range(len(SUBJECTS)))
def test_each_token_is_needed(number: int) -> None:
    """A missing pop is a hazard, a missing push a deadlock; a missing credit may only cost time."""
    intact, hw = program(number), small_machine()
    cycles = time_program(intact, hw, compiled=False).cycles
    num_prologue = 0
    for node in intact.body:
        if not isinstance(node, Issue) or node.pops:
            break
        num_prologue += len(node.pushes)
    for count, (field, channel, body) in enumerate(without_one_token(intact.body)):
        rule = "hazard" if field == "pops" else "deadlock"
        poorer = replace(intact, body=body)
        if count < num_prologue:
            assert_credit_is_needed(poorer, hw, cycles)
            continue
        if number in FETCH_BOUND and (field, channel) == ("pops", "compute_to_load"):
            assert time_program(poorer, hw, compiled=False).cycles <= cycles
            continue
        with pytest.raises(ProgramError) as caught:
            time_program(poorer, hw, compiled=False)
        assert rule in caught.value.message, f"{field} {channel}"


def assert_credit_is_needed(poorer: Program, hw: Hardware, cycles: int) -> None:
    """A credit less from the start: a deadlock, or no faster."""
    try:
        slower = time_program(poorer, hw, compiled=False).cycles
    except ProgramError as error:
        assert "deadlock" in error.message
    else:
        assert slower >= cycles


@pytest.mark.parametrize(("name", "depth"), [("gemm", 1), ("gemm_epilogue", 1), ("gemm", 2)])
def test_channels_of_few_tokens_never_overflow(name: str, depth: int) -> None:
    sizes = {"m": 40, "n": 24, "k": 33}
    found = isamap.map(name, shallow(depth), sizes=sizes, verify="full", time_limit_s=1)
    assert found.verification.is_verified, found.verification.failure


def test_a_channel_that_bytes_of_sums_share_needs_room_for_two_tokens() -> None:
    with pytest.raises(MappingError, match="channel store_to_compute holds one token") as caught:
        find_schedule(kernel(*SUBJECTS[0]), shallow(1), Wishes(time_limit_s=1))
    assert "'depth' 2" in caught.value.hint


def shallow(depth: int) -> Hardware:
    """The small machine with channels of so many tokens."""
    hw = small_machine()
    return replace(hw, channels=tuple(replace(c, depth=depth) for c in hw.channels))
