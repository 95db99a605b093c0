"""Calls to records.

In: calls whose tables, states and tokens are settled. Out: records, by columns of words. Not its
job: settling (`assemble`), reading back (`decode`).

The n-th record of a run is the n-th command of its calls in order. Calls of one form have the same
commands, so a form's records differ only in the fields that hold quantities.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import BitField, Choice, Command, Format, Hardware, Linear

from .call import CallKind, Calls, Column, Form
from .numbers import evaluate_all
from .pack_record import field_error

LIMB_BITS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Records of one format. `places`: [n], where each stands among all of its run. `limbs`:
    [n, words of 64 bits], the least significant first. `shift_by_base`: (first bit, factor) of
    each field to which the base address was added, times the factor."""

    layout: Format
    places: np.ndarray
    limbs: np.ndarray
    shift_by_base: tuple[tuple[int, Fraction], ...] = ()


def commands_of(form: Form, hw: Hardware) -> tuple[Command, ...]:
    """The commands that a call of a form writes (an idle one: per cycle)."""
    assert hw.encoding is not None
    match form.kind:
        case CallKind.LOAD_TABLE:
            return (hw.encoding.table(form.name).load,)
        case CallKind.SET_STATE:
            return (hw.encoding.state(form.name).setter,)
        case CallKind.IDLE:
            assert hw.encoding.idle is not None
            return (hw.encoding.idle,)
        case CallKind.END:
            assert hw.encoding.ending is not None
            return (hw.encoding.ending.command,)
        case CallKind.INSTRUCTION:
            bits = hw.instruction(form.name).bits
            if bits is None:
                raise ProgramError(
                    f"{hw.name} does not say how '{form.name}' is written as bits",
                    loc=hw.instruction(form.name).loc,
                    hint="add 'emit: {bits: ..}' to it",
                )
            return bits.written(form.fresh)


def chosen_value(choice: Choice, copies: tuple[tuple[str, int], ...]) -> Linear:
    """The value for the copy of the state that is obeyed."""
    if isinstance(choice, Linear):
        return choice
    assert len(copies) == 1, "a list has one value per copy of the one state with copies"
    return choice[copies[0][1]]


def encode(
    batches: tuple[Calls, ...], hw: Hardware, constants: Mapping[str, int]
) -> tuple[Records, ...]:
    """The records of a run. `constants`: the base address and where blocks of zeros lie.

    Raises:
        ProgramError: a number does not fit its field, or is none that the field can say.
    """
    commands = [commands_of(calls.form, hw) for calls in batches]
    counts = [len(own) * _times(calls) for calls, own in zip(batches, commands, strict=True)]
    per_call = np.zeros(sum(map(len, batches)), np.int64)
    for calls, count in zip(batches, counts, strict=True):
        per_call[calls.places] = count
    firsts = np.cumsum(per_call) - per_call
    result = []
    for calls, own in zip(batches, commands, strict=True):
        if calls.form.kind is CallKind.IDLE:
            times = calls.column("cycles")
            within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            places = np.repeat(firsts[calls.places], times) + within
            one = Calls(calls.form, places, {})
            result.append(_records(one, own[0], places, hw, constants))
            continue
        for number, command in enumerate(own):
            places = firsts[calls.places] + number
            result.append(_records(calls, command, places, hw, constants))
    return tuple(result)


def _times(calls: Calls) -> Column:
    return calls.values["cycles"] if calls.form.kind is CallKind.IDLE else 1


def _records(
    calls: Calls,
    command: Command,
    places: np.ndarray,
    hw: Hardware,
    constants: Mapping[str, int],
) -> Records:
    """One record per call, of one command."""
    assert hw.encoding is not None
    form, layout = calls.form, hw.encoding.format(command.format)
    values = {**constants, **calls.values}
    limbs = np.zeros((len(places), -(-8 * layout.size_bytes // LIMB_BITS)), np.uint64)
    by_base: list[tuple[int, Fraction]] = []
    for name, choice in command.values:
        value, field = chosen_value(choice, form.copies), layout.field(name)
        _put(limbs, field, evaluate_all(value, values, form.name), layout, form.name)
        if "base" in value.names:
            by_base.append((field.first_bit, dict(value.terms)["base"]))
    for field in layout.fields:
        if field.pops or field.pushes:
            count = sum(channel in field.pops for channel in form.pops)
            count += sum(channel in field.pushes for channel in form.pushes)
            _put(limbs, field, count, layout, form.name)
    return Records(layout, places, limbs, tuple(by_base))


def _put(limbs: np.ndarray, field: BitField, value: Column, layout: Format, who: str) -> None:
    """Values into their places, which hold zeros.

    Raises:
        ProgramError: one does not fit.
    """
    if isinstance(value, int):
        if not field.least <= value <= field.most:
            raise field_error(field, value, layout, who)
        bits = np.array([value & ((1 << field.width) - 1)], np.uint64)
    else:
        for extreme in (int(value.min()), int(value.max())):
            if not field.least <= extreme <= field.most:
                raise field_error(field, extreme, layout, who)
        bits = value.astype(np.uint64) & np.uint64((1 << field.width) - 1)
    limb, shift = divmod(field.first_bit, LIMB_BITS)
    limbs[:, limb] |= bits << np.uint64(shift)
    if shift + field.width > LIMB_BITS:
        limbs[:, limb + 1] |= bits >> np.uint64(LIMB_BITS - shift)


def record_bytes(records: tuple[Records, ...], hw: Hardware) -> bytes:
    """Records as the machine fetches them, one after another."""
    assert hw.encoding is not None
    sizes = np.zeros(sum(len(part.places) for part in records), np.int64)
    for part in records:
        sizes[part.places] = part.layout.size_bytes
    offsets = np.cumsum(sizes) - sizes
    result = np.zeros(int(sizes.sum()), np.uint8)
    for part in records:
        size = part.layout.size_bytes
        own = np.ascontiguousarray(part.limbs.astype("<u8")).view(np.uint8)[:, :size]
        own = own[:, ::-1] if hw.encoding.byte_order == "big" else own
        result[offsets[part.places][:, None] + np.arange(size)] = own
    return result.tobytes()
