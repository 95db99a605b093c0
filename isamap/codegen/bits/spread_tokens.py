"""Tokens that an instruction's flags cannot hold, carried by further calls.

In: the calls of a run. Out: calls whose tokens fit the fields that count them. Not its job: which
tokens there are (`cut_runs`).
"""

from dataclasses import replace

from isamap.errors import ProgramError
from isamap.hwdesc import Format, Hardware

from .call import CallKind, Calls, Form, in_order, unit_of
from .cut_runs import carrier


def spread_tokens(batches: tuple[Calls, ...], hw: Hardware) -> tuple[Calls, ...]:
    """The calls, with calls that only carry tokens before and after those that have too many.

    Raises:
        ProgramError: no call of the unit can carry a token of some channel.
    """
    result: list[Calls] = []
    for calls in batches:
        form = calls.form
        if not (form.pops or form.pushes):
            result.append(calls)
            continue
        room_pops, room_pushes = _room(form, hw)
        pops, late_pops = _split(form.pops, room_pops)
        pushes, late_pushes = _split(form.pushes, room_pushes)
        own = replace(calls, form=replace(form, pops=pops, pushes=pushes))
        result += (
            *(Calls(one, calls.places, {}) for one in _carriers(form, late_pops, (), hw)),
            own,
            *(Calls(one, calls.places, {}) for one in _carriers(form, (), late_pushes, hw)),
        )
    return in_order(result)


def _carriers(
    form: Form, pops: tuple[str, ...], pushes: tuple[str, ...], hw: Hardware
) -> list[Form]:
    found = []
    while pops or pushes:
        unit = unit_of(form, hw)
        assert unit, "what carries tokens runs on a unit"
        empty = Form(CallKind.INSTRUCTION, carrier(hw, unit))
        room_pops, room_pushes = _room(empty, hw)
        now_pops, rest_pops = _split(pops, room_pops)
        now_pushes, rest_pushes = _split(pushes, room_pushes)
        if (rest_pops, rest_pushes) == (pops, pushes):
            raise ProgramError(
                f"{hw.name}: no field of '{empty.name}' counts tokens of '{(pops + pushes)[0]}'",
                hint="add the channel to 'pops' or 'pushes' of a field of its format",
            )
        found.append(replace(empty, pops=now_pops, pushes=now_pushes))
        pops, pushes = rest_pops, rest_pushes
    return found


def token_format(form: Form, hw: Hardware) -> Format | None:
    """The format of a call's only record; None if it has several (and carries no tokens)."""
    assert hw.encoding is not None
    if form.kind is CallKind.END:
        assert hw.encoding.ending is not None
        return hw.encoding.format(hw.encoding.ending.command.format)
    bits = hw.instruction(form.name).bits
    if bits is None or len(bits.commands) != 1:
        return None
    return hw.encoding.format(bits.commands[0].format)


def _room(form: Form, hw: Hardware) -> tuple[dict[str, int], dict[str, int]]:
    """How many tokens per channel the call can pop, and push."""
    layout = token_format(form, hw)
    pops: dict[str, int] = {}
    pushes: dict[str, int] = {}
    for field in layout.fields if layout else ():
        pops |= dict.fromkeys(field.pops, field.most)
        pushes |= dict.fromkeys(field.pushes, field.most)
    return pops, pushes


def _split(
    tokens: tuple[str, ...], room: dict[str, int]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """As many as fit, and the rest."""
    left = dict(room)
    now: list[str] = []
    rest: list[str] = []
    for channel in tokens:
        fits = left.get(channel, 0) > 0
        left[channel] = left.get(channel, 0) - fits
        (now if fits else rest).append(channel)
    return tuple(now), tuple(rest)
