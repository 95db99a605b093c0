"""What of a call its bits say: the form that writing and reading back agree on.

In: calls. Out: the same calls with the numbers that they choose, in one order. Not its job: bits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from isamap.hwdesc import Bits, Hardware

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
    names = [name for name in bits.names if _is_known(name, calls)]
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


def _is_known(name: str, calls: Calls) -> bool:
    """Where an operand was loaded from is written only when it is newly loaded."""
    operand, _, rest = name.partition(".")
    return not rest.startswith("loaded.") or operand in calls.form.fresh
