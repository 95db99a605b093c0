"""By how much to cut the loops of sums, so that an instruction that sums over two can take one.

In: a machine, a kernel's types. Out: factors. Not its job: the cutting (`rewrites.spread`),
matching.
"""

from collections.abc import Collection

from isamap.hwdesc import ExtentKind, Hardware, Instruction
from isamap.ir import Role, is_float


def spread_factors(hw: Hardware, dtypes: Collection[str]) -> tuple[int, ...]:
    """Extents that make a kernel's sum fit instructions that sum over several loops alike, of those
    that multiply such numbers, or integers where there are some: those may be split."""
    are_split = not all(map(is_float, dtypes))
    useful = (each for each in hw.instructions if _takes(each, dtypes, are_split=are_split))
    return tuple(dict.fromkeys(f for each in useful for f in _summed(each)))


def _takes(instruction: Instruction, dtypes: Collection[str], *, are_split: bool) -> bool:
    inputs = [b.dtype for b in instruction.semantics.buffers if b.role is Role.IN]
    return all(dtype in dtypes or (are_split and not is_float(dtype)) for dtype in inputs)


def _summed(instruction: Instruction) -> tuple[int, ...]:
    """Extents of loops that the instruction sums over beside another one of the same role, windows
    aside."""
    if len(instruction.semantics.statements) != 1:
        return ()
    (statement,) = instruction.semantics.statements
    rules = dict(instruction.extents)
    roles: dict[tuple[bool, ...], list[str]] = {}
    for loop in statement.loops:
        uses = statement.accesses
        moved = tuple(access.moves_with(loop.name) for access in uses)
        indices = [i for access in uses for i in access.indices if i.coefficient(loop.name)]
        is_window = any(len(index.terms) > 1 for index in indices)
        if not moved[0] and not is_window:
            roles.setdefault(moved, []).append(loop.name)
    found = []
    for names in roles.values():
        if len(names) > 1:
            exact = [n for n in names if rules[n].kind is ExtentKind.EXACTLY]
            found += [rules[n].maximum for n in (exact or names[-1:])]
    return tuple(extent for extent in found if extent > 1)
