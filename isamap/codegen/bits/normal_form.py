"""What of a call its bits say: the form that writing and reading back agree on.

In: a call. Out: the same call with the numbers that it chooses, in one order. Not its job: bits.
"""

from collections.abc import Mapping
from dataclasses import replace

from isamap.hwdesc import Bits, Hardware

from .call import Call, CallKind


def bits_by_name(hw: Hardware) -> dict[str, Bits]:
    """What each instruction that has a binary form writes."""
    return {item.name: item.bits for item in hw.instructions if item.bits is not None}


def normal_form(call: Call, known: Mapping[str, Bits]) -> Call:
    """The call without what the instruction fixes, strides of single steps, and latched places."""
    pops, pushes = tuple(sorted(call.pops)), tuple(sorted(call.pushes))
    call = replace(call, pops=pops, pushes=pushes, start=None)
    if call.kind is not CallKind.INSTRUCTION:
        return replace(call, values=dict(sorted(call.values.items())))
    bits = known[call.name]
    if bits.view_of:
        call, bits = replace(call, name=bits.view_of), known[bits.view_of]
    counts = dict(bits.counts)
    values = {}
    for name in bits.names:
        operand, _, rest = name.partition(".")
        if rest.startswith("loaded.") and operand not in call.fresh:
            continue
        if name in counts and all(call.values[count] == 1 for count in counts[name]):
            continue
        values[name] = call.values[name]
    for entries in bits.entries:
        values[f"{entries.table}.first"] = call.values[f"{entries.table}.first"]
    return replace(call, values=values)
