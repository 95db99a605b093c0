"""May three products of halves of a number take less than one of the whole number?

In: a machine. Out: yes, or that they cannot. Not its job: the splitting (`rewrites.split_floats`),
what else it costs.

What an instruction for bf16 multiplies is asked for in f32: where others do that in no more than
three times its cycles, they do so wherever it matches.
"""

from dataclasses import replace
from math import inf

from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Apply, Expr, Kernel

from .cover import candidates

PRODUCTS = 3  # of halves, for one


def may_gain_by_halves(hw: Hardware) -> bool:
    """Does some instruction multiply bf16 more than three times as fast as others do f32?

    Not on a processor that is its own host: that would have to cut the numbers in plain C, and who
    lets a CPU sum in any order still expects products of floats, with all their bits.
    """
    is_cpu = hw.host is not None and not hw.host.is_apart
    return not is_cpu and any(_may_gain(instruction, hw) for instruction in hw.instructions)


def _may_gain(instruction: Instruction, hw: Hardware) -> bool:
    halves = instruction.semantics
    dtypes = {buffer.dtype for buffer in halves.buffers}
    if "bf16" not in dtypes or instruction.is_copy:
        return False
    if dtypes != {"bf16", "f32"} or len(halves.statements) > 1:
        return True
    extents = {loop.name: loop.extent for loop in halves.statements[0].loops}
    extents |= {repeat.name: 1 for repeat in instruction.repeats}
    count = hw.num_units(instruction.unit)
    cycles = instruction.issue_cycles.evaluate(extents) / count
    found = candidates(_in_whole(halves), 0, hw)
    return PRODUCTS * cycles < min((other.bound_cycles for other in found), default=inf)


def _in_whole(halves: Kernel) -> Kernel:
    """The same in f32."""
    buffers = tuple(replace(buffer, dtype="f32") for buffer in halves.buffers)
    statements = tuple(replace(s, value=_uncast(s.value)) for s in halves.statements)
    return replace(halves, buffers=buffers, statements=statements)


def _uncast(value: Expr) -> Expr:
    match value:
        case Apply("f32", (argument,)):
            return _uncast(argument)
        case Apply(op, arguments):
            return Apply(op, tuple(map(_uncast, arguments)))
    return value
