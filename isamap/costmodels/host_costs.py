"""What statements cost on the host.

In: a kernel, the loops around its calls, a machine. Out: cycles, energy, bytes. Not its job:
deciding what runs there.
"""

from dataclasses import replace
from math import inf, prod

from isamap.hwdesc import Hardware, host_instruction, run_cycles
from isamap.ir import Kernel

from .aim import Costs
from .traffic import count_moved


def host_costs(
    kernel: Kernel, hw: Hardware, *, held: tuple[str, ...] = (), num_calls: int = 1
) -> Costs:
    """All iterations of a kernel on the host; infinite without one.

    Args:
        held: loops of which every iteration is a call of its own.
        num_calls: how many calls one iteration of them makes.
    """
    if hw.host is None:
        return Costs(inf, inf, inf)
    extents = {loop.name: loop.extent for s in kernel.statements for loop in s.loops}
    rounds = prod(extents[name] for name in held)
    instruction = host_instruction(kernel, hw.host, hw.external.name)
    operations_pj = instruction.energy_pj.evaluate_exact({}) if instruction.energy_pj else 0
    values = {name: 1 if name in held else extent for name, extent in extents.items()}
    moved = count_moved(replace(instruction, energy_pj=None), [(rounds, values)], hw)
    cycles = run_cycles(kernel, hw.host, rounds * num_calls)
    energy = float(operations_pj) + moved.energy_pj
    return Costs(cycles, energy, moved.external_bytes(hw))
