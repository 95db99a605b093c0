"""Cut a program into runs of the machine, with the host's work between them.

In: calls and host steps in program order. Out: parts in order; each run starts with no token and
ends with none, and its last call is the ending that waits for everyone. Not its job: tokens that do
not fit an instruction's flags (`spread_tokens`).

A run is a barrier: everything before it is done. So tokens that would pass between runs, or between
the machine and its host, are not needed and are left out on both sides.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware

from .call import CallKind, Calls, Form, Part, Run, one_call, split_by
from .flatten import Flat

Numbered = list[tuple[Calls, np.ndarray]]  # calls, and the run of each


def cut_runs(flat: Flat, hw: Hardware) -> tuple[Part, ...]:
    """The parts of the program in order."""
    walls = np.array([place for place, _ in flat.steps], np.int64)
    own = [
        (calls, np.searchsorted(walls, calls.places))
        for calls in flat.calls
        if not _is_host(calls, hw)
    ]
    if hw.has_tokens:
        own = _drop_crossing_tokens(own)
    own = [(calls, runs) for calls, runs in own if not _is_idle(calls.form, hw)]
    result: list[Part] = []
    for number in range(len(walls) + 1):
        result += _run(own, number, hw)
        if number < len(walls):
            result.append(flat.steps[number][1])
    return tuple(result)


def _run(numbered: Numbered, number: int, hw: Hardware) -> tuple[Run, ...]:
    """The calls between two host steps with their ending; none if there are none."""
    kept = []
    for calls, runs in numbered:
        first, end = np.searchsorted(runs, (number, number + 1))
        if first < end:
            kept.append(calls.take(np.arange(first, end)))
    return (Run((*kept, *_ending(kept, hw))),) if kept else ()


def _is_host(calls: Calls, hw: Hardware) -> bool:
    return hw.host is not None and hw.instruction(calls.form.name).unit == hw.host.unit


def _is_idle(form: Form, hw: Hardware) -> bool:
    return hw.instruction(form.name).is_sync and not (form.pops or form.pushes)


def _drop_crossing_tokens(numbered: Numbered) -> Numbered:
    """Without tokens pushed in one run and popped in another, or never, or from elsewhere.

    The n-th push of a channel meets its n-th pop.
    """
    channels = {c for calls, _ in numbered for c in (*calls.form.pops, *calls.form.pushes)}
    keeps = {channel: _met(channel, numbered) for channel in sorted(channels)}
    result: Numbered = []
    for number, (calls, runs) in enumerate(numbered):
        form = calls.form
        columns = [_occurrences(form.pops, c, keeps[channel][0][number])
                   for c, channel in enumerate(form.pops)]  # fmt: skip
        columns += [_occurrences(form.pushes, c, keeps[channel][1][number])
                    for c, channel in enumerate(form.pushes)]  # fmt: skip
        if not columns:
            result.append((calls, runs))
            continue
        for kept, rows in split_by(np.stack(columns, axis=1)):
            tokens = [t for t, keep in zip((*form.pops, *form.pushes), kept) if keep]
            num_pops = int(kept[: len(form.pops)].sum())
            less = replace(form, pops=tuple(tokens[:num_pops]), pushes=tuple(tokens[num_pops:]))
            result.append((calls.take(rows, less), runs[rows]))
    return result


def _occurrences(tokens: tuple[str, ...], position: int, kept: np.ndarray) -> np.ndarray:
    """Of the tokens of one channel, [calls, how many], the column of the one at `position`."""
    column: np.ndarray = kept[:, tokens[:position].count(tokens[position])]
    return column


def _met(channel: str, numbered: Numbered) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """Per batch with pops, and with pushes: which tokens meet another in their run,
    [calls, tokens of a call]."""
    sides = []
    for tokens in (
        [calls.form.pops for calls, _ in numbered],
        [calls.form.pushes for calls, _ in numbered],
    ):
        users = [
            (number, *numbered[number], own.count(channel))
            for number, own in enumerate(tokens)
            if channel in own
        ]
        places = [np.repeat(calls.places, count) for _, calls, _, count in users]
        order = np.argsort(np.concatenate([np.zeros(0, np.int64), *places]), kind="stable")
        where = np.concatenate([np.zeros(0, np.int64), *(np.repeat(r, c) for _, _, r, c in users)])
        sides.append((users, order, where[order]))
    paired = min(len(order) for _, order, _ in sides)
    meets = sides[0][2][:paired] == sides[1][2][:paired]
    found: list[dict[int, np.ndarray]] = []
    for users, order, _ in sides:
        kept = np.zeros(len(order), bool)
        kept[order[:paired]] = meets
        ends = np.cumsum([len(calls) * count for _, calls, _, count in users])
        parts = np.split(kept, ends[:-1])
        found.append(
            {
                number: part.reshape(len(calls), count)
                for (number, calls, _, count), part in zip(users, parts)
            }
        )
    return found[0], found[1]


def _ending(batches: list[Calls], hw: Hardware) -> Iterator[Calls]:
    """Every unit that did something tells the ending's unit, which then ends the run."""
    ending = hw.encoding.ending if hw.encoding else None
    if ending is None:
        return
    place = max(int(calls.places[-1]) for calls in batches) + 1
    pops: list[str] = []
    if hw.has_tokens:
        channels = {(c.source_unit, c.target_unit): c.name for c in hw.channels}
        by_time = sorted(batches, key=lambda calls: int(calls.places[0]))
        for unit in dict.fromkeys(hw.instruction(calls.form.name).unit for calls in by_time):
            if unit == ending.unit:
                continue
            if (unit, ending.unit) not in channels:
                raise ProgramError(
                    f"{hw.name}: unit {unit} cannot tell unit {ending.unit} that it is done",
                    hint="add a channel between them, or let another unit end the run",
                )
            pops.append(channels[unit, ending.unit])
            form = Form(CallKind.INSTRUCTION, carrier(hw, unit), (), (pops[-1],))
            yield one_call(form, place, {})
            place += 1
    yield one_call(Form(CallKind.END, "end", tuple(pops)), place, {})


def carrier(hw: Hardware, unit: str) -> str:
    """The unit's instruction that only carries tokens.

    Raises:
        ProgramError: it has none.
    """
    for instruction in hw.instructions:
        if instruction.is_sync and instruction.unit == unit:
            return instruction.name
    raise ProgramError(
        f"{hw.name} has no instruction on unit {unit} that only carries tokens",
        hint="add one with 'is_sync: true'",
    )
