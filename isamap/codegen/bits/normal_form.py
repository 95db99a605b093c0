"""What of a call its bits say: the form that writing and reading back agree on.

In: calls. Out: the same calls with the numbers that they choose, in one order. Not its job: bits.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import numpy as np

from isamap.hwdesc import Bits, Command, Hardware

from .call import CallKind, Calls, split_by


def bits_by_name(hw: Hardware) -> dict[str, Bits]:
    """What each instruction that has a binary form writes."""
    return {item.name: item.bits for item in hw.instructions if item.bits is not None}


def normal_form(calls: Calls, known: Mapping[str, Bits]) -> Iterator[Calls]:
    """The calls without what the instruction fixes, strides of single steps, and latched places."""
    form = calls.form
    form = replace(form, pops=tuple(sorted(form.pops)), pushes=tuple(sorted(form.pushes)))
    calls = replace(calls, form=form, starts=None)
    if form.kind is not CallKind.INSTRUCTION:
        yield replace(calls, values=dict(sorted(calls.values.items())))
        return
    bits = known[form.name]
    if bits.view_of:
        calls = replace(calls, form=replace(form, name=bits.view_of))
        bits = known[bits.view_of]
    unsaid = _unsaid(bits, form.fresh)
    names = [name for name in bits.names if name not in unsaid]
    counts = [(name, own) for name, own in bits.counts if name in names]
    tables = [f"{entries.table}.first" for entries in bits.entries]
    if not counts:
        yield replace(calls, values={n: calls.values[n] for n in (*names, *tables)})
        return
    idle = np.ones((len(calls), len(counts)), bool)
    for number, (_, own) in enumerate(counts):
        for count in own:
            idle[:, number] &= calls.column(count) == 1
    for key, rows in split_by(idle):
        left = {name for (name, _), is_idle in zip(counts, key) if is_idle}
        part = calls.take(rows)
        kept = [name for name in names if name not in left]
        yield replace(part, values={n: part.values[n] for n in (*kept, *tables)})


def _unsaid(bits: Bits, fresh: tuple[str, ...]) -> frozenset[str]:
    """What is written only in calls that find something else new: where an operand was loaded
    from, where a chain's sums go."""
    written = bits.written(fresh)
    others = frozenset(command for command in bits.commands if command not in written)
    return _names(others) - _names(written)


def _names(commands: Collection[Command]) -> frozenset[str]:
    values = (value for command in commands for _, value in command.values)
    choices = (value if isinstance(value, tuple) else (value,) for value in values)
    return frozenset(name for choice in choices for one in choice for name in one.names)
