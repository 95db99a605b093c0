"""By how much to cut the loops of sums, so that an instruction that sums over two can take one.

In: a machine. Out: factors. Not its job: the cutting (`rewrites.spread`), matching.
"""

from isamap.hwdesc import ExtentKind, Hardware, Instruction


def spread_factors(hw: Hardware) -> tuple[int, ...]:
    """Extents that make a kernel's sum fit instructions that sum over several loops alike."""
    return tuple(dict.fromkeys(f for each in hw.instructions for f in _summed(each)))


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
