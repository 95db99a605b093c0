"""What of a call its bits say: the form that writing and reading back agree on.

In: a call. Out: the same call with the numbers that it chooses, in one order. Not its job: bits.
"""

from dataclasses import replace

from isamap.hwdesc import Hardware, quantities

from .call import Call, CallKind


def normal_form(call: Call, hw: Hardware) -> Call:
    """The call without what the instruction fixes, strides of single steps, and latched places."""
    call = replace(call, pops=tuple(sorted(call.pops)), pushes=tuple(sorted(call.pushes)))
    if call.kind is not CallKind.INSTRUCTION:
        return replace(call, values=dict(sorted(call.values.items())))
    instruction = hw.instruction(call.name)
    bits = instruction.bits
    assert bits is not None
    counts = dict(quantities(instruction).counts)
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
