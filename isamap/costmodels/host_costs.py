"""What statements cost on the host.

In: a kernel, the loops around its calls, a machine. Out: cycles, energy, bytes. Not its job:
deciding what runs there.
"""

from dataclasses import replace
from functools import partial
from math import inf, prod

from isamap.hwdesc import Hardware, host_instruction, run_cycles
from isamap.ir import Access, Affine, Kernel, map_accesses

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
    extents = kernel.extents
    rounds = prod(extents[name] for name in held)
    instruction = host_instruction(_rising(kernel), hw.host, hw.external.name)
    operations_pj = instruction.energy_pj.evaluate_exact({}) if instruction.energy_pj else 0
    values = {name: 1 if name in held else extent for name, extent in extents.items()}
    moved = count_moved(replace(instruction, energy_pj=None), [(rounds, values)], hw)
    cycles = run_cycles(kernel, hw.host, rounds * num_calls)
    energy = float(operations_pj) + moved.energy_pj
    return Costs(cycles, energy, moved.external_bytes(hw))


def _rising(kernel: Kernel) -> Kernel:
    """A kernel that touches the same elements, each access with indices that never fall: the number
    of bytes is the same."""
    statements = []
    for statement in kernel.statements:
        extents = statement.extents
        turned = partial(_turned, extents=extents)
        value = map_accesses(statement.value, turned)
        statements.append(replace(statement, target=turned(statement.target), value=value))
    return replace(kernel, statements=tuple(statements))


def _turned(access: Access, extents: dict[str, int]) -> Access:
    """The access with every index that falls with a loop run from its other end."""
    indices = []
    for index in access.indices:
        falling = [name for name, step in index.terms if step < 0]
        ends = {name: Affine.of([(name, -1)], extents[name] - 1) for name in falling}
        indices.append(index.substitute(ends))
    return replace(access, indices=tuple(indices))
